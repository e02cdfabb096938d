"""Save and load: files that are safe to open."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn

from modae import __version__
from modae.files.container import Container, read_container, write_container
from modae.files.errors import MissingExtraError, ModelFormatError
from modae.files.reading import Reader
from modae.files.trust import names_of
from modae.files.writing import Writer, is_ours

LIBRARIES = {"numpy": np, "scipy": scipy, "scikit-learn": sklearn}

ROWS_NOTE = (
    "This model contains rows of the training data (nearest neighbours, support vectors, or rows of an "
    "unfinished stream): share it as you would share those."
)


def save(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Save an estimator, fitted or not, to a file that is safe to open.

    The file holds a JSON header, arrays (safetensors), and members of other libraries (skops, for which
    you need ``pip install "modae[io]"``). It holds
    no pickle: reading it runs no code of the file. Every array is checked before it is written and
    before it is used, and the whole has a checksum. The file is written whole or not at all: an old file
    with this name stays as it was until the new one is complete.

    A loaded model gives the same answers to the last bit. Search trees are not stored, they are built
    again. Rows of the training data are stored only where the model needs them: for nearest neighbours
    and the like, and in a stream (``partial_fit``), whose last rows wait until there are as many as
    features.
    :func:`describe` says whether a file holds any.

    Parameters
    ----------
    estimator : estimator
        One of modae, or one of scikit-learn that may contain some of modae: a ``Pipeline``, a
        ``GridSearchCV``, a ``FrozenEstimator``.
    path : str or path-like
        By custom it ends in ``.modae``. Its directory must exist.

    Raises
    ------
    TypeError, ValueError
        If something in the estimator cannot be stored, such as a lambda. Nothing is written.
    OSError
        If the disk is full, or the file cannot be written. An old file stays as it was.

    See Also
    --------
    load : The way back.

    Examples
    --------
    >>> import modae
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_digits
    >>> from tempfile import TemporaryDirectory
    >>> X, y = load_digits(return_X_y=True)
    >>> model = modae.LinearModularAutoencoder(n_modules=5, n_components=4, random_state=0).fit(X)
    >>> with TemporaryDirectory() as directory:
    ...     path = Path(directory) / "digits.modae"
    ...     modae.save(model, path)
    ...     again = modae.load(path)
    >>> (again.transform(X) == model.transform(X)).all()
    np.True_
    """
    if isinstance(estimator, type) or not (is_ours(estimator) or hasattr(estimator, "get_params")):
        raise TypeError(
            f"estimator must be an estimator, got {estimator!r:.60}: only models can be saved."
        )
    writer = Writer()
    root = writer.node(estimator)
    header = {
        "modae": __version__,
        "libraries": _versions(),
        "class": type(estimator).__name__,
        "holds_rows": writer.holds_rows,
        "root": root,
        "objects": writer.objects,
    }
    write_container(Path(path).expanduser(), Container(header, writer.tensors, writer.parts))


def load(path: str | os.PathLike[str], *, trusted: Iterable[str | type] = ()) -> Any:
    """Load an estimator that :func:`save` wrote. Nothing in the file is executed.

    Parameters
    ----------
    path : str or path-like
    trusted : iterable of str or class, default=()
        Classes and functions of your own, or of other packages, that the file may name, such as
        ``["mypackage.members.MyClassifier"]``. They are imported, and their code may run, so name only
        what you know. Those of modae, and the estimators of scikit-learn that are listed in
        ``modae.files.trust``, need no such word.

    Returns
    -------
    estimator : estimator

    Raises
    ------
    ModelFormatError
        If the file is not one of modae, is newer, truncated or damaged, or names something that is not
        trusted; the message says which.
    FileNotFoundError
        If there is no such file.

    See Also
    --------
    save : Writes the files.
    describe : What is in a file, without making the model.
    """
    names = names_of(trusted)
    container = _read(path)
    try:
        return Reader(container, names).root(container.header["root"])
    except MissingExtraError:
        raise
    except ModelFormatError as reason:
        raise type(reason)(f"{os.fspath(path)}: {reason}{_versions_differ(container)}") from None
    except (Exception, RecursionError) as reason:
        raise ModelFormatError(
            f"{os.fspath(path)}: the file is damaged, or was not written by modae "
            f"({type(reason).__name__}: {reason!s:.200}).{_versions_differ(container)}"
        ) from reason


def describe(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What is in a file: class, versions, size, whether it holds training data.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    description : dict
        With ``class``, ``modae`` (the version that wrote it), ``libraries``, ``arrays`` (how many),
        ``bytes``, ``holds_rows`` and ``notes``.
    """
    container = _read(path)
    header = container.header
    try:
        return {
            "class": str(header["class"]),
            "modae": str(header["modae"]),
            "libraries": dict(header["libraries"]),
            "arrays": len(container.tensors),
            "bytes": Path(path).expanduser().stat().st_size,
            "holds_rows": bool(header["holds_rows"]),
            "notes": [ROWS_NOTE] if header["holds_rows"] else [],
        }
    except Exception as reason:
        raise ModelFormatError(f"{os.fspath(path)}: the file is damaged ({reason}).") from reason


def _read(path: str | os.PathLike[str]) -> Container:
    try:
        return read_container(Path(path).expanduser())
    except ModelFormatError as reason:
        raise ModelFormatError(f"{os.fspath(path)}: {reason}") from reason.__cause__


def _versions() -> dict[str, str]:
    return {name: module.__version__ for name, module in LIBRARIES.items()}


def _versions_differ(container: Container) -> str:
    """A hint: members of scikit-learn are bound to its version."""
    written = container.header.get("libraries")
    if not container.parts or not isinstance(written, dict) or written == _versions():
        return ""
    listed = ", ".join(f"{name} {version}" for name, version in written.items())
    return f" It was written with {listed!s:.200}; with those versions it may load."
