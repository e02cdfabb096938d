"""``modae reproduce`` as people meet it: what is printed where, exit codes, interruption, mistakes."""

import json
import os
import signal
import subprocess
import sys
from importlib import import_module
from io import StringIO

import pytest
from rich.console import Console

from modae.cli import console
from modae.cli.app import app
from modae.cli.demonstrations import run, show
from modae.reproduction.run import (
    DIFFERS,
    PARTS,
    REPRODUCED,
    UNCHECKED,
    Claim,
    Finding,
    Setting,
    Verdict,
    claims,
)

COMMAND = "import sys\nfrom modae.cli import main\nsys.argv[0] = 'modae'\nmain()"

LISTENING = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
"""A process that was started in the background may have been told to ignore interrupts."""

NO_NETWORK = """
import socket

def refuse(*_, **__):
    raise AssertionError("the network was used")

socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse
try:
    socket.create_connection(("127.0.0.1", 9))
except AssertionError:
    pass
else:
    raise SystemExit("the network is not blocked")
"""


def environment():
    clean = {name: value for name, value in os.environ.items() if "COLOR" not in name}
    return clean | {"COLUMNS": "80", "OMP_NUM_THREADS": "1", "PYTHONUTF8": "1"}


def modae(*arguments, before=""):
    return subprocess.run(
        [sys.executable, "-c", before + COMMAND, "reproduce", *map(str, arguments)],
        capture_output=True,
        text=True,
        env=environment(),
        timeout=300,
    )


# --- real runs, in processes of their own ------------------------------------------------------------


