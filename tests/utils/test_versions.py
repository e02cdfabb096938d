"""The report of versions is complete, aligned, and loads nothing heavy."""

import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

import modae
from modae.utils import extras as versions

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"


def printed(capsys):
    modae.show_versions()
    lines = capsys.readouterr().out.splitlines()
    return {line.split()[0]: line.split(maxsplit=1)[1] for line in lines}, lines


def test_versions_are_those_installed(capsys):
    shown, lines = printed(capsys)
    assert shown["modae"] == modae.__version__
    assert shown["Python"] == sys.version.split()[0]
    for name in ("numpy", "scipy", "scikit-learn"):
        assert shown[name] == version(name)
    starts = {len(line) - len(line[len(line.split()[0]) :].lstrip()) for line in lines}
    assert len(starts) == 1, "values start in one column"


def test_every_dependency_and_extra_of_the_project_is_named(capsys):
    project = tomllib.loads(PYPROJECT.read_text())["project"]
    extras = project["optional-dependencies"]
    wanted = project["dependencies"] + [each for names in extras.values() for each in names]
    names = {each.partition(">")[0].partition("[")[0] for each in wanted} - {"modae"}
    assert names <= set(printed(capsys)[0])


def test_what_is_missing_comes_with_its_command(capsys, monkeypatch):
    def missing(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(versions, "version", missing)
    shown, _ = printed(capsys)
    assert shown["dask"] == 'not installed (pip install "modae[dask]")'
    assert shown["pyarrow"] == 'not installed (pip install "modae[arrow]")'  # not [cli], which is larger
    assert shown["numpy"] == 'not installed (pip install "numpy")'


def test_it_works_without_an_installed_package(capsys, monkeypatch):
    def missing(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(versions, "requires", missing)
    shown, _ = printed(capsys)
    assert set(shown) == {"modae", "Python", "platform", "CPUs", "BLAS"}


def test_without_a_known_blas_it_says_so(monkeypatch):
    monkeypatch.setattr("threadpoolctl.threadpool_info", list)
    assert versions.blas() == "not known"


@pytest.mark.parametrize(
    ("requirement", "name", "command"),
    [
        ("numpy>=1.26", "numpy", "numpy"),
        ("dask[array,dataframe]>=2025.1; extra == 'dask'", "dask", "modae[dask]"),
        ('scikit-image>=0.25 ; extra == "datasets"', "scikit-image", "modae[datasets]"),
        ("pyarrow>=18; python_version < '4' and extra == 'arrow'", "pyarrow", "modae[arrow]"),
    ],
)
def test_requirements_are_read_in_every_spelling(requirement, name, command, monkeypatch):
    def missing(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(versions, "requires", lambda name: [requirement, "ruff>=1; extra == 'demo'"])
    monkeypatch.setattr(versions, "version", missing)
    assert versions.packages() == {name: f'not installed (pip install "{command}")'}


def test_it_loads_nothing_heavy():
    code = "import sys, modae; modae.show_versions(); print(*sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in result.stdout.splitlines()[-1].split()}
    assert not {"torch", "dask", "matplotlib", "sklearn", "pandas"} & loaded
