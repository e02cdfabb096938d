"""Data flow one way: a folder imports only from the folders named beside it here."""

import ast
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import modae

ROOT = Path(modae.__file__).parent
SCIENCE = {"numpy", "scipy", "sklearn"}

# folder: (folders of modae it may import, packages it may import)
LAYERS = {
    "utils": (set(), {*SCIENCE, "joblib", "rich", "threadpoolctl"}),
    "core": ({"utils"}, {"numpy", "scipy"}),
    "data": ({"utils"}, {*SCIENCE, "joblib", "narwhals"}),
    "files": ({"utils"}, {*SCIENCE, "safetensors", "skops"}),
    "sources": ({"utils", "data"}, {*SCIENCE, "dask", "narwhals"}),
    "linear": ({"utils", "core", "data", "files", "sources"}, SCIENCE),
}


def _above(folder, *below, packages=()):
    """A layer that may import the named ones and all that those may import."""
    reach = set(below).union(*(LAYERS[name][0] for name in below))
    LAYERS[folder] = (reach, SCIENCE | set(packages))


_above("ensembles", "linear", packages=("joblib", "narwhals"))
_above("streaming", "linear")
_above("deep", "ensembles", packages=("torch",))
_above("onnx", "deep", packages=("onnx", "torch"))
_above("metrics", "ensembles", "deep")
_above("display", "metrics", packages=("matplotlib",))
_above("report", "display")
_above("datasets", "utils", packages=("mlxtend", "PIL"))
_above("reproduction", "display", "report", "datasets", packages=("threadpoolctl", "matplotlib"))
_above("cli", "reproduction", "onnx", "streaming", packages=("pandas", "pyarrow", "rich", "typer"))
LAYERS["__main__"] = ({"cli"}, set())  # python -m modae
LAYERS[""] = (set(LAYERS), set())  # the package itself: the table of public names


def name_of(file):
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def imports(file):
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative import"
            if [alias.name for alias in node.names] != ["__version__"]:
                yield node.module


FILES = {name_of(file): file for file in sorted(ROOT.rglob("*.py"))}
FOLDERS = sorted({name.partition(".")[0] for name in FILES})


def of_folder(folder):
    return {name: file for name, file in FILES.items() if name.partition(".")[0] == folder}


def test_every_folder_has_its_place():
    assert set(FOLDERS) == set(LAYERS)


@pytest.mark.parametrize("folder", [folder for folder in FOLDERS if folder])
def test_a_folder_says_what_lives_there(folder):
    docstring = ast.get_docstring(ast.parse(FILES[folder].read_text()))
    assert docstring
    assert len(docstring) > 40


@pytest.mark.parametrize("folder", [folder for folder in FOLDERS if folder])
def test_a_folder_imports_only_from_layers_below(folder):
    layers, packages = LAYERS[folder]
    for name, file in of_folder(folder).items():
        for imported in imports(file):
            package, _, rest = imported.partition(".")
            if package == "modae":
                assert rest.partition(".")[0] in {*layers, folder}, f"{name} imports {imported}"
            else:
                assert package in packages | set(sys.stdlib_module_names), f"{name} imports {imported}"


@pytest.mark.parametrize("folder", [folder for folder in FOLDERS if folder])
def test_files_of_a_folder_do_not_import_each_other_in_circles(folder):
    graph = {
        name: {imported.removeprefix("modae.") for imported in imports(file)} & set(FILES)
        for name, file in of_folder(folder).items()
    }
    assert list(TopologicalSorter(graph).static_order())


@pytest.mark.parametrize("name", FILES)
def test_files_stay_short(name):
    assert len(FILES[name].read_text().splitlines()) <= 400
