"""Saving that is stopped in the middle: the old model or the new one, and nothing in the way."""

import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import modae
from files import parts
from modae.utils.atomic import LITTER_PREFIX

SAVER = """
import os, sys, modae
path, *names = sys.argv[1:]
models = [modae.load(name) for name in names]

def save_forever():
    while True:
        for model in models:
            modae.save(model, path)

for line in sys.stdin:
    child = os.fork()
    if child == 0:
        save_forever()
    print(child, flush=True)
    print(os.waitpid(child, 0)[1], flush=True)
"""
"""For each line that it reads, a child that saves two models in turn until it is killed."""


def litter(directory):
    return [path for path in directory.iterdir() if path.name.startswith(LITTER_PREFIX)]


@pytest.fixture(scope="module")
def models():
    """Two that differ in size, so that half of one and half of the other would be noticed."""
    rows = parts.rows(300, 40)
    return [parts.extractor(n_modules=size, n_components=4).fit(rows) for size in (2, 5)]


def kill_after(seconds, saver):
    """Start a child, kill it after a while, and return how it ended."""
    saver.stdin.write("start\n")
    saver.stdin.flush()
    child = int(saver.stdout.readline())
    time.sleep(seconds)  # the random moment itself; no outcome depends on its length
    os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(int(saver.stdout.readline()))


def test_killed_at_random_moments(models, tmp_path):
    path, names = tmp_path / "model.modae", [str(tmp_path / f"{i}.modae") for i in range(2)]
    for model, name in zip(models, names, strict=True):
        modae.save(model, name)
    modae.save(models[0], path)
    contents = [parts.bytes_of(model) for model in models]
    moments = random.Random(0)
    command = [sys.executable, "-c", SAVER, str(path), *names]
    pipe, one_thread = subprocess.PIPE, {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=one_thread) as saver:
        for _ in range(20):
            assert kill_after(moments.uniform(0.0, 0.03), saver) == -signal.SIGKILL
            assert parts.bytes_of(modae.load(path)) in contents
    modae.save(models[1], path)
    assert parts.bytes_of(modae.load(path)) == contents[1]
    assert len(litter(tmp_path)) <= 20


def test_litter_is_in_nobodys_way(models, tmp_path):
    path = tmp_path / "model.modae"
    modae.save(models[0], path)
    left = tmp_path / f"{LITTER_PREFIX}0123456789abcdef.tmp"
    left.write_bytes(path.read_bytes()[:100])
    modae.save(models[1], path)
    assert parts.bytes_of(modae.load(path)) == parts.bytes_of(models[1])
    assert litter(tmp_path) == [left]


SAVE_ON_SMALL_DISK = """
import os, sys
disk, small, large = sys.argv[1:]
if not os.path.ismount(disk):
    raise SystemExit("no disk")
import modae
path = disk + "/model.modae"
modae.save(modae.load(small), path)
before = open(path, "rb").read()
try:
    modae.save(modae.load(large), path)
except OSError as error:
    print(error.errno, flush=True)
assert open(path, "rb").read() == before
assert os.listdir(disk) == ["model.modae"], os.listdir(disk)
modae.load(path)
print("intact")
"""


def on_small_disk(directory, small, large):
    """Run the script above on a disk of 64 kB of its own; None where the system forbids it."""
    disk = directory / "disk"
    disk.mkdir()
    inner = 'mount -t tmpfs -o size=64k tmpfs "$1" && shift && exec "$@"'
    script = [sys.executable, "-c", SAVE_ON_SMALL_DISK, str(disk), str(small), str(large)]
    user = [] if os.getuid() == 0 else ["-r"]
    command = ["unshare", *user, "-m", "sh", "-c", inner, "sh", str(disk), *script]
    if shutil.which("unshare") is None:
        return None
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    return None if "mount" in run.stderr or "unshare" in run.stderr else run


def test_full_disk(tmp_path):
    small, large = tmp_path / "small", tmp_path / "large"
    modae.save(parts.extractor().fit(parts.X), small)
    modae.save(parts.extractor(n_modules=20).fit(parts.rows(200, 90)), large)
    assert large.stat().st_size > 64 * 1024
    run = on_small_disk(tmp_path, small, large)
    if run is not None:
        assert run.stdout.split() == ["28", "intact"], run.stderr  # ENOSPC


def test_file_size_limit_is_one_error_too(tmp_path):
    """The same without a disk: the system refuses to let the file grow."""
    path = tmp_path / "model.modae"
    modae.save(parts.extractor().fit(parts.X), path)
    before = path.read_bytes()
    large = parts.extractor(n_modules=20).fit(parts.rows(200, 90))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (64 * 1024, limits[1]))
        with pytest.raises(OSError, match="File too large"):
            modae.save(large, path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert path.read_bytes() == before
    assert litter(tmp_path) == []
    np.testing.assert_array_equal(modae.load(path).mean_, parts.extractor().fit(parts.X).mean_)


def test_a_failed_save_leaves_the_old_file(tmp_path):
    path = tmp_path / "model.modae"
    modae.save(parts.extractor().fit(parts.X), path)
    before = path.read_bytes()
    with pytest.raises(TypeError, match="lambda"):
        modae.save(parts.extractor(tol=lambda: 1.0), path)
    assert path.read_bytes() == before
    assert litter(tmp_path) == []


def test_places_that_are_no_files(tmp_path):
    model = parts.extractor()
    with pytest.raises(FileExistsError):
        modae.save(model, tmp_path)
    with pytest.raises(FileNotFoundError):
        modae.save(model, tmp_path / "nowhere" / "model.modae")
