"""The quick tour: what it prints is right, fits a terminal, and its pictures are where it says."""

import json
import re
import subprocess
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from modae.cli import demonstrations
from modae.cli.app import app
from modae.cli.console import run
from modae.datasets import load_benchmark

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def printed(folder):
    """All that it prints when it is run as people run it, in a folder of their own."""
    figures = plt.get_fignums()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(StringIO()) as said:
        patch.chdir(folder)
        assert run(app, ["demo"]) == 0
    assert plt.get_fignums() == figures, "it left figures open"
    return said.getvalue()


@pytest.fixture(scope="module")
def path_rows(printed):
    """Diversity, error of the vote, error of one member, in percent, and whether it was chosen."""
    found = re.findall(r"^ +(\d\.\d+) +([\d.]+)% +([\d.]+)%(.*)$", printed, re.MULTILINE)
    return [(*map(float, numbers), "chosen" in rest) for *numbers, rest in found]


@pytest.fixture(scope="module")
def errors(printed):
    found = re.findall(r"^ {13}(\S.*?) {2,}([\d.]+)% ±", printed, re.MULTILINE)
    return {name: float(percent) for name, percent in found}


def test_the_demo_fits_eighty_columns(printed):
    assert max(map(len, printed.splitlines())) <= 80


def test_the_table_has_a_row_for_each_diversity_and_marks_the_best(path_rows):
    assert [row[0] for row in path_rows] == [k / 10 for k in range(11)]
    (chosen,) = [row for row in path_rows if row[3]]
    assert chosen[1] == min(row[1] for row in path_rows)
    assert 0.0 < chosen[0] < 1.0


def test_members_get_worse_while_their_vote_gets_better(path_rows):
    (chosen,) = [row for row in path_rows if row[3]]
    at_zero, at_one = path_rows[0], path_rows[-1]
    assert at_zero[1] == at_zero[2]
    assert chosen[2] > at_zero[2]
    assert chosen[1] < at_zero[1]
    assert at_one[1] > chosen[1]


def test_the_tuned_ensemble_beats_one_pca_of_any_size_and_bagging(errors):
    assert {"random forest", "extra trees", "SVM", "logistic regression"} <= set(errors)
    tuned = errors["this model"]
    assert tuned < min(errors[f"member on PCA({size})"] for size in demonstrations.PCA_SIZES)
    assert tuned < errors["Bagging Autoencoders"]


def test_it_begins_with_a_verdict_beside_the_strongest_of_all(printed, errors):
    verdict = " ".join(printed.split()).partition(" read ")[0]
    assert verdict.startswith("verdict ")
    tuned = errors["this model"]
    strongest = min(errors.keys() - {"this model"}, key=errors.get)
    assert f"error {tuned}%, {strongest} {errors[strongest]}%" in verdict
    if "Not the best choice" in verdict:
        assert f"rivals(X, y, classify=True)[{strongest!r}]" in printed


def test_the_page_has_the_numbers_of_the_terminal(printed, path_rows, folder):
    text = (folder / "modae-demo" / "report.html").read_text(encoding="utf-8")
    facts = json.loads(re.search(r'<script[^>]*id="facts"[^>]*>(.*?)</script>', text, re.DOTALL)[1])
    told = [tuple(map(float, re.findall(r"([\d.]+)%", line))) for line in facts["live"]]
    assert told == [row[1:3] for row in path_rows]


def test_the_error_of_one_pca_is_that_of_scikit_learn(errors):
    n_rows = demonstrations.N_TRAIN + demonstrations.N_TEST
    X, y = load_benchmark("basic", n_rows, random_state=0, return_X_y=True)
    train, test, y_train, y_test = train_test_split(
        X, y, train_size=demonstrations.N_TRAIN, random_state=0, stratify=y
    )
    pca = PCA(15, svd_solver="full").fit(train)
    single = KNeighborsClassifier(1).fit(pca.transform(train), y_train)
    error = 100 * (1.0 - single.score(pca.transform(test), y_test))
    assert errors["member on PCA(15)"] == pytest.approx(error, abs=0.11)


def test_the_certificate_is_printed_with_equal_loss_and_bound(printed):
    loss, bound = re.search(r"loss ([\d.]+), no modules reach less than ([\d.]+)", printed).groups()
    assert loss == bound
    assert "the optimum" in printed


def test_the_pictures_are_where_it_says_and_nothing_else_is_written(printed, folder):
    named = [Path(name) for name in re.findall(r"modae-demo/\S+", printed)]
    assert [path.suffix for path in named] == [".png"] * 3 + [".html"]
    for path in named[:3]:
        assert (folder / path).read_bytes().startswith(b"\x89PNG")
    assert (folder / named[3]).read_text(encoding="utf-8").startswith("<!doctype html>")
    written = {path.relative_to(folder) for path in folder.rglob("*") if path.is_file()}
    assert written == set(named)


def test_a_folder_that_cannot_be_made_is_noticed_before_the_work(tmp_path, monkeypatch, capsys):
    def work(*_, **__):
        raise AssertionError("worked for nothing")

    monkeypatch.setattr(demonstrations, "ModularClassifierCV", work)
    (tmp_path / "file").write_text("theirs")
    assert run(app, ["demo", "--out", str(tmp_path / "file")]) == 3
    assert str(tmp_path / "file") in capsys.readouterr().err


def test_the_command_says_so_in_a_sentence(tmp_path):
    (tmp_path / "file").write_text("theirs")
    command = [sys.executable, "-c", "from modae.cli import main; main()", "demo", "--out", "file"]
    answer = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert answer.returncode == 3
    assert "Traceback" not in answer.stderr
    assert "file" in answer.stderr
