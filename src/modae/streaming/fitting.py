"""fit_stream: a fit that can be stopped at any moment, and goes on from there."""

from __future__ import annotations

import os
from typing import Any, TypeVar

from modae.linear.autoencoder import LinearModularAutoencoder
from modae.sources.batches import open_batches
from modae.streaming.checkpoints import WatchedBatches, checkpoint_path
from modae.utils.parallel import progress_bar
from modae.utils.parameters import check_flag, check_non_negative

Estimator = TypeVar("Estimator", bound=LinearModularAutoencoder)


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
    path = None if checkpoint is None else checkpoint_path(checkpoint)
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
