"""Save, load and describe models."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from modae import __version__
from modae.files import archive
from modae.utils.atomic import atomic_write

# The classes of writing and reading are imported when they are needed: ``describe`` must stay light.

# What ``describe`` takes from the header.
DESCRIBED: dict[str, Callable[[Any], Any]] = {
    "class": str, "modae": str, "libraries": dict, "summary": dict, "arrays": int, "holds_rows": bool,
}  # fmt: skip

ROWS_NOTE = (
    "This model contains rows of the training data (nearest neighbours, support vectors, or rows of an "
    "unfinished stream): share it as you would share those."
)

READING_NOTE = (
    "Its table was read with {options}: modae predict reads others so too, and in Python a frame must "
    "have been read so (pandas.read_csv has decimal, thousands and na_values; dates become numbers)."
)


def save(estimator: Any, path: str | os.PathLike[str], *, resumable: bool = False) -> None:
    """Save an estimator, fitted or not, to a file whose opening executes nothing.

    The file holds a JSON header, arrays (safetensors), and members of other libraries (skops, for which
    you need ``pip install "modae[io]"``). It holds no pickle. The arrays of modae are checked before
    they are written and before they are used. The file is written whole or not at all: an old file with
    this name stays as it was until the new one is complete.

    A loaded model gives the same answers to the last bit. Search trees are not stored, they are built
    again. Rows of the training data are stored only where the model needs them, for nearest neighbours
    and the like, and in a resumable stream whose last rows are not summed yet; :func:`describe` says
    whether a file holds any.

    Parameters
    ----------
    estimator : estimator
        One of modae, or one of scikit-learn that may contain some of modae: a ``Pipeline``, a
        ``GridSearchCV``, a ``FrozenEstimator``.
    path : str or path-like
        By custom it ends in ``.modae``. Its directory must exist.
    resumable : bool, default=False
        Whether ``partial_fit`` of a linear model shall be able to go on after loading. The file then
        holds the covariance of the data, n_features x n_features numbers, or the rows themselves while
        there are fewer rows than features.

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
    from modae.files.objects import Writer, summary_of
    from modae.files.rules import layout_for

    known = hasattr(estimator, "get_params") or layout_for(type(estimator)) is not None
    if isinstance(estimator, type) or not known:
        raise TypeError(
            f"estimator must be an estimator, got {estimator!r:.60}: only models can be saved."
        )
    writer = Writer(resumable)
    root = writer.node(estimator)
    header = {
        "format": archive.FORMAT,
        "modae": __version__,
        "libraries": archive.versions(),
        "class": type(estimator).__name__,
        "summary": summary_of(estimator),
        "arrays": len(writer.arrays),
        "holds_rows": writer.holds_rows,
        "root": root,
        "objects": writer.objects,
    }
    entries = {archive.HEADER: [archive.as_json(header)]}
    entries[archive.ARRAYS] = archive.safetensors_parts(writer.arrays)
    entries |= {archive.MEMBER.format(place): [member] for place, member in enumerate(writer.members)}
    with atomic_write(Path(path).expanduser()) as file:
        archive.write_entries(file, entries)


def load(path: str | os.PathLike[str], *, trusted: Iterable[str | type] = ()) -> Any:
    """Load an estimator that :func:`save` wrote. Nothing in the file is executed.

    Members of other libraries are as safe as skops makes them: only classes that skops or modae trusts
    are made, and their numbers are not checked, but for the branches of trees.

    Parameters
    ----------
    path : str or path-like
    trusted : iterable of str or class, default=()
        Classes and functions of your own, or of other packages, that the file may name, such as
        ``["mypackage.members.MyClassifier"]``. They are imported, and their code may run, so name only
        what you know. Those of modae, those that skops trusts (the estimators of scikit-learn) and those
        that are listed in ``modae.files.foreign`` need no such word.

    Returns
    -------
    estimator : estimator

    Raises
    ------
    ModelFormatError
        If the file is not one of modae, is of another version, truncated or damaged, or names something
        that is not trusted; the message says which.
    ImportError
        If the file needs a package that is not installed; the message says which.
    FileNotFoundError
        If there is no such file.

    See Also
    --------
    save : Writes the files.
    describe : What is in a file, without making the model.
    """
    from safetensors.numpy import load as from_bytes

    from modae.files.objects import Reader

    names = _names_of(trusted)
    with archive.opened(path) as (content, header):
        arrays, count = from_bytes(content.read(archive.ARRAYS)), len(content.namelist()) - 2
        members = [content.read(archive.MEMBER.format(place)) for place in range(count)]
        return Reader(arrays, members, names).root(header)


def describe(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What is in a file: class, versions, sizes, whether it holds training data.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    description : dict
        With ``class``, ``modae`` (the version that wrote it), ``libraries``, ``summary`` (steps,
        columns, classes, sizes of the modules, the certificate), ``arrays`` (how many), ``bytes``,
        ``holds_rows`` and ``notes``. Only the header of the file is read.
    """
    with archive.opened(path) as (_, header):
        told: dict[str, Any] = {name: kind(header[name]) for name, kind in DESCRIBED.items()}
    told["bytes"] = Path(path).expanduser().stat().st_size
    told["notes"] = [ROWS_NOTE] if told["holds_rows"] else []
    if options := told["summary"].get("notes", {}).get("options"):
        told["notes"].append(READING_NOTE.format(options=options))
    return told


def _names_of(trusted: object) -> frozenset[str]:
    """The full names of classes and functions that a user trusts."""
    listed = trusted if isinstance(trusted, Iterable) and not isinstance(trusted, str) else [""]
    names = [
        f"{each.__module__}.{each.__qualname__}" if hasattr(each, "__qualname__") else str(each)
        for each in listed
    ]
    if not all("." in name and all(map(str.isidentifier, name.split("."))) for name in names):
        raise TypeError(
            "trusted must be a list of classes, or of full names such as "
            f'["package.module.Class"], got {trusted!r}.'
        )
    return frozenset(names)
