"""Ten thousand damaged files, opened in a process of their own: ``python -m benchmarks.mutants``.

Every golden file is changed in every way of :mod:`benchmarks.mutations`. Half of the mutants are left as
they are, and must all be refused. The other half get a right checksum and right lengths, so that the
change reaches the parser: each is refused, or it is a model that keeps all rules and can be used.
A refusal is a ``ModelFormatError``: no other error, no crash, no hang, at most 2 s and 1 GB. No code of
a file may run, which a canary proves: all bait in the files would create it.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import select
import subprocess
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

import modae
from benchmarks.drafts import GIGABYTE, draft_of
from benchmarks.mutations import CANARY, KINDS, whole_file
from modae.files.foreign_checks import MAY_HOLD_NAN
from modae.files.registry import layout_for
from modae.files.writing import is_fitted

ROOT = Path(__file__).parents[1]
GOLDEN = sorted((ROOT / "tests" / "golden").glob("*/*.modae"))
SECONDS = 2.0
PATIENCE = 60.0
"""Until a process counts as hung: much longer, because the clock runs on when others use the machine."""

WIDTHS = (22, 27, 8, 8, 8)

GOOD = ("refused", "usable")
METHODS = (
    "transform", "transform_modules", "score_samples", "predict", "predict_proba", "decision_function",
    "predict_members", "disagreement",
)  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """What was done to which file."""

    number: int
    kind: str
    source: str
    reaches: bool
    content: bytes


def mutant(number: int, seed: int = 0) -> Mutant:
    """The mutant with a number: odd ones reach the parser."""
    kinds = [*KINDS, "whole file"]
    kind, reaches = (
        kinds[number // 2 % len(kinds)],
        number % 2 == 1 and kinds[number // 2 % len(kinds)] in KINDS,
    )
    for attempt in range(100):
        rng = np.random.default_rng([seed, number, attempt])
        source = GOLDEN[int(rng.integers(len(GOLDEN)))]
        original = source.read_bytes()
        if kind in KINDS:
            draft = KINDS[kind](draft_of(original), rng)
            content = draft.assembled() if reaches else draft.left_as_it_is(original)
        else:
            content = whole_file(original, rng)
        if content not in (original, draft_of(original).assembled()):
            return Mutant(number, kind, source.stem, reaches, content)
    raise RuntimeError(f"{kind} changes nothing")


def opened(path: str) -> str:
    """What comes of a file: "refused", "usable", "raised ...", or what is wrong with it."""
    try:
        model = modae.load(path)
    except modae.ModelFormatError as refusal:
        return "out of memory" if "MemoryError" in str(refusal) else "refused"
    except Exception as error:
        return f"loading raised {type(error).__name__}: {error!s:.150}"
    return _broken_rule(model) or _answer(model)


def _broken_rule(model: Any) -> str:
    """Every object of ours is checked once more, and no array may hold NaN or infinity."""
    for thing in reachable(model, {}):
        if isinstance(thing, np.ndarray) and thing.dtype.kind == "f" and not np.isfinite(thing).all():
            return "not finite"
        layout = None if isinstance(thing, np.ndarray) else layout_for(type(thing))
        if layout is not None and (not isinstance(thing, BaseEstimator) or is_fitted(thing)):
            try:
                layout.check(thing)
            except modae.ModelFormatError as reason:
                return f"breaks a rule: {reason!s:.150}"
    return ""


def reachable(thing: Any, seen: dict[int, Any]) -> Iterator[Any]:
    """All that a model is made of, except parameters, tables of results, and what may hold NaN."""
    if id(thing) in seen or isinstance(thing, (str, bytes, int, float, type)):
        return
    seen[id(thing)] = thing
    yield thing
    yield from (inner for part in _inside(thing) for inner in reachable(part, seen))


def _inside(thing: Any) -> Iterable[Any]:
    if isinstance(thing, dict):
        # Epochs without validation have none.
        return [value for name, value in thing.items() if name != "valid_loss"]
    if isinstance(thing, (list, tuple)):
        return thing
    if sparse.issparse(thing):
        return [thing.data]
    if isinstance(thing, np.ndarray):
        return thing.ravel() if thing.dtype == object else ()
    state = getattr(thing, "__getstate__", lambda: None)()
    if not isinstance(state, dict):
        return [state]
    left_out = {"cv_results_"}
    if isinstance(thing, BaseEstimator):
        left_out |= set(type(thing)._get_param_names())
    owner = type(thing).__name__
    return [
        part for name, part in state.items() if not {name, f"{owner}.{name}"} & (left_out | MAY_HOLD_NAN)
    ]


def _answer(model: Any) -> str:
    """Use a model in every way that it has."""
    if not isinstance(model, BaseEstimator):
        return "usable"
    try:
        model.get_params()
        if not is_fitted(model):
            return "usable"
        rows = np.random.default_rng(0).normal(size=(3, model.n_features_in_))
        for method in METHODS:
            if hasattr(model, method):
                getattr(model, method)(rows)
    except Exception as error:
        return f"raised {type(error).__name__}: {error!s:.150}"
    return "usable"


def serve() -> None:
    """Read names of files, and answer each with a line: outcome, seconds of the processor, canary."""
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    for path in GOLDEN:
        assert opened(str(path)) == "usable", path  # and all that will be imported is imported
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + GIGABYTE
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        start = time.process_time()
        outcome = opened(json.loads(line))
        spent = time.process_time() - start
        outcome = "code ran" if Path(CANARY).exists() else "too slow" if spent > SECONDS else outcome
        print(json.dumps(outcome), flush=True)


class Worker:
    """A process that opens files; a new one follows when it dies."""

    def __init__(self) -> None:
        self.directory = TemporaryDirectory()
        self._start()

    def _start(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.mutants", "--serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            bufsize=1,
            cwd=self.directory.name,
            env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        )
        if self._line() != "ready":
            raise RuntimeError("a golden file is not usable: run python -m benchmarks.mutants --serve")

    def _line(self) -> str:
        assert self.process.stdout is not None
        if not select.select([self.process.stdout], [], [], PATIENCE)[0]:
            self.process.kill()
            return "hung"
        line = self.process.stdout.readline()
        return str(json.loads(line)) if line else f"crashed with {self.process.wait()}"

    def outcome(self, mutant: Mutant) -> str:
        """What the process says, or what became of it."""
        path = Path(self.directory.name) / "mutant.modae"
        path.write_bytes(mutant.content)
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(str(path)) + "\n")
        outcome = self._line()
        if self.process.poll() is not None or outcome == "hung":
            self.process.wait()
            self._start()
        return outcome

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.process.kill()
        self.process.communicate()
        self.directory.cleanup()


def is_violation(mutant: Mutant, outcome: str) -> bool:
    """A clean exception of a model in use is none, unless the file should have been refused."""
    return (
        outcome != "refused"
        if not mutant.reaches
        else outcome not in GOOD and not outcome.startswith("raised")
    )


def outcomes(numbers: Iterable[int], seed: int = 0, show: bool = False) -> list[tuple[Mutant, str]]:
    """Mutants, each with what came of it."""
    found = []
    with Worker() as worker:
        for number in numbers:
            made = mutant(number, seed)
            found.append((made, worker.outcome(made)))
            if show and len(found) % 200 == 0:
                print(f"{len(found):,} mutants in one of the processes", file=sys.stderr, flush=True)
    return found


def main() -> None:
    """A table by kind and outcome; the exit code says whether a rule was broken."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("count", type=int, nargs="?", default=10_000)
    parser.add_argument("seed", type=int, nargs="?", default=0)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve()
        return
    halves = [range(0, options.count, 2), range(1, options.count, 2)]
    with ThreadPoolExecutor(2) as pool:
        runs = pool.map(lambda half: outcomes(half, options.seed, show=True), halves)
    found = [each for run in runs for each in run]
    report(found)


