"""How far a streamed fit has come, kept in one file from which it can go on."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
from scipy import sparse

from modae.data.summary import DataSummary
from modae.files.api import load, save
from modae.files.rules import Count, Layout, Record, Sizes, require
from modae.linear.layouts import STREAM
from modae.sources.batches import Batches


@dataclass(frozen=True, eq=False)
class StreamCheckpoint:
    """How far a sum has come, and of what.

    Parameters
    ----------
    stream : DataSummary
        The sum of the rows so far.
    n_rows : int
        Rows that are in it.
    n_features : int
    fingerprint : dict of str to str
        What must be the same for the sum to go on.
    """

    stream: DataSummary
    n_rows: int
    n_features: int
    fingerprint: dict[str, str]


def texts(value: Any, sizes: Sizes) -> None:
    """A dict of strings."""
    known = isinstance(value, dict) and {type(text) for pair in value.items() for text in pair} == {str}
    require(known, "must be a dict of strings")


CHECKPOINT = Layout(
    "modae.StreamCheckpoint",
    StreamCheckpoint,
    {
        "stream": Record(STREAM),
        "n_rows": Count(minimum=0),
        "n_features": Count("D"),
        "fingerprint": texts,
    },
    summary=lambda checkpoint: {"rows": checkpoint.n_rows, "features": checkpoint.n_features},
)

LAYOUTS = (CHECKPOINT,)


class WatchedBatches(Batches):
    """Batches that tell a progress bar how far a sum over them has come, and keep it in a checkpoint.

    The file is there only while a fit is unfinished. Every write replaces it whole or not at all.
    """

    def __init__(
        self,
        batches: Batches,
        advance: Callable[[int], None],
        path: Path | None,
        every: float,
        upcast: bool,
    ) -> None:
        vars(self).update(vars(batches))
        self._advance, self._path, self._every = advance, path, every
        self._fingerprint = {} if path is None else fingerprint_of(batches, upcast=upcast)
        self._latest: StreamCheckpoint | None = None
        self._done, self._saved, self._time = 0, 0, monotonic()

    def begin(self, empty: Any) -> tuple[int, Any]:
        """Go on where the checkpoint ends of an earlier call, which must be of the same fit."""
        if self._path is None or not self._path.exists():
            return 0, empty
        checkpoint = load(self._path)
        if not isinstance(checkpoint, StreamCheckpoint):
            raise ValueError(
                f"checkpoint {self._path} is a file with {type(checkpoint).__name__}, not an unfinished "
                "fit, and is left as it is: give another path."
            )
        theirs, ours = checkpoint.fingerprint, self._fingerprint
        differ = [
            f"{name} is {theirs.get(name, '?')} there and {ours.get(name, '?')} here"
            for name in sorted({*theirs, *ours})
            if theirs.get(name) != ours.get(name)
        ]
        if differ:
            raise ValueError(
                f"checkpoint {self._path} belongs to another fit: {'; '.join(differ)}. To start afresh, "
                "delete the file or give another path."
            )
        self._move(checkpoint.n_rows)
        return checkpoint.n_rows, checkpoint.stream

    def note(self, stop: int, summary: DataSummary) -> None:
        """One more batch is in the sum; write it down if it is time."""
        self._move(stop)
        self._latest = StreamCheckpoint(summary, stop, self.n_features, self._fingerprint)
        if monotonic() - self._time >= self._every:
            self.save()

    def save(self) -> None:
        """Write down how far the fit has come, unless it is written already."""
        if self._path is not None and self._latest is not None and self._saved < self._latest.n_rows:
            latest = self._latest
            save(latest, self._path)
            self._saved = latest.n_rows
        self._time = monotonic()

    def _move(self, stop: int) -> None:
        self._advance(stop - self._done)
        self._done = stop


def checkpoint_path(checkpoint: str | os.PathLike[str]) -> Path:
    """Where the checkpoint will be; a place where it cannot be is refused before any work."""
    path = Path(checkpoint).expanduser()
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"checkpoint {path} cannot be written: there is no directory {path.parent}; make it first."
        )
    if path.exists() and not path.is_file():
        raise FileExistsError(f"checkpoint {path} cannot be written: it is there, and no regular file.")
    return path


def fingerprint_of(batches: Batches, *, upcast: bool) -> dict[str, str]:
    """What decides the sums: the source, how it is cut into batches, and the precision."""
    first = batches.sample.toarray() if sparse.issparse(batches.sample) else batches.sample
    facts = {
        "the kind of source": batches.kind,
        "the number of columns": batches.n_features,
        "the digest of their names": batches.names and _digest(repr(batches.names).encode()),
        "the number of rows": batches.n_rows,
        "dtype": batches.dtype,
        "the digest of the first rows": _digest(np.ascontiguousarray(first).tobytes()),
        "the column of weights": batches.weight,
        "batch_size": batches.batch_size,
        "upcast": upcast,
    }
    return {name: str(value) for name, value in facts.items()}


def _digest(content: bytes) -> str:
    return blake2b(content, digest_size=8).hexdigest()
