"""A missing package is one sentence; a broken one speaks for itself."""

import sys

import pytest

from modae.utils.extras import MissingExtraError, require


def test_a_package_that_is_there_is_imported():
    assert require("json.decoder", extra="io", purpose="A test") is sys.modules["json.decoder"]


@pytest.mark.parametrize("package", ["no_such_package", "no_such_package.inside"])
def test_a_missing_package_comes_with_its_command(package):
    with pytest.raises(MissingExtraError) as caught:
        require(package, extra="deep", purpose="Deep modules")
    assert str(caught.value) == (
        'Deep modules cannot be used without no_such_package: pip install "modae[deep]"'
    )
    assert caught.value.name == "no_such_package"


def test_the_package_that_is_missing_is_named_even_if_another_needs_it(tmp_path, monkeypatch):
    (tmp_path / "needs_another.py").write_text("import no_such_package\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(MissingExtraError, match="without no_such_package: "):
        require("needs_another", extra="deep", purpose="Deep modules")


def test_a_broken_package_is_not_called_missing(tmp_path, monkeypatch):
    (tmp_path / "broken.py").write_text("raise ImportError('libbroken.so cannot be opened')\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ImportError, match=r"^libbroken.so cannot be opened$") as caught:
        require("broken", extra="deep", purpose="Deep modules")
    assert not isinstance(caught.value, MissingExtraError)
