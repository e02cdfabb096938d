"""export_onnx: a fitted estimator as one ONNX file."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from modae import __version__
from modae.utils.atomic import atomic_write
from modae.utils.extras import require

if TYPE_CHECKING:
    from onnx import ModelProto

    from modae.onnx.graph import Graph


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
    model = onnx_model(estimator)
    with atomic_write(Path(path).expanduser()) as file:
        file.write(model.SerializeToString())


def onnx_model(estimator: Any) -> ModelProto:
    """The model that :func:`export_onnx` writes, checked."""
    onnx = require("onnx", extra="onnx", purpose="Export to ONNX")
    from modae.onnx.conversion import convert
    from modae.onnx.graph import INPUT, Features, Graph, refusal

    if not hasattr(estimator, "n_features_in_"):
        first = estimator.steps[0][1] if hasattr(estimator, "steps") else estimator
        raise refusal(
            type(first).__name__,
            "it does not read a table of numbers with a fixed number of columns; export what comes "
            "after it.",
        )
    width, graph = int(estimator.n_features_in_), Graph()
    answer = convert(graph, estimator, Features(INPUT, width))
    _add_outputs(graph, answer)
    model = graph.model(width)
    _describe(model, estimator, answer)
    onnx.checker.check_model(model, full_check=True)
    return model


def _add_outputs(graph: Graph, answer: Any) -> None:
    """Give the answer its public names."""
    from modae.onnx.graph import Features, Regression

    if isinstance(answer, Features):
        graph.output("codes", answer.name, np.float32, answer.width)
        return
    if isinstance(answer, Regression):
        prediction = graph.add("Reshape", answer.prediction, [-1, *answer.target_shape])
        graph.output("prediction", prediction, np.float32, *answer.target_shape)
        return
    numbers = answer.classes.dtype.kind in "iubf"
    if not numbers and not all(isinstance(each, str) for each in answer.classes):
        raise ValueError(f"labels must be numbers or strings in ONNX, got {answer.classes[0]!r}.")
    dtype = np.int64 if numbers else object
    labels = graph.constant(answer.classes.astype(dtype), dtype)
    graph.output("label", graph.add("Gather", labels, answer.winner), dtype)
    if answer.probabilities is not None:
        graph.output("probabilities", answer.probabilities, np.float32, len(answer.classes))


def _describe(model: ModelProto, estimator: Any, answer: Any) -> None:
    """Where it comes from, what the columns of X are called, and which classes there are."""
    from onnx import helper

    kind = type(estimator).__name__
    model.producer_name, model.producer_version = "modae", __version__
    names = ", ".join(output.name for output in model.graph.output)
    model.doc_string = f"{kind} of modae {__version__}: float32 rows X in, {names} out."
    notes = {"modae": __version__, "class": kind}
    if hasattr(estimator, "feature_names_in_"):
        notes["feature_names"] = json.dumps([str(name) for name in estimator.feature_names_in_])
    if hasattr(answer, "classes"):
        notes["classes"] = json.dumps(answer.classes.tolist())
    helper.set_model_props(model, notes)
