"""The commands on the page docs/cli.md: they run, and print what the page says."""

import re
import shlex
import textwrap
from pathlib import Path

import pandas as pd
import pytest
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")


def blocks(kind, page=PAGE):
    return re.findall(rf"```{kind}\n(.*?)```", page, re.DOTALL)


def sessions(page=PAGE):
    """Each command of the console blocks, and what the page says that it prints."""
    for block in blocks("console", page):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, printed = part.partition("\n")
            yield command.removeprefix("modae "), printed


def without_sizes(printed):
    """The lines, without what other machines and libraries change: sizes of files, versions, times."""
    lines = [line for line in printed.splitlines() if not line.startswith("written by")]
    return [re.sub(r" +", " ", re.sub(r"\d+ [kM]B|\d+\.\d+ s", "", line)).strip() for line in lines]


@pytest.fixture
def quick_rivals():
    """None here: the page shows what people see."""


@pytest.fixture
def wine(tmp_path, monkeypatch):
    """The tables that the first program of the page writes."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    exec(compile(blocks("python")[0], "docs/cli.md", "exec"), {})


def test_the_three_commands_print_what_the_page_says_and_beat_plain_pca(wine, call):
    for command, printed in sessions():
        answer = call(*shlex.split(command))
        assert answer.code == 0, answer.err
        assert without_sizes(answer.out) == without_sizes(printed)
    train, new = pd.read_csv("wine.csv"), pd.read_csv("new.csv")
    right = (pd.read_csv("predictions.csv")["predicted_cultivar"] == new["cultivar"]).mean()
    for components in range(1, 14):
        plain = make_pipeline(StandardScaler(), PCA(components), KNeighborsClassifier(1))
        plain.fit(train.drop(columns="cultivar"), train["cultivar"])
        assert right >= plain.score(new.drop(columns="cultivar"), new["cultivar"])
    assert len(pd.read_parquet("features.parquet")) == len(new)


def test_the_readme_has_no_commands_that_the_page_has_not():
    known = {command for command, _ in sessions()}
    assert {command for command, _ in sessions((ROOT / "README.md").read_text("utf-8"))} <= known
    assert len(known) >= 3


def test_the_message_on_the_page_is_the_one_that_is_said(desk, call, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    (block,) = [part for part in blocks("console") if "cars.csv" in part]
    command, printed = textwrap.dedent(block).removeprefix("$ modae ").split("\n", 1)
    cars = ["price,miles,town,sold", '"$3,685.20",12,Ulm,yes', "$184.26,7,Bonn,no", "$99,?,Ulm,yes"]
    (desk / "cars.csv").write_text("\n".join(cars + cars[1:] * 4) + "\n")
    assert call(*shlex.split(command)).err == printed
