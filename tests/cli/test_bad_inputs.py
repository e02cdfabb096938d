"""Every mistake: a message that names the cause and the remedy, the right exit code, nothing written."""

import io
import json
import sys
from types import SimpleNamespace

import pytest

from cli.bad_inputs import BAD_INPUTS


def snapshot(folder):
    return {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}


@pytest.fixture(params=BAD_INPUTS, ids=lambda bad: bad.name.replace(" ", "-"))
def bad(request, desk, monkeypatch):
    for name, content in request.param.files.items():
        (desk / name).write_bytes(content)
    if request.param.stdin is not None:
        buffer = io.BytesIO(request.param.stdin)
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=buffer, isatty=lambda: False))
    monkeypatch.setattr("modae.sources.arrow_files.BLOCK_BYTES", 8 * 2**20)
    if request.param.name == "a slip far down":
        monkeypatch.setattr("modae.sources.arrow_files.BLOCK_BYTES", 4096)
    return request.param


def test_a_mistake_is_a_message_with_its_cause_and_leaves_nothing_behind(bad, desk, call):
    before = snapshot(desk)
    answer = call(*bad.command.split())
    first, *others = answer.error_lines
    assert answer.code == bad.code, answer.err
    assert first.startswith("modae: ")
    assert all(line.startswith("  ") for line in others)
    assert "Traceback" not in answer.err
    assert all(words in answer.said for words in bad.says), answer.said
    assert answer.out == "" or "--json" in bad.command
    assert snapshot(desk) == before


def test_there_are_more_than_forty_and_no_two_are_the_same():
    assert len({bad.name for bad in BAD_INPUTS}) == len(BAD_INPUTS) > 40
    assert len({(bad.command, str(bad.files)) for bad in BAD_INPUTS}) == len(BAD_INPUTS)


def test_for_machines_a_mistake_is_an_object_too(desk, call):
    answer = call("fit", "nowhere.csv", "-o", "new.modae", "--json")
    assert json.loads(answer.out) == {"error": "nowhere.csv: there is no such file.", "exit_code": 2}
    assert answer.code == 2


def test_a_bug_is_called_a_bug_and_a_traceback_is_there_for_the_asking(desk, call, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("the wheel came off")

    monkeypatch.setattr("modae.cli.training_data.TrainingData", broken)
    command = ("fit", "good.csv", "--drop", "kind", "-o", "new.modae")
    answer = call(*command)
    assert answer.code == 1
    assert answer.said.startswith("modae: this is a bug in modae: RuntimeError: the wheel came off")
    assert "--debug" in answer.said
    assert "Traceback" not in answer.err
    assert "Traceback" in call(*command, "--debug").err
    assert "Traceback" not in call(*command).err


def test_ctrl_c_is_130_and_nothing_is_written(desk, call, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("modae.cli.training_data.TrainingData", interrupted)
    answer = call("fit", "good.csv", "--drop", "kind", "-o", "new.modae")
    assert answer.code == 130
    assert answer.said == "modae: Interrupted: nothing was written."
    assert not (desk / "new.modae").exists()


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (MemoryError("the sums need 80 GB: use solver='spectral'."), "the sums need 80 GB: use solver="),
        (MemoryError(), "There is too little memory: close other programs"),
    ],
)
def test_too_little_memory_has_the_remedy_of_the_library(desk, call, monkeypatch, error, says):
    def too_large(*_, **__):
        raise error

    monkeypatch.setattr("modae.cli.training_data.TrainingData", too_large)
    answer = call("fit", "good.csv", "--drop", "kind", "-o", "new.modae")
    assert answer.code == 3
    assert answer.said.startswith(f"modae: {says}")
