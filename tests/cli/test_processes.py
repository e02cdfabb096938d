"""What only a process of its own can show: pipes, kills, a full disk, completion."""

import io
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from threading import Event
from threading import enumerate as enumerate_threads
from types import SimpleNamespace

import numpy as np
import pytest

import modae
from modae.cli import main
from modae.cli.console import Talk, UserError
from modae.cli.tables import open_output, open_table
from modae.utils.atomic import LITTER_PREFIX

COMMAND = "import sys\nfrom modae.cli import main\nsys.argv[0] = 'modae'\nmain()"


def environment(**more):
    return os.environ | {"OMP_NUM_THREADS": "1", "COLUMNS": "80", "PYTHONUTF8": "1"} | more


def test_a_reader_that_goes_away_ends_it_silently(desk):
    arguments = ["transform", "features.modae", "good.csv", "-o", "-"]
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    with process:
        process.stdout.close()
        said = process.stderr.read()
    assert process.returncode == 141
    assert said == "Reading good.csv ...\n"


def test_a_table_from_a_pipe_gives_the_same_model(desk, call, monkeypatch):
    stdin = SimpleNamespace(buffer=io.BytesIO((desk / "good.csv").read_bytes()), isatty=lambda: False)
    monkeypatch.setattr(sys, "stdin", stdin)
    assert call("fit", "-", "--target", "kind", "--no-check", "-o", "new.modae").code == 0
    old, new = modae.load("vote.modae"), modae.load("new.modae")
    assert (old[-1].extractor_.encoders_ == new[-1].extractor_.encoders_).all()


@pytest.mark.parametrize("blocking", [True, False], ids=["unbuffered", "a pipe that does not wait"])
def test_every_row_arrives_on_standard_output(desk, blocking):
    """A pipe takes 64 kB at a time, and less if nobody reads: all bytes are written, or it fails."""
    rows = np.load("rows.npy")
    np.save("many.npy", np.tile(rows, (400, 1)))
    reader, writer = os.pipe()
    os.set_blocking(writer, blocking)
    command = [sys.executable, "-c", COMMAND, "transform", "features.modae", "many.npy", "-o", "-"]
    unbuffered = {"PYTHONUNBUFFERED": "1"} if blocking else {}
    with subprocess.Popen(command, stdout=writer, env=environment(**unbuffered)) as process:
        os.close(writer)
        with os.fdopen(reader, "rb") as pipe:
            lines = pipe.read().splitlines()
    assert process.returncode == 0
    assert len(lines) == 1 + 400 * len(rows)
    assert {line.count(b",") for line in lines} == {lines[0].count(b",")}


def test_python_dash_m_is_the_command():
    command = [sys.executable, "-m", "modae", "--version"]
    run = subprocess.run(command, capture_output=True, text=True, env=environment(), check=True)
    assert run.stdout == f"modae {modae.__version__}\n"


def test_a_terminal_is_no_table(desk, call, monkeypatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: True))
    answer = call("fit", "-", "-o", "new.modae")
    assert answer.code == 2
    assert "pipe" in answer.said


def test_data_go_to_stdout_and_words_to_stderr(desk, call):
    answer = call("predict", "vote.modae", "good.csv", "-o", "-")
    assert answer.code == 0
    assert answer.out.splitlines()[0].startswith("predicted_kind,probability_aster,")
    assert len(answer.out.splitlines()) == 61
    assert "standard output" in answer.said


class Terminal(io.StringIO):
    """Stderr for people."""

    def isatty(self):
        return True


def test_on_a_terminal_one_line_is_written_over_and_goes_away(monkeypatch):
    clock = iter(range(100))
    monkeypatch.setattr("modae.utils.parallel.monotonic", lambda: next(clock))
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("COLUMNS", "60")
    with Talk().stage("Reading", 1000) as advance:
        advance(250)
    shown = sys.stderr.getvalue().split("\r")
    assert [line.strip() for line in shown if line.strip()] == [
        "Reading ...",
        "Reading: 25%, 250 of 1,000 rows, about 3 s left",
    ]
    assert "\n" not in sys.stderr.getvalue()
    assert max(map(len, shown)) < 60
    assert shown[-2].isspace()


