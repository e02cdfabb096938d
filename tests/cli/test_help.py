"""Help is quick, fits a terminal, and a missing package gives a sentence instead of a traceback."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = "import sys\nfrom modae.cli import main\nsys.argv[0] = 'modae'\nmain()"
COMMANDS = ("fit", "tune", "transform", "predict", "info", "export", "report", "demo", "reproduce")
HELP = [["--help"], ["fit", "--help"], ["predict", "--help"], ["reproduce", "--help"]]

WITHOUT = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == {package!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())
"""


def python(program, *arguments, cwd=None):
    environment = {name: value for name, value in os.environ.items() if "COLOR" not in name}
    return subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=environment | {"COLUMNS": "80", "OMP_NUM_THREADS": "1", "PYTHONUTF8": "1"},
        timeout=120,
    )


@pytest.mark.parametrize("arguments", HELP, ids=" ".join)
def test_help_fits_eighty_columns(arguments):
    answer = python(COMMAND, *arguments)
    assert answer.returncode == 0, answer.stderr
    assert answer.stderr == ""
    assert max(map(len, answer.stdout.splitlines())) <= 80
    assert "Usage: modae" in answer.stdout


def test_help_names_the_commands_and_their_options():
    options = python(COMMAND, "reproduce", "--help").stdout
    assert all(option in options for option in ("--full", "--out", "--source", "--jobs", "--fresh"))


def test_what_an_option_lacks_is_proposed(call):
    tune = ["tune", "good.csv", "-o", "m.modae"]
    assert call(*tune).proposed == [*tune, "--target", "COLUMN"]
    assert call("fit", "good.csv").proposed == ["fit", "good.csv", "-o", "NAME.modae"]
    predict = ["predict", "m.modae", "a.csv"]
    assert call(*predict).proposed == [*predict, "-o", "NAME.csv"]
    assert call("export", "m.modae").proposed == ["export", "m.modae", "-o", "NAME.onnx"]
    assert call("export").proposed == []
    (line,) = [line for line in call("tune", "--help").out.splitlines() if " --target " in line]
    assert line.endswith("[required]")


def test_the_installed_command_is_the_same_as_the_function():
    script = Path(sys.executable).with_name("modae")
    answer = subprocess.run([script, "--help"], capture_output=True, text=True, timeout=120)
    assert answer.returncode == 0, answer.stderr
    assert "reproduce" in answer.stdout


def test_help_fits_a_screen_and_no_sentence_is_cut():
    lines = python(COMMAND, "--help").stdout.splitlines()
    assert len(lines) <= 24
    described = [line.split() for line in lines[lines.index("Commands:") + 1 :]]
    assert tuple(words[0] for words in described) == COMMANDS
    assert all(words[-1].endswith(".") and "..." not in words[-1] for words in described)


@pytest.mark.parametrize("arguments", HELP, ids=" ".join)
def test_help_imports_nothing_heavy(arguments):
    program = (
        f"import atexit, sys\natexit.register(lambda: print(*sys.modules, file=sys.stderr))\n{COMMAND}"
    )
    loaded = {name.partition(".")[0] for name in python(program, *arguments).stderr.split()}
    assert "typer" in loaded
    heavy = {"sklearn", "scipy", "numpy", "pandas", "pyarrow", "matplotlib", "torch", "dask", "mlxtend"}
    assert not heavy & loaded


@pytest.mark.parametrize("package", ["typer", "rich"])
@pytest.mark.parametrize("arguments", [["--help"], ["reproduce", "figure1"]], ids=" ".join)
def test_without_its_packages_the_command_says_what_to_install(tmp_path, package, arguments):
    answer = python(WITHOUT.format(package=package) + COMMAND, *arguments, cwd=tmp_path)
    assert "Traceback" not in answer.stderr
    assert answer.stderr == f'The command line needs {package}: pip install "modae[cli]"\n'
    assert answer.stdout == ""
    assert answer.returncode == 3


@pytest.mark.parametrize(
    ("package", "part", "extra"),
    [("matplotlib", "figure1", "plot"), ("mlxtend", "transfer", "datasets")],
)
def test_without_the_package_of_a_part_reproduce_says_what_to_install(tmp_path, package, part, extra):
    program = WITHOUT.format(package=package) + COMMAND
    answer = python(program, "reproduce", part, "--out", tmp_path / "out")
    assert "Traceback" not in answer.stderr
    assert package in answer.stderr
    assert f'pip install "modae[{extra}]"' in answer.stderr
    assert answer.returncode == 3


@pytest.mark.parametrize(("package", "extra"), [("matplotlib", "plot"), ("mlxtend", "datasets")])
def test_without_its_packages_the_demo_says_what_to_install_at_once(tmp_path, package, extra):
    answer = python(WITHOUT.format(package=package) + COMMAND, "demo", cwd=tmp_path)
    assert "Traceback" not in answer.stderr
    assert f'pip install "modae[{extra}]"' in answer.stderr
    assert answer.returncode == 3
    assert "diversity" not in answer.stdout, "it ran for nothing"
    assert list(tmp_path.iterdir()) == []


def test_without_a_package_for_tables_fit_says_what_to_install(tmp_path):
    (tmp_path / "table.csv").write_text("a,b\n1,2\n3,4\n")
    answer = python(
        WITHOUT.format(package="pyarrow") + COMMAND, "fit", "table.csv", "-o", "m.modae", cwd=tmp_path
    )
    assert "Traceback" not in answer.stderr
    assert "pyarrow" in answer.stderr
    assert 'pip install "modae[' in answer.stderr
    assert answer.returncode == 3


@pytest.mark.parametrize(
    ("arguments", "named"),
    [("nonsense", "nonsense"), ("reproduce --nonsense", "--nonsense"), ("reproduce --jobs x", "--jobs")],
)
def test_a_mistake_in_the_options_is_named_without_a_traceback(arguments, named):
    answer = python(COMMAND, *arguments.split())
    assert answer.returncode == 2
    assert "Traceback" not in answer.stderr
    assert answer.stdout == ""
    assert named in answer.stderr