@pytest.mark.slow
def test_no_network_is_used(tmp_path):
    answer = modae("transfer", "--out", tmp_path, before=NO_NETWORK)
    assert answer.returncode == 0, answer.stderr
    assert {path.name for path in tmp_path.iterdir()} == {
        "measured",
        "results-transfer.json",
        "transfer.json",
    }


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run of one part, and its folder."""
    out = tmp_path_factory.mktemp("a-folder-with-quite-a-long-name-as-people-have-them") / "deep" / "out"
    return modae("theorems", "--out", out), out


@pytest.mark.slow
def test_every_claim_of_the_part_is_in_the_results_and_in_the_table(finished):
    answer, out = finished
    assert answer.returncode == 0, answer.stderr
    entries = json.loads((out / "results-theorems.json").read_text(encoding="utf-8"))["claims"]
    assert [entry["name"] for entry in entries] == [claim.name for claim in claims("theorems")]
    assert all(entry["verdict"] == entry["expected"] for entry in entries)
    last_words = [line.split()[-1:] for line in answer.stdout.splitlines()]
    shown = [words[0] for words in last_words if words in ([REPRODUCED], [DIFFERS])]
    assert shown == [entry["verdict"] for entry in entries]
    n_reproduced = shown.count(REPRODUCED)
    counted = f"reproduced: {n_reproduced}, differs: {len(shown) - n_reproduced}"
    assert f"Claims: {len(shown)}. {counted}, cannot be checked: 0." in answer.stdout


@pytest.mark.slow
def test_progress_goes_to_one_stream_and_tables_to_the_other(finished):
    answer, _ = finished
    said = answer.stderr.splitlines()
    assert [line.split(":")[0] for line in said] == ["Theorems"]
    assert said[0] not in answer.stdout
    assert "\x1b" not in answer.stdout + answer.stderr


@pytest.mark.slow
def test_the_tables_fit_eighty_columns_and_the_folder_can_be_copied(finished):
    answer, out = finished
    *table, last = answer.stdout.splitlines()
    assert last.endswith(f" s. Pictures and numbers are in {out}/")
    assert max(map(len, table)) <= 80


@pytest.mark.slow
def test_a_second_run_takes_all_from_the_folder_and_says_the_same(finished):
    answer, out = finished
    again = modae("theorems", "--out", out)
    assert again.stderr == ""
    assert again.returncode == 0
    tables = [each.stdout.rpartition("Claims: ")[0] for each in (again, answer)]
    assert tables[0] == tables[1] != ""


# --- interruption ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_an_interrupted_run_goes_on_without_repeating_what_was_done(tmp_path):
    arguments = ["reproduce", "figure1", "section51", "--out", str(tmp_path)]
    process = subprocess.Popen(
        [sys.executable, "-c", LISTENING + COMMAND, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    with process:
        assert process.stderr.readline().startswith("Figure 1")
        assert process.stderr.readline().startswith("Section 5.1")
        process.send_signal(signal.SIGINT)
        rest, printed = process.stderr.read(), process.stdout.read()
    assert process.returncode == 130
    assert printed == ""
    assert (
        rest.splitlines()[-1] == "modae: Interrupted. The same command goes on where this one stopped."
    )
    assert "Traceback" not in rest
    assert [path.name for path in (tmp_path / "measured").iterdir()] == ["part-figure1.json"]
    assert not (tmp_path / "results.json").exists()
    again = modae(*arguments[1:])
    assert again.returncode == 0
    assert [line.split(":")[0] for line in again.stderr.splitlines()] == ["Section 5.1"]


# --- in this process: parts that find what they are told ---------------------------------------------


class Parts:
    """Stand-ins for all parts."""

    def __init__(self, monkeypatch):
        self.ran, self.failing, self.error = [], set(), None
        for name in PARTS:
            module = import_module(f"modae.reproduction.{name}")
            monkeypatch.setattr(module, "run", lambda setting, name=name: self.run(name, setting))

    def run(self, name, setting):
        setting.tell(f"running {name} [bold]")
        self.ran.append(name)
        if self.error is not None:
            raise self.error
        for file in PARTS[name]:
            (setting.out / file).touch()
        return [
            Finding(
                claim.name,
                claim.expected(setting.full) == REPRODUCED and claim.name not in self.failing,
                "0.5",
            )
            for claim in claims(name)
        ]


@pytest.fixture
def parts(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    return Parts(monkeypatch)


@pytest.fixture
def command(tmp_path):
    """Call the command in a folder that is there."""

    def call(*names, out=tmp_path, source="embedded", full=False, fresh=False):
        flags = [f"--{flag}" for flag, given in (("full", full), ("fresh", fresh)) if given]
        options = ["--out", str(out), "--source", source, "--jobs", "1", *flags]
        return console.run(app, ["reproduce", *names, *options])

    return call


def test_everything_as_expected_is_no_failure(parts, command, capsys):
    assert command() == 0
    assert parts.ran == list(PARTS)
    assert "[bold]" in capsys.readouterr().err  # words, not markup


def test_a_claim_that_stops_holding_is_a_failure_and_is_named(parts, command, capsys):
    parts.failing.add("figure2-best-inside")
    assert command() == 1
    printed = capsys.readouterr().out
    assert "figure2-best-inside was reproduced before, and is not now." in printed
    assert printed.count("was reproduced before") == 1


def test_a_claim_that_holds_after_all_is_no_failure(parts, command, monkeypatch, capsys):
    finding = [Finding(claim.name, True, "0.5") for claim in claims("theorems")]
    monkeypatch.setattr("modae.reproduction.theorems.run", lambda setting: finding)
    assert command("theorems") == 0
    assert f"Claims: {len(finding)}. reproduced: {len(finding)}," in capsys.readouterr().out


def test_a_failure_stays_a_failure_when_it_is_remembered(parts, command):
    parts.failing.add("transfer-two-tasks")
    assert [command("transfer"), command("transfer")] == [1, 1]
    assert parts.ran == ["transfer"]


def test_fresh_measures_again(parts, command):
    for fresh in (False, False, True):
        command("transfer", fresh=fresh)
    assert parts.ran == ["transfer", "transfer"]


def test_on_a_terminal_progress_is_one_line_that_comes_and_goes(parts, tmp_path):
    screen = Console(file=StringIO(), force_terminal=True, width=80)
    verdicts = run(["figure1", "transfer"], Setting(tmp_path), False, None, screen)
    assert parts.ran == ["figure1", "transfer"]
    assert len(verdicts) == 2
    assert "\x1b[?25h" in screen.file.getvalue()  # the cursor is back


def test_two_parts_that_are_named_are_all_that_runs(parts, command):
    command("figure1", "transfer")
    assert parts.ran == ["figure1", "transfer"]


def test_after_an_interruption_of_a_fresh_run_nothing_false_is_said(parts, command, capsys):
    """The same command, with --fresh, would start again."""
    parts.error = KeyboardInterrupt()
    assert command("figure1", fresh=True) == 130
    assert "The same command goes on" not in " ".join(capsys.readouterr().err.split())


@pytest.mark.slow
def test_a_reader_that_goes_away_is_no_traceback(tmp_path):
    """As in ``modae reproduce | head``."""
    arguments = ["reproduce", "figure1", "--out", str(tmp_path)]
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
    assert "Traceback" not in said
    assert (tmp_path / "results-figure1.json").is_file()


# --- mistakes ----------------------------------------------------------------------------------------


def message(capsys):
    """What is on stderr, without line breaks; nothing is on stdout."""
    out, err = capsys.readouterr()
    assert out == ""
    return " ".join(err.split())


def test_an_unknown_part_is_answered_with_the_parts(parts, command, tmp_path, capsys):
    assert command("theorems", "[nonsense]", out=tmp_path / "new") == 2
    assert message(capsys) == f"modae: There is no part '[nonsense]'. Parts are: {', '.join(PARTS)}."
    assert not (tmp_path / "new").exists()
    assert parts.ran == []


@pytest.mark.parametrize("below", ["", "below"])
def test_a_file_in_the_place_of_the_folder(parts, command, tmp_path, capsys, below):
    (tmp_path / "file").write_text("theirs")
    assert command(out=tmp_path / "file" / below) == 3
    assert str(tmp_path / "file" / below) in message(capsys)
    assert parts.ran == []
    assert (tmp_path / "file").read_text() == "theirs"


def test_a_folder_in_which_nothing_can_be_written_is_noticed_before_anything_is_measured(
    parts, command, tmp_path, capsys
):
    (tmp_path / "measured").write_text("a file in the place of a folder")
    assert command() == 3
    assert parts.ran == []
    assert str(tmp_path) in message(capsys)


def test_a_wrong_source_is_refused_before_anything_is_measured(parts, command, capsys):
    assert command(source="nonsense") == 2
    assert parts.ran == []
    line = message(capsys)
    assert "--source nonsense" in line


def test_the_full_scale_runs_without_a_download(parts, command):
    """With the 5,000 embedded digits instead of 12,000."""
    assert command(full=True) == 0
    assert parts.ran == list(PARTS)


def test_a_source_that_is_none_is_one_message(tmp_path):
    answer = modae("transfer", "--source", "nonsense", "--out", tmp_path)
    assert answer.returncode == 2
    said = " ".join(answer.stderr.split())
    assert "source must be 'embedded', 'openml' or" in said
    assert "'nonsense'" in said
    assert "Traceback" not in answer.stderr


@pytest.mark.parametrize(
    ("error", "code"), [(PermissionError, 3), (ImportError, 3), (ConnectionError, 3)]
)
def test_an_error_of_a_part_is_told_in_its_own_words_and_wrapped(parts, command, capsys, error, code):
    words = "This could not be done, and [the sentence] that says so is longer than eighty columns are."
    parts.error = error(words)
    assert command("figure1") == code
    out, err = capsys.readouterr()
    assert out == ""
    said, *lines = err.splitlines()
    assert said == "running figure1 [bold]"
    assert " ".join(map(str.strip, lines)).startswith(f"modae: {words.rstrip('.')}")
    assert max(map(len, lines)) <= 80


def test_a_bug_in_a_part_is_not_taken_for_a_mistake_of_the_user(parts, command, capsys):
    parts.error = ValueError("broken")
    assert command("figure1") == 1
    assert "this is a bug in modae: ValueError: broken" in " ".join(capsys.readouterr().err.split())


# --- the table ---------------------------------------------------------------------------------------


def test_brackets_in_a_claim_are_words_and_nothing_is_lost(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    claim = Claim("it", "figure2", "[1]", "A = [A_1 .. A_M]", "[red]", REPRODUCED, "[/] note")
    kinds = (REPRODUCED, DIFFERS, UNCHECKED)
    show([Verdict(claim, "[dim]0.5", kind, kind) for kind in kinds], [], tmp_path, Console())
    printed = capsys.readouterr().out
    for words in ("[1]", "A = [A_1 .. A_M]", "[red]", "[dim]0.5", "[/] note", *kinds):
        assert words in printed


@pytest.mark.parametrize(
    ("names", "shown"), [([], "both"), (["table1"], "one"), (["figure2"], "two"), (["theorems"], "")]
)
def test_tables_of_parts_are_shown_if_they_belong_to_this_run(tmp_path, capsys, names, shown):
    (tmp_path / "table1.txt").write_text("table one\n")
    (tmp_path / "figure2.txt").write_text("table two\n")
    show([], names, tmp_path, Console())
    printed = capsys.readouterr().out
    assert ("table one" in printed) is (shown in ("one", "both"))
    assert ("table two" in printed) is (shown in ("two", "both"))
