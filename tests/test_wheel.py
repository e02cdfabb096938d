"""The wheel alone, in an empty environment without any extra: what is in it, and that it works."""

import os
import subprocess
import sys
import venv
from pathlib import Path
from zipfile import ZipFile

import pytest

from test_readme import PROGRAM, ROOT, read

pytestmark = pytest.mark.slow
PACKAGE = ROOT / "src" / "modae"


def run(*command, folder=None):
    """What a command prints. Nothing of this clone is on its path."""
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    clean["OMP_NUM_THREADS"] = "1"
    result = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=clean, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", str(folder), str(ROOT))
    (path,) = folder.glob("modae-*.whl")
    return path


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory):
    """The interpreter of a new environment, in which only the wheel and what it needs are installed."""
    folder = tmp_path_factory.mktemp("empty")
    venv.create(folder, with_pip=True)
    interpreter = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    run(interpreter, "-m", "pip", "install", "--no-compile", wheel)
    return interpreter


def test_every_file_of_the_package_is_in_it_and_no_other(wheel):
    files = {Path("modae") / each.relative_to(PACKAGE) for each in PACKAGE.rglob("*") if each.is_file()}
    wanted = {each.as_posix() for each in files if each.suffix != ".pyc"}
    with ZipFile(wheel) as archive:
        names = set(archive.namelist())
    about = {name for name in names if name.partition("/")[0].endswith(".dist-info")}
    assert names - about == wanted
    assert {"py.typed", "__init__.pyi"} <= {Path(name).name for name in wanted}
    assert any(name.endswith("licenses/LICENSE") for name in about)
    assert not [name for name in names if "test" in Path(name).name]


def test_the_first_program_of_the_readme_runs_with_nothing_else_installed(python, tmp_path):
    code, printed = PROGRAM.findall(read("README.md"))[0]
    assert run(python, "-c", code, folder=tmp_path) == printed


def test_it_is_the_installed_one_and_brings_no_extra(python, tmp_path):
    where = "import modae; print(modae.__file__); modae.show_versions()"
    said = run(python, "-c", where, folder=tmp_path)
    assert Path(said.splitlines()[0]).is_relative_to(python.parents[1])
    installed = run(python, "-m", "pip", "list", "--format", "freeze")
    assert not {"torch", "dask", "pandas", "pytest", "rich"} & {
        line.partition("==")[0].lower() for line in installed.splitlines()
    }
