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

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from re import fullmatch
from typing import TYPE_CHECKING, Any
from zipfile import ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from modae.utils.atomic import atomic_write

if TYPE_CHECKING:
    import numpy as np

FORMAT = 3
HEADER, ARRAYS, MEMBER = "header.json", "arrays.safetensors", "members/{}.skops"
NAMES = r"header\.json|arrays\.safetensors|members/\d+\.skops"
LARGEST_HEADER = 1 << 28  # bytes: far more than any model needs, and little enough to be parsed
ENCRYPTED = 0x1

LOOKS_LIKE = {
    b"\x80": "It looks like a pickle, which could run any code.",
    b"\x93NUMPY": "It looks like a NumPy array.",
    b"\x1f\x8b": "It looks like a gzip file.",
    b"{": "It looks like JSON text.",
    b"\x93MODAE": "It has format 1 of an older modae: fit the model and save it again.",
    b"": "",
}

AGES = ("an older", "fit the model and save it again"), ("a newer", "pip install --upgrade modae")


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


def write_archive(
    path: str | os.PathLike[str],
    header: Mapping[str, Any],
    arrays: dict[str, np.ndarray],
    members: Sequence[bytes],
) -> None:
    """Write a file whole, or not at all."""
    from safetensors.numpy import save

    text = json.dumps({"format": FORMAT, **header}, allow_nan=False, separators=(",", ":"))
    entries = {HEADER: text.encode(), ARRAYS: save(arrays)}
    entries |= {MEMBER.format(place): member for place, member in enumerate(members)}
    with atomic_write(path) as file:
        write_entries(file, entries)


def write_entries(file: Any, entries: Mapping[str, bytes]) -> None:
    """A stored zip whose bytes depend on the entries only."""
    with ZipFile(file, "w", ZIP_STORED) as archive:
        for name, content in entries.items():
            entry = ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.create_system = 3  # the same on Windows
            archive.writestr(entry, content)


def read_archive(
    path: str | os.PathLike[str],
) -> tuple[dict[str, Any], dict[str, np.ndarray], list[bytes]]:
    """Header, arrays and members of a file."""
    from safetensors.numpy import load

    with opened(path) as (archive, header):
        require(ARRAYS in archive.namelist(), "The file is damaged: it has no arrays.")
        count = len(archive.namelist()) - 2
        members = [archive.read(MEMBER.format(place)) for place in range(count)]
        return header, load(archive.read(ARRAYS)), members


def check_entries(archive: ZipFile, size: int, names: str) -> None:
    """Each name once and of the right form, each entry stored as it is and inside of the file."""
    entries = archive.infolist()
    require(len({entry.filename for entry in entries}) == len(entries), "an entry is there twice")
    for entry in entries:
        known = fullmatch(names, entry.filename)
        require(known, f"the archive has no place for {entry.filename!r:.60}")
        stored = entry.compress_type == ZIP_STORED and entry.compress_size == entry.file_size
        plain = stored and not entry.flag_bits & ENCRYPTED
        require(plain, f"{entry.filename} is compressed or encrypted")
        require(0 <= entry.header_offset < size, f"{entry.filename} is outside of the file")
    require(sum(entry.file_size for entry in entries) <= size, "the entries are larger than the file")


@contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[tuple[ZipFile, dict[str, Any]]]:
    """A file that is open, with its header; what is no file of this format is refused."""
    with Path(path).expanduser().open("rb") as file:
        start = file.read(8)
        if not start.startswith(b"PK"):
            looks = next(reason for form, reason in LOOKS_LIKE.items() if start.startswith(form))
            reason = looks if start else "It is empty."
            raise ModelFormatError(f"This is no file of modae. {reason}".strip())
        try:
            with ZipFile(file) as archive:
                require(HEADER in archive.namelist(), "It is a zip archive that modae did not write.")
                check_entries(archive, os.fstat(file.fileno()).st_size, NAMES)
                small = archive.getinfo(HEADER).file_size <= LARGEST_HEADER
                require(small, "The file is damaged: a huge header.")
                header = json.loads(archive.read(HEADER))
                number = header["format"]
                known = type(number) is int and number > 0
                require(known, f"There is no format {number!r:.40} of modae.")
                age, remedy = AGES[number > FORMAT]
                require(
                    number == FORMAT,
                    f"The file was written by {age} modae (format {number}, this one reads {FORMAT}): "
                    f"{remedy}.",
                )
                yield archive, header
        except (BadZipFile, EOFError, NotImplementedError) as reason:
            raise ModelFormatError(
                f"The file is truncated or damaged ({reason}). Copy or save it again."
            ) from reason
