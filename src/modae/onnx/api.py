"""export_onnx: a fitted estimator as one ONNX file."""

import os
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from modae.utils.atomic import atomic_write
from modae.utils.extras import require


def export_onnx(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator as an ONNX file, which runs without Python, scikit-learn or modae.

    The file has one input, ``X``: float32 rows of shape (n, n_features), any n. What comes out depends
    on the estimator:

    ==============  ==========================================================================
    a transformer   ``codes``, (n, n_codes): what ``transform`` returns
    a classifier    ``label``, (n,), int64 or strings: what ``predict`` returns; and
                    ``probabilities``, (n, n_classes): what ``predict_proba`` returns, if there is one
    a regressor     ``prediction``, (n,) or (n, n_targets): what ``predict`` returns
    ==============  ==========================================================================

    It computes in float32 (distances to neighbours in float64). Rows are centred before they are
    multiplied, so a mean that is large beside the spread costs no digits. Members vote by the same rule
    for ties as in Python. The file uses version 18 of the standard operators, and version 3 of those for
    machine learning.

    Parameters
    ----------
    estimator : estimator
        Fitted. One of modae, linear or deep; or a ``Pipeline``, ``FrozenEstimator`` or ``GridSearchCV``
        of scikit-learn around one. Members and other steps must be known to ``skl2onnx``, or be nearest
        neighbours of ours or of scikit-learn.
    path : str or path-like
        By custom it ends in ``.onnx``. Its directory must exist. The file is written whole or not at
        all.

    Raises
    ------
    TypeError, ValueError
        If there is no way to say it in ONNX; the message names the module and the class. Nothing is
        written.
    sklearn.exceptions.NotFittedError
        If the estimator is not fitted.
    ImportError
        If a package is missing: ``pip install "modae[onnx]"``.
    OSError
        If the file cannot be written. An old file stays as it was.

    See Also
    --------
    modae.save : For use in Python: every estimator, to the last bit.

    Notes
    -----
    A model with nearest neighbours or support vectors holds rows of the training data, in the file too.

    Examples
    --------
    >>> import modae, numpy, onnxruntime
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_digits
    >>> from tempfile import TemporaryDirectory
    >>> X, y = load_digits(return_X_y=True)
    >>> vote = modae.ModularClassifier(random_state=0).fit(X, y)
    >>> with TemporaryDirectory() as directory:
    ...     path = Path(directory) / "digits.onnx"
    ...     modae.export_onnx(vote, path)
    ...     session = onnxruntime.InferenceSession(path)
    >>> label, probabilities = session.run(None, {"X": X[:5].astype(numpy.float32)})
    >>> label.tolist(), probabilities.shape
    ([0, 1, 2, 3, 4], (5, 10))
    """
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise TypeError(f"estimator must be a fitted estimator, got {estimator!r:.60}.")
    check_is_fitted(estimator)
    require("onnx", extra="onnx", purpose="Export to ONNX")
    from modae.onnx.conversion import onnx_model

    model = onnx_model(estimator)
    with atomic_write(Path(path).expanduser()) as file:
        file.write(model.SerializeToString())
