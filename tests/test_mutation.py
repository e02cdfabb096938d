"""The program that makes mistakes on purpose makes them, and its list of harmless ones is up to date."""

import ast
from collections import Counter

import pytest
from benchmarks.mutation import (
    KEPT,
    PACKAGE,
    ROOT,
    TARGETS,
    changed,
    mutants_of,
    mutated,
    places,
    report,
    run_tests,
    sample_of,
    stages_of,
)

EXPRESSIONS = {
    "a + b": "a - b",
    "a < b <= c": "a <= b <= c",
    "a and b": "a or b",
    "not a": "a",
    "a if b else c": "a if not b else c",
    "True": "False",
    "2.5": "3.5",
}


@pytest.mark.parametrize(("before", "after"), EXPRESSIONS.items())
def test_expressions_become_others(before, after):
    assert ast.unparse(changed(ast.parse(before, mode="eval").body)) == after


@pytest.mark.parametrize("statement", ["a.append(b)", "a += 1", "raise ValueError"])
def test_statements_go(statement):
    assert isinstance(changed(ast.parse(statement).body[0]), ast.Pass)


@pytest.mark.parametrize("part", TARGETS)
def test_a_mutant_is_a_program_that_differs_from_the_file(part):
    assert len(mutants_of(part)) >= 50
    for mutant in sample_of(part, 5):
        tree = ast.parse((PACKAGE / mutant.file).read_text(encoding="utf-8"))
        assert ast.dump(ast.parse(mutated(mutant))) != ast.dump(tree)


def test_what_only_words_types_or_assertions_are_made_of_is_left_alone():
    left = "assert a > 1\nraise ValueError('a' + b)\nfor x in zip(a, strict=True): x: int = f'{1}'"
    assert [type(node) for *_, node, _ in places(ast.parse(left))] == [ast.Raise]


def test_the_sample_stays_when_the_file_gets_other_lines(monkeypatch):
    drawn = sample_of("votes", 9)
    every = mutants_of("votes")
    monkeypatch.setattr("benchmarks.mutation.mutants_of", lambda part: every[:7] + every[8:])
    again = sample_of("votes", 9)
    assert len(set(map(str, again))) == 9
    assert len(set(drawn) & set(again)) >= 8
    assert sample_of("votes", 9, seed=1) != again


def test_every_mutant_that_is_kept_can_still_be_made_and_has_a_reason():
    possible = {str(mutant) for part in TARGETS for mutant in mutants_of(part)}
    assert set(KEPT[::2]) <= possible
    assert all(reason.startswith("    ") and reason.endswith(".") for reason in KEPT[1::2])
    assert len(KEPT) % 2 == 0


@pytest.mark.parametrize("part", TARGETS)
def test_the_tests_of_a_part_are_there_and_those_of_the_same_name_come_first(part):
    for stage in stages_of(part):
        assert stage
        assert all((ROOT / file).is_file() for file in stage)
    assert stages_of("core", "cuts")[0] == [str(ROOT / "tests/core/test_cuts.py")]


def test_figures_are_told_for_each_part_and_for_all(capsys):
    ends = {"votes": Counter(killed=8, kept=2), "files": Counter(killed=1, SURVIVED=1)}
    assert report(ends) == 0.9
    rows = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines()]
    assert rows[0] == ["Part", "places", "sampled", "killed", "survived", "change nothing"]
    assert [row[0] for row in rows[2:]] == ["votes", "files", "all"]
    assert [row[2:] for row in rows[2:]] == [
        ["10", "8", "0", "2"], ["2", "1", "1", "0"], ["12", "9", "1", "2"],
    ]  # fmt: skip
    assert rows[2][1] == f"{len(mutants_of('votes')):,}"


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_ends_even_if_pytest_raises(monkeypatch, tmp_path):
    def raises(*args):
        raise pytest.PytestUnraisableExceptionWarning

    monkeypatch.setattr(pytest, "main", raises)
    assert run_tests(tmp_path / "modae", [], 60) == 1
