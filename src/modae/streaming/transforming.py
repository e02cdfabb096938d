"""transform_stream: codes or predictions for data of any size, written to a file batch by batch."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from modae.data.validation import RowwiseCall
from modae.sources.batches import answers_of, open_batches
from modae.sources.writers import WRITERS, open_writer
from modae.utils.parallel import progress_bar
from modae.utils.parameters import check_flag


def transform_stream(
    estimator: Any,
    source: Any,
    path: str | os.PathLike[str],
    *,
    method: str = "transform",
    keep: Sequence[str] = (),
    progress: bool = False,
) -> int:
    """Write what a fitted estimator says of each row to a file, with memory for a few batches only.

    The file appears when it is complete: a reader never sees a part of it.

    Parameters
    ----------
    estimator : fitted estimator
        One of modae, or any other whose method answers row by row: a ``Pipeline``, for example.
    source : Batches, or what :func:`modae.open_batches` takes
        If the estimator was fitted with names of columns, they are found by name; others are ignored.
    path : path
        Ends in ``.npy``, ``.parquet`` or ``.csv`` (which need ``pip install "modae[arrow]"``).
    method : str, default="transform"
        The method to call: "transform", "predict", "predict_proba", "decision_function",
        "score_samples" or another whose answer has one entry or row for each row.
    keep : sequence of str, default=()
        Columns of the source that are written before the answers, such as an identity; not for ``.npy``.
    progress : bool, default=False
        Whether to draw a bar on stderr. Needs ``pip install "modae[cli]"``.

    Returns
    -------
    n_rows : int
        Rows written.

    Notes
    -----
    Columns of ``transform`` are those of ``get_feature_names_out``; ``predict`` writes
    ``prediction``, ``predict_proba`` writes ``probability_`` and the class, others their name.

    Examples
    --------
    >>> import modae
    >>> import numpy as np
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_digits
    >>> from tempfile import TemporaryDirectory
    >>> X, _ = load_digits(return_X_y=True)
    >>> model = modae.LinearModularAutoencoder(5, 4, random_state=0).fit(X)
    >>> with TemporaryDirectory() as directory:
    ...     path = Path(directory) / "codes.npy"
    ...     modae.transform_stream(model, X, path), np.load(path).shape
    (1797, (1797, 20))
    """
    check_flag("progress", progress)
    target = Path(path).expanduser()
    ending = target.suffix.lower()
    if ending not in WRITERS:
        raise ValueError(f"path must end in {', '.join(WRITERS)}, got {str(path)!r}.")
    if not callable(getattr(estimator, method, None)):
        raise ValueError(f"method must be one that {type(estimator).__name__} has, got {method!r}.")
    if method.startswith(("fit", "partial_fit", "set_")):
        raise ValueError(f"method={method!r} would change the estimator: name one that answers.")
    if isinstance(keep, str):
        raise TypeError(f"keep must be a list of names, got the string {keep!r}.")
    if keep and ending == ".npy":
        raise ValueError(f"keep={list(keep)} needs a file with columns: write to a .parquet file.")
    batches = open_batches(source).for_model(estimator).keeping(keep)
    if method == "transform" and hasattr(estimator, "get_feature_names_out"):
        batches = batches.for_answers(len(estimator.get_feature_names_out()))
    names: list[str] = []
    n_rows = 0
    with (
        progress_bar("Writing", batches.n_rows, shown=progress) as advance,
        open_writer(target) as write,  # an error below leaves no file
    ):
        for batch, answer in answers_of(batches, RowwiseCall(estimator, method)):
            values = answer.toarray() if sparse.issparse(answer) else np.asarray(answer)
            if values.ndim not in (1, 2) or len(values) != len(batch):
                got = f"method={method!r} answers {len(batch)} rows with shape {values.shape}"
                raise ValueError(f"{got}: it must have one number or one row for each.")
            names = names or answer_names(estimator, method, values)
            twice = sorted(set(names) & set(keep))
            if twice:
                raise ValueError(f"keep: {twice[0]!r} is the name of an answer too; rename the column.")
            named = dict(batch.kept) | dict(zip(names, values.reshape(len(values), -1).T, strict=True))
            write(values if ending == ".npy" else named)
            n_rows += len(batch)
            advance(len(batch))
        if n_rows == 0:
            raise ValueError("the source has no rows: there is nothing to write.")
    return n_rows


def answer_names(estimator: Any, method: str, answer: np.ndarray) -> list[str]:
    """Names for the columns of an answer."""
    width = 1 if answer.ndim == 1 else answer.shape[1]
    if method == "transform" and hasattr(estimator, "get_feature_names_out"):
        return [str(name) for name in estimator.get_feature_names_out()]
    classes = [str(label) for label in getattr(estimator, "classes_", ())]
    if len(classes) == width and method in ("predict_proba", "decision_function"):
        prefix = "probability" if method == "predict_proba" else method
        return [f"{prefix}_{label}" for label in classes]
    name = "prediction" if method == "predict" else method
    return [name] if answer.ndim == 1 else [f"{name}_{place}" for place in range(width)]
