"""Tables and models for the command line."""

import shutil

import numpy as np
import pytest

from cli.calling import caller, flowers
from modae.cli.app import app
from modae.cli.console import run
from modae.metrics import rivals


@pytest.fixture
def call(capsys):
    return caller(capsys)


@pytest.fixture(autouse=True)
def quick_rivals(monkeypatch):
    """The methods that a model is compared with, with few trees: else they take seconds in each fold."""

    def quick(*arguments, **options):
        models = rivals(*arguments, **options)
        for name, few in {
            "random forest": {"n_estimators": 10},
            "extra trees": {"n_estimators": 10},
            "gradient boosting": {"max_iter": 5},
        }.items():
            if name in models:
                models[name].set_params(**few)
        return models

    monkeypatch.setattr("modae.cli.fitting.rivals", quick)
    monkeypatch.setattr("modae.report.errors.rivals", quick)


@pytest.fixture(scope="session")
def shelf(tmp_path_factory):
    """A folder with a table and models, made once and copied for each test."""
    folder = tmp_path_factory.mktemp("shelf")
    table = flowers()
    table.to_csv(folder / "good.csv", index=False)
    rows = table.drop(columns="kind").to_numpy()
    np.save(folder / "rows.npy", rows)
    np.save(folder / "few.npy", rows[:, :4])
    good = str(folder / "good.csv")
    quiet = ["--quiet", "--no-check"]
    assert run(app, ["fit", good, "--drop", "kind", "-o", str(folder / "features.modae"), *quiet]) == 0
    assert run(app, ["fit", good, "--target", "kind", "-o", str(folder / "vote.modae"), *quiet]) == 0
    content = (folder / "vote.modae").read_bytes()
    (folder / "cut.modae").write_bytes(content[: len(content) // 2])
    middle = len(content) // 2
    (folder / "flipped.modae").write_bytes(
        content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
    )
    (folder / "folder").mkdir()
    (folder / "folder.modae").mkdir()
    return folder


@pytest.fixture
def desk(shelf, tmp_path, monkeypatch):
    """A copy of that folder, and the working directory."""
    folder = tmp_path / "desk"
    shutil.copytree(shelf, folder)
    monkeypatch.chdir(folder)
    return folder
