"""The bytes of a file: a zip whose entries are stored as they are, each with its checksum.

======================  ===========================================================================
entry                   content
======================  ===========================================================================
``header.json``         format, class, versions, summary, and the tree of our objects
``arrays.safetensors``  our arrays, by the names that the tree uses
``members/0.skops``     the first object of another library, as skops writes it; then ``1.skops``, ...
======================  ===========================================================================

Nothing is compressed or encrypted, so what is read is never longer than the file. Dates are fixed: the
same model gives the same bytes.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any
from zipfile import ZIP_STORED, BadZipFile, ZipFile, ZipInfo

FORMAT = 3
HEADER, ARRAYS, MEMBER = "header.json", "arrays.safetensors", "members/{}.skops"

LOOKS_LIKE = {
    b"\x80": "It looks like a pickle, which could run any code.",
    b"\x93NUMPY": "It looks like a NumPy array.",
    b"\x1f\x8b": "It looks like a gzip file.",
    b"{": "It looks like JSON text.",
    b"\x93MODAE": "It has format 1 of an older modae: fit the model and save it again.",
    b"": "",
}


class ModelFormatError(ValueError):
    """A file that is not a model of modae, or is damaged, or of another version.

    The message says what is wrong with the file, and what to do.

    Examples
    --------
    >>> from modae import ModelFormatError
    >>> try:
    ...     raise ModelFormatError("the file ends too early; save the model again")
    ... except ValueError as error:
    ...     print(error)
    the file ends too early; save the model again
    """


def require(condition: object, rule: str) -> None:
    """Refuse a file that breaks a rule."""
    if not condition:
        raise ModelFormatError(rule)


def as_json(content: Any) -> bytes:
    """JSON without blanks, and without NaN or infinity, which it does not know."""
    return json.dumps(content, allow_nan=False, separators=(",", ":")).encode()


def write_entries(file: Any, entries: Mapping[str, Sequence[Any]]) -> None:
    """A stored zip whose bytes depend on the entries only: each has some bytes or arrays in a row."""
    with ZipFile(file, "w", ZIP_STORED) as archive:
        for name, parts in entries.items():
            entry = ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.create_system = 3  # the same on Windows
            entry.file_size = sum(memoryview(part).nbytes for part in parts)
            with archive.open(entry, "w") as target:
                for part in parts:
                    target.write(part)


def safetensors_parts(arrays: Mapping[str, Any]) -> list[Any]:
    """Little-endian arrays in C order as safetensors: a header, then the arrays themselves.

    ``safetensors.numpy.save`` copies all arrays twice: for 160 MB of them it takes 330 MB more, this 14.
    """
    # By falling size of a number, so that each array begins at a multiple of it.
    ordered = sorted(arrays.items(), key=lambda item: (-item[1].itemsize, item[0]))
    header, end = {}, 0
    for name, values in ordered:
        kind, start, end = values.dtype.kind, end, end + values.nbytes
        dtype = "BOOL" if kind == "b" else f"{kind.upper()}{8 * values.itemsize}"
        header[name] = {"dtype": dtype, "shape": values.shape, "data_offsets": (start, end)}
    text = as_json(header)
    text += b" " * (-len(text) % 8)
    return [len(text).to_bytes(8, "little") + text, *(values for _, values in ordered)]


def check_stored(archive: ZipFile) -> None:
    """Entries as they are, so that none is longer than the file."""
    for entry in archive.infolist():
        stored = entry.compress_type == ZIP_STORED and entry.compress_size == entry.file_size
        plain = stored and not entry.flag_bits & 1 and entry.header_offset >= 0
        require(plain, f"{entry.filename} is compressed or encrypted, or outside of the file")


@cache
def versions() -> dict[str, str]:
    """Of the libraries to whose classes members are bound."""
    return {name: version(name) for name in ("numpy", "scipy", "scikit-learn")}


@contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[tuple[ZipFile, dict[str, Any]]]:
    """A file that is open, with its header; what is no file of this format is refused.

    Whatever goes wrong while it is open is one kind of error with the path in it, but for what is not
    the fault of the file.
    """
    written = None
    try:
        with Path(path).expanduser().open("rb") as file:
            start = file.read(8)
            if not start.startswith(b"PK"):
                looks = next(reason for form, reason in LOOKS_LIKE.items() if start.startswith(form))
                reason = looks if start else "It is empty."
                raise ModelFormatError(f"This is no file of modae. {reason}".strip())
            with ZipFile(file) as archive:
                require(HEADER in archive.namelist(), "It is a zip archive that modae did not write.")
                check_stored(archive)
                header = json.loads(archive.read(HEADER))
                number = header["format"]
                require(type(number) is int, f"There is no format {number!r:.40} of modae.")
                who, remedy = "an older", "fit the model and save it again"
                if number > FORMAT:
                    who, remedy = "a newer", "pip install --upgrade modae"
                of_whom = f"{who} modae (format {number}, this one reads {FORMAT})"
                require(number == FORMAT, f"The file was written by {of_whom}: {remedy}.")
                written = header.get("libraries") if MEMBER.format(0) in archive.namelist() else None
                yield archive, header
    except (MemoryError, OSError, ImportError):
        raise
    except Exception as reason:
        said = f"The file is damaged, or not one of modae ({type(reason).__name__}: {reason!s:.200})."
        if isinstance(reason, (BadZipFile, EOFError, NotImplementedError)):
            said = f"The file is truncated or damaged ({reason}). Copy or save it again."
        if isinstance(reason, ModelFormatError):
            said = str(reason)
        if isinstance(written, dict) and written != versions():
            listed = ", ".join(f"{name} {number}" for name, number in written.items())
            said += f" It was written with {listed!s:.200}; with those versions it may load."
        raise ModelFormatError(f"{os.fspath(path)}: {said}") from reason
