"""``modae report``: tables of every kind, what is said, and that the page is whole or absent."""

import json
import re

import numpy as np
import pytest

from cli.calling import flowers
from modae import LinearModularAutoencoder, save


def facts_of(path):
    text = path.read_text(encoding="utf-8")
    return json.loads(re.search(r'<script[^>]*id="facts"[^>]*>(.*?)</script>', text, re.DOTALL)[1])


def names_of(facts):
    return [section["id"] for section in facts["studies"][0]["sections"]]


def test_a_classifier_finds_its_target_in_the_table(desk, call):
    answer = call("report", "vote.modae", "good.csv", "-o", "page.html")
    assert answer.code == 0, answer.err
    facts = facts_of(desk / "page.html")
    assert facts["title"] == "vote.modae on good.csv"
    assert "errors" in names_of(facts)
    said = " ".join(answer.out.split())
    assert (
        "The model itself is wrong on 0.0% of these rows, which says little: it was fitted to them."
        in said
    )
    assert "page.html" in answer.out
    assert max(map(len, answer.out.splitlines())) <= 80


def test_the_page_knows_columns_and_classes_by_name(desk, call):
    assert call("report", "vote.modae", "good.csv", "-o", "page.html").code == 0
    sections = {each["id"]: each for each in facts_of(desk / "page.html")["studies"][0]["sections"]}
    assert set(sections["columns"]["charts"][0]["rows"]) == set(flowers().columns) - {"kind"}
    assert sections["predictions"]["charts"][0]["rows"] == ["aster", "bellis", "crocus"]


def test_a_table_without_the_target_gives_a_page_without_errors(desk, call):
    flowers().drop(columns="kind").to_csv("new.csv", index=False)
    assert call("report", "vote.modae", "new.csv", "-o", "page.html").code == 0
    assert "errors" not in names_of(facts_of(desk / "page.html"))
    flowers().rename(columns={"kind": "species"}).to_csv("new.csv", index=False)
    said = " ".join(call("report", "vote.modae", "new.csv", "-o", "page.html").out.split())
    assert "new.csv has no column 'kind', so nothing is said of errors" in said
    answer = call("report", "vote.modae", "new.csv", "-o", "page.html", "--target", "species")
    assert answer.code == 0, answer.err
    assert "errors" in names_of(facts_of(desk / "page.html"))
    assert "Fitting again to parts of the rows, at every diversity ..." in answer.err


def test_one_learner_has_no_diversities(desk, call):
    tune = ("tune", "good.csv", "--target", "kind", "-o", "new.modae", "--time-budget", "1e-9")
    assert call(*tune).code == 0  # the first candidate is on all columns
    answer = call("report", "new.modae", "good.csv", "-o", "page.html")
    assert answer.code == 0, answer.err
    assert "Fitting again to parts of the rows ..." in answer.err
    assert "diversity" not in answer.err


def test_modules_alone_take_a_target_for_the_densities(desk, call):
    answer = call("report", "features.modae", "good.csv", "--target", "kind", "-o", "page.html")
    assert answer.code == 0, answer.err
    assert "densities" in names_of(facts_of(desk / "page.html"))
    assert call("report", "features.modae", "good.csv", "-o", "page.html").code == 0
    assert "densities" not in names_of(facts_of(desk / "page.html"))


def test_arrays_have_their_target_at_an_index_or_a_key(desk, call):
    rows = np.load("rows.npy")
    labels = np.arange(len(rows)) % 3
    save(LinearModularAutoencoder(3, 2, random_state=0).fit(rows), "array.modae")
    np.save("both.npy", np.column_stack([labels, rows]))
    np.savez("both.npz", rows=rows, labels=labels)
    for data, target in (("both.npy", "0"), ("both.npz", "labels")):
        answer = call("report", "array.modae", data, "--target", target, "-o", "page.html")
        assert answer.code == 0, answer.err
        assert "densities" in names_of(facts_of(desk / "page.html"))
    assert call("report", "array.modae", "rows.npy", "-o", "page.html").code == 0


