"""The journal of a streamed fit: its sums so far, kept in one file from which it can go on."""

from __future__ import annotations

import os
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from time import monotonic
from typing import Any

from modae.data.summary import DataSummary
from modae.files.api import load, save
from modae.sources.batches import Batches
from modae.streaming.checkpoints import StreamCheckpoint


class Journal:
    """Writes checkpoints of one fit, and reads the one that an interrupted fit left.

    The file is there only while a fit is unfinished. Every write replaces it whole or not at all.
    """

    def __init__(self, path: Path, every: float, fingerprint: dict[str, str]) -> None:
        self.path, self.every, self.fingerprint = path, every, fingerprint
        self._latest: StreamCheckpoint | None = None
        self._saved: StreamCheckpoint | None = None
        self._time = monotonic()

    def found(self) -> StreamCheckpoint | None:
        """The checkpoint that an earlier call left, if there is one, and if it is of this fit."""
        if not self.path.exists():
            return None
        checkpoint = load(self.path)
        if not isinstance(checkpoint, StreamCheckpoint):
            raise ValueError(
                f"checkpoint {self.path} is a file with {type(checkpoint).__name__}, not an unfinished "
                "fit, and is left as it is: give another path."
            )
        self._compare(checkpoint.fingerprint)
        return checkpoint

    def note(self, checkpoint: StreamCheckpoint) -> None:
        """Remember how far the fit has come; write it down if it is time."""
        self._latest = checkpoint
        if monotonic() - self._time >= self.every:
            self.save()

    def save(self) -> None:
        """Write down how far the fit has come, unless it is written already."""
        if self._latest is not self._saved:
            latest = self._latest
            save(latest, self.path)
            self._saved = latest
        self._time = monotonic()

    def remove(self) -> None:
        """The fit is complete: nothing is left to be resumed."""
        self.path.unlink(missing_ok=True)

    def _compare(self, theirs: dict[str, str]) -> None:
        names = sorted({*theirs, *self.fingerprint})
        pairs = ((name, theirs.get(name, "?"), self.fingerprint.get(name, "?")) for name in names)
        differ = [
            f"{name} is {there} there and {here} here" for name, there, here in pairs if there != here
        ]
        if differ:
            raise ValueError(
                f"checkpoint {self.path} belongs to another fit: {'; '.join(differ)}. To start afresh, "
                "delete the file or give another path."
            )


def journal_path(checkpoint: str | os.PathLike[str]) -> Path:
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
    names = None if batches.names is None else blake2b(repr(batches.names).encode(), digest_size=8)
    facts = {
        "the kind of source": batches.kind,
        "the number of columns": batches.n_features,
        "the digest of their names": None if names is None else names.hexdigest(),
        "the number of rows": batches.n_rows,
        "dtype": batches.dtype,
        "the digest of the first rows": batches.mark,
        "the column of weights": batches.weight,
        "batch_size": batches.batch_size,
        "upcast": upcast,
    }
    return {name: str(value) for name, value in facts.items()}


class WatchedBatches(Batches):
    """Batches that tell a journal and a progress bar how far a sum over them has come."""

    def __init__(
        self, batches: Batches, journal: Journal | None, advance: Callable[[int], None]
    ) -> None:
        vars(self).update(vars(batches))
        self._journal, self._advance, self._done = journal, advance, 0

    def begin(self, empty: Any) -> tuple[int, Any]:
        """Go on where the journal ends."""
        found = None if self._journal is None else self._journal.found()
        start, stream = (0, empty) if found is None else (found.n_rows, found.stream)
        self._move(start)
        return start, stream

    def note(self, stop: int, summary: DataSummary) -> None:
        """One more batch is in the sum."""
        self._move(stop)
        if self._journal is not None:
            checkpoint = StreamCheckpoint(summary, stop, self.n_features, self._journal.fingerprint)
            self._journal.note(checkpoint)

    def _move(self, stop: int) -> None:
        self._advance(stop - self._done)
        self._done = stop