def report(found: list[tuple[Mutant, str]]) -> None:
    """Print the table, and every broken rule; exit with 1 if there is one."""
    heads = ("as they are: refused", "reach the parser: refused", "usable", "raised", "broken")
    print(
        f"{'kind':<14}" + "".join(f"{head:>{width}}" for head, width in zip(heads, WIDTHS, strict=True))
    )
    for kind in [*KINDS, "whole file"]:
        cells = Counter(
            (made.reaches, _column(made, outcome)) for made, outcome in found if made.kind == kind
        )
        broken = cells[True, "broken"] + cells[False, "broken"]
        row = [
            cells[False, "refused"],
            cells[True, "refused"],
            cells[True, "usable"],
            cells[True, "raised"],
            broken,
        ]
        print(
            f"{kind:<14}" + "".join(f"{cell:>{width}}" for cell, width in zip(row, WIDTHS, strict=True))
        )
    for outcome, count in Counter(
        outcome for _, outcome in found if outcome.startswith("raised")
    ).most_common():
        print(f"{count:6} {outcome}")
    broken_rules = [(made, outcome) for made, outcome in found if is_violation(made, outcome)]
    for made, outcome in broken_rules:
        print(f"mutant {made.number} ({made.kind} of {made.source}, reaches={made.reaches}): {outcome}")
    print(f"{len(found):,} mutants, {len(broken_rules)} broken rules")
    raise SystemExit(bool(broken_rules))


def _column(mutant: Mutant, outcome: str) -> str:
    return "broken" if is_violation(mutant, outcome) else outcome.split()[0]


if __name__ == "__main__":
    main()