def test_machines_get_one_object(desk, call):
    answer = call("report", "vote.modae", "good.csv", "-o", "page.html", "--json")
    told = json.loads(answer.out)
    assert told["output"] == "page.html"
    error, strongest, rows = told["numbers"]
    assert error["label"] == "cross-validated error"
    assert strongest["label"] == "error of the strongest other method"
    assert rows == {"value": "60", "label": "rows", "text": ""}


def test_the_terminal_says_whole_sentences(desk, call):
    answer = call("report", "vote.modae", "good.csv", "-o", "page.html")
    said = " ".join(answer.out.split())
    assert "The error of the strongest other method is " in said
    assert "One member alone has " in said
    assert "rows: 60" not in said.lower()


def test_title_rows_and_seed_are_taken(desk, call):
    options = ("--title", "My <flowers>", "--rows", "30", "--seed", "3")
    assert call("report", "vote.modae", "good.csv", "-o", "page.html", *options).code == 0
    facts = facts_of(desk / "page.html")
    assert facts["title"] == "My <flowers>"
    assert "30 of them" in " ".join(facts["summary"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("report nowhere.modae good.csv", ("nowhere.modae", "no such file")),
        ("report vote.modae nowhere.csv", ("nowhere.csv", "no such file")),
        ("report vote.modae good.csv -o page.pdf", ("page.pdf", ".html")),
        ("report vote.modae good.csv -o none/page.html", ("no folder", "'none'")),
        ("report vote.modae good.csv --image 3x", ("--image 3x", "28x28")),
        ("report vote.modae good.csv --image 3x5", ("--image 3x5", "6 columns")),
        ("report vote.modae good.csv --image ²x3", ("--image ²x3", "28x28")),
        ("report vote.modae good.csv --jobs 0", ("--jobs 0", "-1")),
        ("report vote.modae good.csv --seed -1", ("--seed -1", "between 0 and")),
        ("report vote.modae good.csv --rows 3", ("--rows 3", "ten")),
        ("report vote.modae good.csv --target nothing", ("--target nothing", "no such column")),
        (
            "report vote.modae good.csv --target wide",
            ("vote.modae predicts 'kind', which good.csv has: leave --target out.",),
        ),
        ("report vote.modae few.npy", ("few.npy", "4 columns", "6")),
        ("report cut.modae good.csv", ("cut.modae",)),
    ],
)
def test_mistakes_are_one_message_and_leave_nothing(desk, call, arguments, words):
    before = sorted(desk.rglob("*"))
    answer = call(*arguments.split())
    assert answer.code in (2, 3)
    first, *others = answer.error_lines
    assert first.startswith("modae: ")
    assert all(line.startswith("  ") for line in others)
    assert all(word in answer.said for word in words), answer.said
    assert sorted(desk.rglob("*")) == before


def test_a_missing_number_has_a_remedy_that_exists(desk, call):
    table = flowers()
    table.loc[3, "wide"] = None
    table.to_csv("holes.csv", index=False)
    answer = call("report", "vote.modae", "holes.csv", "-o", "page.html")
    assert answer.code == 2
    assert "fit the model again with --impute" in answer.said


def test_rows_without_a_target_are_left_out_and_that_is_said(desk, call):
    table = flowers()
    table.loc[3, "kind"] = None
    table.to_csv("holes.csv", index=False)
    answer = call("report", "vote.modae", "holes.csv", "-o", "page.html")
    assert answer.code == 0, answer.err
    assert "1 row without a target" in answer.out
    assert "59 rows" in " ".join(facts_of(desk / "page.html")["summary"])


def test_classes_that_the_model_does_not_know_are_refused(desk, call):
    flowers().replace({"aster": "dahlia"}).to_csv("other.csv", index=False)
    answer = call("report", "vote.modae", "other.csv", "-o", "page.html")
    assert answer.code == 2
    assert "'dahlia', which the model does not know" in answer.said
