"""The atomic writer: old content or new content, and nothing in between."""

import errno
import os
import shutil
import signal
import stat
import subprocess
import sys

import pytest

from modae.utils.atomic import LITTER_PREFIX, atomic_write


def litter(directory):
    return [path for path in directory.iterdir() if path.name.startswith(LITTER_PREFIX)]


def write_half(path, error):
    with atomic_write(path) as file:
        file.write(b"half")
        raise error


@pytest.fixture
def old_file(tmp_path):
    path = tmp_path / "data.bin"
    path.write_bytes(b"old")
    return path


def test_bytes(tmp_path):
    with atomic_write(tmp_path / "new") as file:
        file.write(b"\x00\n\r\n")
    assert (tmp_path / "new").read_bytes() == b"\x00\n\r\n"
    assert litter(tmp_path) == []


def test_text_is_utf8_with_bare_newlines(tmp_path):
    with atomic_write(str(tmp_path / "new"), "w") as file:
        file.write("é\nλ\n")
    assert (tmp_path / "new").read_bytes() == "é\nλ\n".encode()


def test_readers_see_the_old_content_until_the_block_ends(old_file):
    with atomic_write(old_file) as file:
        file.write(b"new")
        file.flush()
        assert old_file.read_bytes() == b"old"
    assert old_file.read_bytes() == b"new"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit, GeneratorExit])
def test_an_exception_leaves_everything_as_it_was(old_file, error):
    with pytest.raises(error):
        write_half(old_file, error)
    assert old_file.read_bytes() == b"old"
    assert list(old_file.parent.iterdir()) == [old_file]


def test_an_exception_leaves_no_new_file(tmp_path):
    with pytest.raises(ZeroDivisionError):
        write_half(tmp_path / "new", ZeroDivisionError)
    assert list(tmp_path.iterdir()) == []


def test_the_content_is_on_the_disk_before_the_name_and_the_name_before_the_end(old_file, monkeypatch):
    events = []
    fsync, replace = os.fsync, os.replace

    def recorded_fsync(descriptor):
        is_directory = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        events.append("directory" if is_directory else os.fstat(descriptor).st_size)
        fsync(descriptor)

    def recorded_replace(*names):
        events.append("rename")
        replace(*names)

    monkeypatch.setattr(os, "fsync", recorded_fsync)
    monkeypatch.setattr(os, "replace", recorded_replace)
    with atomic_write(old_file) as file:
        file.write(b"12345")
    assert events == [5, "rename", "directory"]


@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_a_new_file_obeys_the_umask(tmp_path, umask):
    before = os.umask(umask)
    try:
        with atomic_write(tmp_path / "new") as file:
            file.write(b"x")
    finally:
        os.umask(before)
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o666 & ~umask


def test_an_old_file_hands_its_permissions_on_before_there_is_content(old_file):
    old_file.chmod(0o600)
    with atomic_write(old_file) as file:
        assert [path.stat().st_mode & 0o777 for path in litter(old_file.parent)] == [0o600]
        file.write(b"new")
    assert old_file.stat().st_mode & 0o777 == 0o600


def test_a_link_stays_and_its_target_is_replaced(tmp_path, old_file):
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / "link"
    link.symlink_to(old_file)
    with atomic_write(link) as file:
        file.write(b"new")
    assert link.is_symlink()
    assert old_file.read_bytes() == b"new"


def test_a_dangling_link_gets_its_target(tmp_path):
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "target")
    with atomic_write(link) as file:
        file.write(b"new")
    assert (tmp_path / "target").read_bytes() == b"new"


def test_only_regular_files_are_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(FileExistsError, match="not a regular file"), atomic_write(path):
            raise AssertionError("the block must not run")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_a_missing_directory_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no directory .*nowhere"):
        atomic_write(tmp_path / "nowhere" / "file").__enter__()


def test_two_writers_do_not_meet(old_file):
    with atomic_write(old_file) as first, atomic_write(old_file) as second:
        first.write(b"first")
        second.write(b"second")
    assert old_file.read_bytes() == b"first"  # the inner one ended before it
    assert litter(old_file.parent) == []


def test_a_killed_writer_leaves_the_old_file_and_litter_that_hurts_nobody(old_file):
    program = (
        "import sys; from modae.utils.atomic import atomic_write\n"
        "with atomic_write(sys.argv[1]) as file:\n"
        "    file.write(b'half'); file.flush(); print('ready', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", program, str(old_file)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        assert writer.stdout.readline() == b"ready\n"
        writer.kill()
        assert writer.wait() == -signal.SIGKILL
    assert old_file.read_bytes() == b"old"
    assert [path.read_bytes() for path in litter(old_file.parent)] == [b"half"]
    with atomic_write(old_file) as file:
        file.write(b"new")
    assert old_file.read_bytes() == b"new"


ON_A_SMALL_DISK = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c")


def can_mount(directory):
    if shutil.which("unshare") is None:
        return False
    command = [*ON_A_SMALL_DISK, f"mount -t tmpfs tmpfs {directory}"]
    return subprocess.run(command, capture_output=True).returncode == 0


def test_a_full_disk_leaves_everything_as_it_was(tmp_path):
    if not can_mount(tmp_path):
        pytest.skip("this system does not let us mount a small disk")
    program = tmp_path.parent / f"{tmp_path.name}.py"
    program.write_text(
        "import os\n"
        "from pathlib import Path\n"
        "from modae.utils.atomic import atomic_write\n"
        f"path = Path({str(tmp_path)!r}) / 'data'\n"
        "path.write_bytes(b'old')\n"
        "try:\n"
        "    with atomic_write(path) as file:\n"
        "        file.write(bytes(1_000_000))\n"
        "except OSError as error:\n"
        "    print(error.errno, path.read_bytes(), os.listdir(path.parent))\n"
    )
    mount = f"mount -t tmpfs -o size=64k tmpfs {tmp_path}"
    script = f"{mount} && exec {sys.executable} {program}"
    answer = subprocess.run([*ON_A_SMALL_DISK, script], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == f"{errno.ENOSPC} b'old' ['data']"
