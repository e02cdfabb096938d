"""Faults that no other file of tests has, and the table of all: every row names a test that there is."""

import ast
import os
import re
import signal
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Event, Thread

import numpy as np
import pytest

import modae
from cli.calling import caller, flowers
from modae.utils.atomic import LITTER_PREFIX
from modae.utils.parallel import in_one_thread

ROOT = Path(__file__).parents[1]
TABLE = re.findall(
    r"^\| (.+?) \| (.+?) \| (.*`tests/.*) \|$",
    (ROOT / "docs/testing.md").read_text("utf-8"),
    re.MULTILINE,
)
ROWS = np.random.default_rng(0).standard_normal((50, 6))
NOBODY = 65534


def extractor(n_modules=3):
    return modae.LinearModularAutoencoder(n_modules, 2, random_state=0)


@pytest.fixture
def call(capsys):
    return caller(capsys)


@contextmanager
def as_nobody():
    """The superuser may write everywhere: for this while, be somebody else."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(user)


@pytest.fixture
def read_only():
    """A folder that everybody may read, with a model and a table in it."""
    with tempfile.TemporaryDirectory() as name:  # pytest's own folders are closed to others
        folder = Path(name)
        modae.save(extractor().fit(ROWS), folder / "model.modae")
        modae.load(folder / "model.modae")  # others may be unable to read Python: import it all now
        flowers().to_csv(folder / "good.csv", index=False)
        folder.chmod(0o555)
        yield folder
        folder.chmod(0o755)


def test_a_folder_that_is_read_only_keeps_its_model(read_only):
    path, larger = read_only / "model.modae", extractor(5).fit(ROWS)
    before = path.read_bytes()
    with as_nobody():
        with pytest.raises(PermissionError):
            modae.save(larger, path)
        np.testing.assert_array_equal(modae.load(path).transform(ROWS), extractor().fit_transform(ROWS))
    assert path.read_bytes() == before
    assert sorted(each.name for each in read_only.iterdir()) == ["good.csv", "model.modae"]


def test_the_command_says_that_a_folder_is_read_only(read_only, tmp_path, call):
    target = read_only / "new.modae"
    fit = ["fit", read_only / "good.csv", "--drop", "kind", "-q", "-o"]
    assert call(*fit, tmp_path / "new.modae").code == 0
    with as_nobody():
        answer = call(*fit, target)
    assert answer.code == 3
    assert answer.err.splitlines()[-1].endswith("Permission denied.")
    assert "Traceback" not in answer.err
    assert not target.exists()


def modae_process(folder, *arguments, **variables):
    """A command in a process of its own, where the locale is read."""
    return subprocess.run(
        [sys.executable, "-m", "modae", *arguments],
        cwd=folder,
        env=os.environ | {"OMP_NUM_THREADS": "1"} | variables,
        capture_output=True,
        check=False,
    )


def test_in_the_locale_c_names_with_accents_are_written_whole(tmp_path):
    table = flowers().rename(columns={"long": "größe"})
    table["kind"] = table["kind"].str.replace("aster", "été")
    table.to_csv(tmp_path / "odd.csv", index=False, encoding="utf-8")
    plain = {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    options = ["--target", "kind", "--no-check", "-o", "odd.modae"]
    fit = modae_process(tmp_path, "fit", "odd.csv", *options, **plain)
    assert fit.returncode == 0, fit.stderr
    assert b"\\xe9t\\xe9: 20" in fit.stdout  # words for people, in the letters that they can see
    predict = modae_process(tmp_path, "predict", "odd.modae", "odd.csv", "-o", "-", **plain)
    assert predict.returncode == 0, predict.stderr
    assert predict.stdout.decode("utf-8").splitlines()[1].startswith("été,")  # data stay as they are
    assert "größe" in modae.load(tmp_path / "odd.modae").feature_names_in_


def test_a_terminal_of_twenty_columns_gets_the_same_words(tmp_path, call, monkeypatch):
    monkeypatch.chdir(tmp_path)
    flowers().to_csv("good.csv", index=False)
    commands = [
        ["fit", "good.csv", "--target", "kind", "--no-check", "-o", "vote.modae"],
        ["info", "vote.modae"],
        ["predict", "vote.modae", "good.csv", "-o", "new.csv"],
        ["predict", "vote.modae", "nowhere.csv", "-o", "new.csv"],
    ]
    said = {}
    for width in ("20", "200"):
        monkeypatch.setenv("COLUMNS", width)
        said[width] = [call(*command) for command in commands]
    assert [answer.code for answer in said["20"]] == [0, 0, 0, 2]
    for narrow, wide in zip(said["20"], said["200"], strict=True):
        assert (narrow.out + narrow.err).split() == (wide.out + wide.err).split()


def in_a_fork(function):
    """The exit code of a child that calls the function; a signal ends a child that hangs."""
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        try:
            function()
        except BaseException:
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@contextmanager
def held_by_another_thread(lock):
    """A thread that has the lock, and keeps it until the block ends."""
    held, done = Event(), Event()

    def hold():
        with lock:
            held.set()
            done.wait()

    thread = Thread(target=hold)
    thread.start()
    held.wait()
    try:
        yield
    finally:
        done.set()
        thread.join()


def lock_of_partial_fit():
    from modae.linear.autoencoder import _JOINING

    return _JOINING, partial(extractor().partial_fit, ROWS)


def lock_of_the_workers():
    from modae.utils.parallel import _COUNTING

    return _COUNTING, partial(in_one_thread, np.linalg.svd, ROWS)


def lock_of_networks():
    from modae.deep.model import _ONE_AT_A_TIME

    return (
        _ONE_AT_A_TIME,
        _ONE_AT_A_TIME.acquire,
    )  # no training: OpenMP does not survive a fork


@pytest.mark.parametrize("kind", [lock_of_partial_fit, lock_of_the_workers, lock_of_networks])
def test_a_child_does_not_wait_for_a_lock_that_was_held_at_the_fork(kind):
    lock, use = kind()
    with held_by_another_thread(lock):
        assert in_a_fork(use) == 0
        assert not lock.acquire(blocking=False), "the parent has lost its lock"


def test_writers_at_the_same_time_leave_the_model_of_one_of_them(tmp_path):
    path = tmp_path / "model.modae"
    program = "import sys, modae\nfor _ in range(20): modae.save(modae.load(sys.argv[1]), sys.argv[2])"
    sources = [tmp_path / f"{n_modules}.modae" for n_modules in (2, 3)]
    for source, n_modules in zip(sources, (2, 3), strict=True):
        modae.save(extractor(n_modules).fit(ROWS), source)
    modae.save(modae.load(sources[0]), path)
    writers = [subprocess.Popen([sys.executable, "-c", program, each, path]) for each in sources]
    contents = {source.read_bytes() for source in sources}
    while any(writer.poll() is None for writer in writers):
        assert path.read_bytes() in contents
    assert [writer.returncode for writer in writers] == [0, 0]
    assert path.read_bytes() in contents
    assert not [each for each in tmp_path.iterdir() if each.name.startswith(LITTER_PREFIX)]


def defined_in(file):
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize(("fault", "named"), [(row[0], row[2]) for row in TABLE])
def test_every_test_in_the_table_of_faults_is_there(fault, named):
    places = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", named)
    assert places, fault
    for file, test in places:
        assert test in defined_in(file)


def test_every_fault_has_its_row():
    assert [fault for fault, _, _ in TABLE] == [
        "full disk", "closed pipe", "short writes", "read-only folder", "`kill -9`", "Ctrl-C",
        "locale C", "`COLUMNS=20`", "fork with a lock held", "writers at the same time",
        "a Dask worker is killed",
    ]  # fmt: skip