def test_in_a_pipe_lines_are_written_now_and_then(monkeypatch, capsys):
    clock = iter(range(0, 1000, 4))
    monkeypatch.setattr("modae.utils.parallel.monotonic", lambda: next(clock))
    with Talk().stage("Comparing", unit="fit") as advance:
        advance(0, 8)
        for _ in range(8):
            advance()
    assert capsys.readouterr().err.splitlines() == [
        "Comparing ...",
        "Comparing: 25%, 2 of 8 fits, 12 s so far",
        "Comparing: 62%, 5 of 8 fits, 24 s so far",
        "Comparing: 100%, 8 of 8 fits, 36 s so far",
    ]
    with Talk(quiet=True).stage("Comparing") as advance:
        advance(5)
    assert capsys.readouterr().err == ""


def test_one_long_step_is_told_of_too(monkeypatch, capsys):
    monkeypatch.setattr("modae.utils.parallel.LINES_APART", 1e-3)
    spoken, write = Event(), sys.stderr.write

    def written(text):
        write(text)
        if "so far" in text:
            spoken.set()

    monkeypatch.setattr(sys.stderr, "write", written)
    with Talk().stage("Fitting"):
        assert spoken.wait(60)
    assert "heartbeat" not in {thread.name for thread in enumerate_threads()}
    assert capsys.readouterr().err.startswith("Fitting ...\nFitting: 0 s so far\n")


def test_lines_get_rarer_and_one_comes_each_minute(monkeypatch, capsys):
    time = [0.0]
    monkeypatch.setattr("modae.utils.parallel.monotonic", lambda: time[0])
    with Talk().stage("Trying", 10_000, "trial") as advance:
        for step in range(1, 1201):
            time[0] = float(step)
            advance()
            if step == 120:
                assert len(capsys.readouterr().err.splitlines()) <= 10
    assert 18 <= len(capsys.readouterr().err.splitlines()) <= 20


@pytest.mark.parametrize(
    ("unit", "times"),
    [
        ("trial", ["60 s so far", "2 min so far", "20 min so far", "about 5 min left", "3 h so far"]),
        ("row", ["60 s so far", "2 min so far", "about 3 h left", "about 5 min left", "3 h so far"]),
    ],
)
def test_from_a_few_long_steps_of_many_nothing_is_guessed(monkeypatch, capsys, unit, times):
    clock = iter([0, 60, 120, 1200, 1260, 10000])
    monkeypatch.setattr("modae.utils.parallel.monotonic", lambda: next(clock))
    with Talk().stage("Trying", unit=unit) as advance:
        advance(1, 290)
        for steps in (1, 30, 200, 58):
            advance(steps)
    shares = ["0%, 1", "1%, 2", "11%, 32", "80%, 232", "100%, 290"]
    told = [f"Trying: {share} of 290 {unit}s, {time}" for share, time in zip(shares, times, strict=True)]
    assert capsys.readouterr().err.splitlines() == ["Trying ...", *told]


def test_a_search_on_a_terminal_shows_how_far_it_is(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr("modae.ensembles.tuning.PATIENCE", 0.0)
    rows, labels = np.random.default_rng(0).standard_normal((60, 4)), np.arange(60) % 2
    search = modae.ModularClassifierCV(estimator=None, diversities=[0.5], cv=2, scale=False).fit(
        rows, labels
    )
    assert "Searching ..." in sys.stderr.getvalue()
    monkeypatch.setattr("modae.ensembles.tuning.PATIENCE", 3600.0)
    sys.stderr = Terminal()
    search.fit(rows, labels)
    assert not sys.stderr.getvalue().strip()


def test_letters_that_a_terminal_lacks_are_escaped(desk, monkeypatch):
    (desk / "new.csv").write_text((desk / "good.csv").read_text().replace("aster", "\u00e9t\u00e9"))
    command = ["fit", "new.csv", "--target", "kind", "--no-check", "-o", "new.modae"]
    for more in ([], ["--json"]):
        file = io.BytesIO()
        monkeypatch.setattr(sys, "argv", ["modae", *command, *more])
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(file, "ascii"))
        with pytest.raises(SystemExit) as end:
            main()
        assert end.value.code == 0
    assert json.loads(file.getvalue())["classes"]["\u00e9t\u00e9"] == 20


def test_a_closed_stdout_and_ctrl_c_at_the_start_are_ends_like_others(monkeypatch, capsys):
    def interrupted(_):
        print("words for nobody")
        raise KeyboardInterrupt

    monkeypatch.setattr("modae.cli.console.run", interrupted)
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(SystemExit) as end:
        main()
    with sys.stdout, pytest.raises(UserError, match="standard output is closed"), open_output("-"):
        pass
    assert end.value.code == 130
    assert capsys.readouterr().err == "modae: Interrupted: nothing was written.\n"


