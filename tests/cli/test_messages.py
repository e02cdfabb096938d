"""How an error looks on a terminal: wrapped at blanks, one thing on a line, the command whole."""

import json
import shlex

import pytest

from cli.calling import flowers

FIT = ("fit", "t.csv", "--target", "kind", "--no-check", "-o", "new.modae")
COMMENT = "I liked it, though 'the rest' (of it) was what one would have expected of them, {place}"


@pytest.fixture
def odd(desk):
    """Columns of strings, of prices, and one with long comments."""
    comments = [COMMENT.format(place=place) for place in range(60)]
    table = flowers(60).assign(price=["$3,685.20", "$184.26"] * 30, town=["Ulm", "Bonn"] * 30)
    table.assign(comment=comments).to_csv("t.csv", index=False)


@pytest.mark.parametrize("width", [60, 80, 200])
def test_lines_fit_the_terminal_and_the_command_is_whole(odd, call, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    *lines, above, command = call(*FIT).error_lines
    assert lines[0] == "modae: t.csv: 3 columns are no numbers:"
    assert max(map(len, lines)) <= width
    assert [line.split()[0] for line in lines if line.startswith("  '")] == [
        "'price'",
        "'town'",
        "'comment'",
    ]
    assert above == "  Type:"
    assert command.startswith("  modae fit t.csv --target kind")
    answer = call(*shlex.split(command)[1:])
    assert answer.code == 0, answer.err


def test_without_a_known_width_it_is_eighty(odd, call, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    *lines, _, _ = call(*FIT).error_lines
    assert 60 < max(map(len, lines)) <= 80


def test_for_machines_a_message_is_one_line_as_it_was(odd, call):
    answer = call(*FIT, "--json")
    (line,) = answer.error_lines
    text = json.loads(answer.out)["error"]
    assert line == f"modae: {text}"
    assert text.startswith("t.csv: 3 columns are no numbers: 'price' (strings, such as '$3,685.20' in")
    assert " Type: modae fit t.csv" in text


def test_what_is_to_be_installed_stays_in_one_line(desk, call, monkeypatch):
    monkeypatch.setenv("COLUMNS", "48")

    def missing(*_, **__):
        raise ImportError('The table needs a package that is not there: pip install "modae[cli]"')

    monkeypatch.setattr("modae.cli.training_data.TrainingData", missing)
    lines = call("fit", "good.csv", "--drop", "kind", "-o", "new.modae").error_lines
    assert any('pip install "modae[cli]"' in line for line in lines)
    assert len(lines) > 1


def test_a_long_cell_is_shortened_in_the_middle_and_closed(odd, call):
    said = call(*FIT).said
    shown = said.partition("'comment' (strings, such as ")[2].partition(" in row")[0]
    cell = COMMENT.format(place=0)
    assert "…" in shown
    begin, end = eval(shown).split("…")
    assert cell.startswith(begin)
    assert cell.endswith(end)
    assert said.count("(") == said.count(")")


def test_a_long_slip_far_down_is_shortened_and_closed(desk, call, monkeypatch):
    monkeypatch.setattr("modae.sources.arrow_files.BLOCK_BYTES", 4096)
    table = flowers(600).astype({"wide": object})
    table.loc[590, "wide"] = slip = "x" * 30 + " and " + "y" * 40
    table.to_csv("t.csv", index=False)
    said = call(*FIT).said
    shown = said.partition("line 592 has ")[2].partition(" in column")[0]
    assert eval(shown) != slip
    assert len(shown) < 70
