"""The one way in which modae writes a file: whole, or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import IO, Any, Literal

#: How the name of an unfinished file begins. After a crash such a file may be deleted by hand.
LITTER_PREFIX = ".modae-"


def writable(path: str | os.PathLike[str]) -> Path:
    """Where a file is or shall be; an error if its directory is not there, or something else is."""
    target = Path(path).resolve()
    if not target.parent.is_dir():
        where = f"there is no directory {target.parent}"
        raise FileNotFoundError(f"Cannot write {target}: {where}; make it first.")
    if target.exists() and not target.is_file():
        raise FileExistsError(f"Cannot write {target}: it exists and is not a regular file.")
    return target


@contextmanager
def atomic_write(path: str | os.PathLike[str], mode: Literal["wb", "w"] = "wb") -> Iterator[IO[Any]]:
    """Write a file so that every reader, at every moment, finds the old content or the new one.

    What the block writes goes to a temporary file in the same directory. When the block ends, that file
    is flushed to the disk and renamed to ``path``, and the directory is flushed too. When the block
    raises anything, the temporary file is removed and an old file stays as it was. A process that is
    killed leaves a file whose name begins with ``.modae-``: nothing reads it, no later write meets it.

    An old file hands its permissions on; a new one gets what the umask allows. A symbolic link stays,
    and the file that it points to is replaced. Other hard links to an old file keep the old content.

    Parameters
    ----------
    path : str or path-like
        Where the content shall be. Its directory must exist.
    mode : {"wb", "w"}, default="wb"
        Bytes, or text (UTF-8, lines that end in a bare newline on every system).

    Yields
    ------
    file : file object
        Open for writing. Leave it open: it is closed when the block ends.

    Raises
    ------
    FileNotFoundError
        If the directory does not exist.
    FileExistsError
        If there is something at ``path`` that is not a regular file: a directory, a device, a pipe.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from modae.utils.atomic import atomic_write
    >>> with TemporaryDirectory() as directory:
    ...     path = Path(directory) / "numbers.txt"
    ...     with atomic_write(path, "w") as file:
    ...         _ = file.write("1 2 3")
    ...     path.read_text()
    '1 2 3'
    """
    target = writable(path)
    old_permissions = target.stat().st_mode & 0o7777 if target.exists() else None
    temporary = target.with_name(f"{LITTER_PREFIX}{token_hex(8)}.tmp")
    encoding, newline = ("utf-8", "\n") if mode == "w" else (None, None)
    try:
        # "x" refuses a file that exists, and leaves the permissions to the umask.
        with temporary.open(mode.replace("w", "x"), encoding=encoding, newline=newline) as file:
            if old_permissions is not None:
                temporary.chmod(old_permissions)  # before any content, which may be private
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)  # gone already if all went well
    if hasattr(os, "O_DIRECTORY"):  # the new name itself is made safe, where a directory can be opened
        descriptor = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
