"""`import modae` is light, and its public names are real."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import modae

HEAVY = ("sklearn", "scipy", "numpy", "pandas", "torch", "dask", "matplotlib", "typer", "rich")


def run(code):
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return result.stdout.split()


def test_importing_modae_loads_nothing_heavy():
    loaded = run("import sys, modae; print(*{name.partition('.')[0] for name in sys.modules})")
    assert "modae" in loaded
    assert not set(HEAVY) & set(loaded)


def test_a_public_name_is_loaded_on_first_use():
    loaded = run("import sys, modae; modae.LinearModularAutoencoder; print(*sys.modules)")
    assert "modae.linear.autoencoder" in loaded
    assert not {"torch", "dask", "matplotlib", "mlxtend"} & set(loaded)


@pytest.mark.parametrize("name", modae.__all__)
def test_every_public_name_resolves_and_is_listed(name):
    assert getattr(modae, name) is not None
    assert name in dir(modae)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        _ = modae.nonsense


def test_dir_shows_public_names_only():
    import modae.utils.text  # a folder that is not public is an attribute of modae from now on

    assert set(dir(modae)) == set(modae.__all__)
    assert [name for name in dir(modae) if name.startswith("_")] == ["__version__"]
    assert len(modae.__all__) == len(set(modae.__all__))


def test_type_checkers_see_the_names_of_the_table():
    tree = ast.parse(Path(modae.__file__).with_suffix(".pyi").read_text())
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    pairs = [(alias, node.module) for node in imports for alias in node.names]
    assert all(alias.name == alias.asname for alias, _ in pairs)
    assert {alias.name: module for alias, module in pairs} == modae._HOMES


def test_the_package_is_typed():
    assert Path(modae.__file__).with_name("py.typed").exists()