def test_the_name_of_a_file_may_be_no_text(desk):
    shutil.copy("good.csv", b"caf\xe9.csv")
    with pytest.raises(ValueError, match="not UTF-8: rename it"):
        open_table(os.fsdecode(b"caf\xe9.csv"))


def test_the_shell_can_complete_commands():
    complete = environment(_MODAE_COMPLETE="complete_bash", COMP_WORDS="modae tr", COMP_CWORD="1")
    run = subprocess.run([sys.executable, "-c", COMMAND], capture_output=True, text=True, env=complete)
    assert run.stdout.split() == ["transform"]
    words = "modae fit t.csv --estimator l"
    complete |= {"COMP_WORDS": words, "COMP_CWORD": "4"}
    run = subprocess.run([sys.executable, "-c", COMMAND], capture_output=True, text=True, env=complete)
    assert run.stdout.split() == ["logistic"]


ON_SMALL_DISK = 'mount -t tmpfs -o size=8k tmpfs "$1" && shift && "$@"; echo $?; ls -A disk'


def test_a_full_disk_leaves_nothing_behind(desk):
    """On a disk of 8 kB of its own; where the system forbids that, there is nothing to see."""
    (desk / "disk").mkdir()
    user = [] if os.getuid() == 0 else ["-r"]
    fit = [sys.executable, "-c", COMMAND, "fit", "good.csv", "--drop", "kind", "-o", "disk/new.modae"]
    command = ["unshare", *user, "-m", "sh", "-c", ON_SMALL_DISK, "sh", "disk", *fit]
    if shutil.which("unshare") is None:
        return
    run = subprocess.run(command, capture_output=True, text=True, check=False, env=environment())
    if "mount" in run.stderr or "unshare" in run.stderr:
        return
    assert run.stdout.split() == ["3"]
    assert run.stderr.splitlines()[-1] == "modae: disk/new.modae: No space left on device."


FITTER = """
import os, sys
import skops.io
import modae.cli.fitting, modae.sources.arrow_files
from modae.cli.app import app
from modae.cli.console import run

for line in sys.stdin:
    child = os.fork()
    if child == 0:
        os._exit(run(app, line.split()))
    print(child, flush=True)
    print(os.waitpid(child, 0)[1], flush=True)
"""
"""For each line that it reads, a child that runs it as a command: a fork is there at once."""


class Fitter:
    """Children that fit, and can be killed."""

    def __init__(self):
        pipe = subprocess.PIPE
        command = [sys.executable, "-c", FITTER]
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment())

    def start(self, command):
        self.process.stdin.write(f"{command}\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def ended(self):
        return os.waitstatus_to_exitcode(int(self.process.stdout.readline()))


@pytest.fixture
def fitter(desk):
    fitter = Fitter()
    with fitter.process:
        yield fitter
        fitter.process.stdin.close()


@pytest.mark.parametrize("kills", [10, pytest.param(50, marks=pytest.mark.slow)])
def test_a_fit_that_is_killed_leaves_the_old_model_or_the_new_one(desk, fitter, kills):
    command = "fit good.csv --drop kind --modules {} -o {} -q"
    for modules, name in ((2, "old.modae"), (5, "new.modae")):
        fitter.start(command.format(modules, name))
        assert fitter.ended() == 0
    start = time.perf_counter()
    fitter.start(command.format(5, "model.modae"))
    fitter.ended()
    usual = time.perf_counter() - start  # only to aim at; nothing depends on it
    contents = [(desk / name).read_bytes() for name in ("old.modae", "new.modae")]
    assert (desk / "model.modae").read_bytes() == contents[1]
    moments, endings = random.Random(kills), []
    for _ in range(kills):
        shutil.copy("old.modae", "model.modae")
        child = fitter.start(command.format(5, "model.modae"))
        time.sleep(moments.uniform(0.0, 1.1 * usual))  # the random moment itself
        with suppress(ProcessLookupError):  # it was quicker
            os.kill(child, signal.SIGKILL)
        endings.append(fitter.ended())
        assert (desk / "model.modae").read_bytes() in contents
    assert set(endings) <= {0, -signal.SIGKILL}
    assert -signal.SIGKILL in endings
    litter = [path for path in desk.iterdir() if path.name.startswith(LITTER_PREFIX)]
    assert len(litter) <= kills
