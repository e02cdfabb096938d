"""Run as a script: opens each blob from standard input, predicts with it, and says how it went.

An answer is a line "refused SECONDS" or "opened SECONDS", with the processor's seconds; no answer is a
crash. Memory beyond what the imports take is limited to 1 GB.
"""

from __future__ import annotations

import os
import resource
import sys
import time
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from modae.files.errors import ModelFormatError
from modae.files.foreign import load_foreign, try_member

GIGABYTE = 2**30


def limit_memory() -> None:
    pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[0])
    limit = pages * resource.getpagesize() + GIGABYTE
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def use(model: Any, n_features: int) -> None:
    rows = np.random.default_rng(0).normal(size=(30, n_features)) * 3.0
    rows[0], rows[1] = 0.0, 1e6
    for queries in (rows, csr_array(np.where(rows > 0, rows, 0.0))):
        for method in ("predict", "predict_proba", "decision_function", "apply", "decision_path"):
            with suppress(Exception):  # an exception is no crash
                getattr(model, method)(queries)


def opened(blob: bytes, n_features: int) -> bool:
    try:
        model = load_foreign(blob, restore=lambda index: None, trusted=frozenset())
        try_member(model, n_features)
    except ModelFormatError:
        return False
    use(model, n_features)
    return True


def serve() -> None:
    # Models that are told to be verbose write to standard output: that goes nowhere.
    source, target = sys.stdin.buffer, os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    while head := source.read(16):
        blob = source.read(int.from_bytes(head[:8], "little"))
        start = time.process_time()
        went = "opened" if opened(blob, int.from_bytes(head[8:], "little")) else "refused"
        print(went, round(time.process_time() - start, 3), file=target, flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    limit_memory()
    serve()
