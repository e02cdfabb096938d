"""fit_stream: a fit that can be stopped at any moment, and goes on from there."""

import os
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from time import monotonic
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

from modae.data.summary import DataSummary
from modae.files.api import load, save
from modae.files.rules import Layout, count, each, record, text
from modae.linear.autoencoder import LinearModularAutoencoder
from modae.sources.batches import Batches, open_batches
from modae.utils.atomic import writable
from modae.utils.parallel import progress_bar
from modae.utils.parameters import check_flag, check_non_negative

Estimator = TypeVar("Estimator", bound=LinearModularAutoencoder)


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


LAYOUTS = (
    Layout(
        StreamCheckpoint,
        {
            "stream": record(DataSummary),
            "n_rows": count(minimum=0),
            "n_features": count("D"),
            "fingerprint": each(text, dict),
        },
        summary={"rows": "n_rows", "features": "n_features"},
    ),
)


def fit_stream(
    estimator: Estimator,
    source: Any,
    *,
    checkpoint: str | os.PathLike[str] | None = None,
    every: float = 30.0,
    progress: bool = False,
) -> Estimator:
    """Fit to data that need not fit into memory, with a checkpoint to resume from.

    The model is that of ``estimator.fit(modae.open_batches(source))``. With ``checkpoint``, the sums so
    far are written to that file every so many seconds, and when the fit ends early: by Ctrl-C, by a bad
    row, by a disk that fails. The same call then goes on from there. A process that is killed
    outright loses the time since the last checkpoint, and nothing else: the file is always whole. For an
    integer ``random_state`` the model of a resumed fit is the same to the last bit, on the same machine
    with the same number of threads. When the fit is complete, the file is removed.

    Sums do not depend on ``n_modules``, ``n_components``, ``diversity`` or the solver: an interrupted
    fit may be resumed with others.

    Parameters
    ----------
    estimator : LinearModularAutoencoder
        It is fitted in place.
    source : Batches, or what :func:`modae.open_batches` takes
        Open it with ``open_batches`` to choose columns, weights or the size of batches. Passing over
        rows that were summed already is quick for arrays, ``.npy`` and Parquet; others are read again.
    checkpoint : path, optional
        A file with the ending ``.modae``, by custom. Its directory must exist. The file may hold rows of
        the data: some of those that were read last.
    every : float, default=30.0
        Seconds between two checkpoints.
    progress : bool, default=False
        Whether to draw a bar on stderr. Needs ``pip install "modae[cli]"``.

    Returns
    -------
    estimator : LinearModularAutoencoder
        The one that was passed.

    Raises
    ------
    ValueError
        If the checkpoint is of another source, batch size or precision; the message says what differs.
    ModelFormatError
        If the checkpoint is damaged.

    See Also
    --------
    modae.transform_stream : Codes of such data, written to a file.

    Examples
    --------
    >>> import modae
    >>> from sklearn.datasets import load_digits
    >>> X, _ = load_digits(return_X_y=True)
    >>> model = modae.LinearModularAutoencoder(5, 4, random_state=0)
    >>> modae.fit_stream(model, X).attainment_
    'attained'
    """
    if not isinstance(estimator, LinearModularAutoencoder):
        raise TypeError(
            f"estimator must be a LinearModularAutoencoder, got {type(estimator).__name__}: others have "
            "no sums to resume; estimators of modae take modae.open_batches(source) in fit."
        )
    check_non_negative("every", every)
    check_flag("progress", progress)
    batches = open_batches(source)
    path = None if checkpoint is None else writable(Path(checkpoint).expanduser())  # before any work
    with progress_bar("Fitting", batches.n_rows, shown=progress) as advance:
        watched = WatchedBatches(batches, advance, path, float(every), bool(estimator.upcast))
        try:
            estimator.fit(watched)
        except BaseException:  # Ctrl-C above all; what was summed before a bad row is good too
            watched.save()
            raise
    if path is not None:
        path.unlink(missing_ok=True)  # nothing is left to be resumed
    return estimator


class WatchedBatches(Batches):
    """Batches that tell a progress bar how far a sum over them has come, and keep it in a checkpoint.

    The file is there only while a fit is unfinished. Every write replaces it whole or not at all.
    """

    def __init__(
        self, batches: Batches, advance: Any, path: Path | None, every: float, upcast: bool
    ) -> None:
        vars(self).update(vars(batches))
        self._advance, self._path, self._every = advance, path, every
        self._fingerprint = {} if path is None else fingerprint_of(batches, upcast=upcast)
        self._latest: StreamCheckpoint | None = None
        self._done, self._time = 0, monotonic()

    def begin(self, empty: Any) -> tuple[int, Any]:
        """Go on where the checkpoint ends of an earlier call, which must be of the same fit."""
        if self._path is None or not self._path.exists():
            return 0, empty
        checkpoint = load(self._path)
        if not isinstance(checkpoint, StreamCheckpoint):
            other = f"checkpoint {self._path} is a file with {type(checkpoint).__name__}"
            raise ValueError(f"{other}, not an unfinished fit, and is left as it is: give another path.")
        theirs, ours = checkpoint.fingerprint, self._fingerprint
        pairs = {name: (theirs.get(name, "?"), ours.get(name, "?")) for name in sorted({*theirs, *ours})}
        differ = [f"{name} is {a} there and {b} here" for name, (a, b) in pairs.items() if a != b]
        if differ:
            other = f"checkpoint {self._path} belongs to another fit: {'; '.join(differ)}"
            raise ValueError(f"{other}. To start afresh, delete the file or give another path.")
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
        if self._path is not None and self._latest is not None:
            save(self._latest, self._path)
        self._latest, self._time = None, monotonic()

    def _move(self, stop: int) -> None:
        self._advance(stop - self._done)
        self._done = stop


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
