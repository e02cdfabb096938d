"""The list of trusted names: all exist, and none can do harm."""

from __future__ import annotations

from collections import Counter
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from modae.files.trust import (
    CLASS_NAMES,
    FUNCTION_NAMES,
    LOSS_NAMES,
    SCALAR_NAMES,
    TYPE_NAMES,
    full_name_of,
    names_of,
    untrusted,
)

ALIASES = {f"numpy.{name}" for name in ("bool_", "intc", "longlong", "uintc", "ulonglong")}
"""Names that other releases or platforms write; here they may lead to a type of another name."""


def thing(name: str) -> Any:
    module, attribute = name.rsplit(".", 1)
    return getattr(import_module(module), attribute)


@pytest.mark.parametrize("name", sorted(CLASS_NAMES | LOSS_NAMES | TYPE_NAMES))
def test_a_class_on_the_list_exists_and_is_a_class(name: str) -> None:
    cls = thing(name)
    assert isinstance(cls, type)
    assert full_name_of(cls) == name or name in ALIASES


def test_classes_are_of_the_libraries_that_we_looked_at() -> None:
    assert {name.split(".")[0] for name in CLASS_NAMES | LOSS_NAMES} == {"sklearn", "modae"}
    assert {name.split(".")[0] for name in SCALAR_NAMES} == {"numpy", "builtins"}


@pytest.mark.parametrize("name", sorted(FUNCTION_NAMES))
def test_a_function_on_the_list_computes_numbers(name: str) -> None:
    function = thing(name)
    assert not isinstance(function, type)
    home = function.__module__ if hasattr(function, "__module__") else ""
    assert isinstance(function, np.ufunc) or home.startswith(
        ("sklearn.metrics.", "sklearn.feature_selection.")
    )


def test_names_of_classes_and_words() -> None:
    assert names_of([Counter, "package.module.Class", len]) == {
        "collections.Counter", "package.module.Class", "builtins.len",
    }  # fmt: skip
    assert names_of(()) == frozenset()


@pytest.mark.parametrize("bad", ["package.Class", None, 3, [3], ["Class"], ["a b.c"], [None], True])
def test_other_things_are_not_trusted(bad: Any) -> None:
    with pytest.raises(TypeError, match="trusted must be"):
        names_of(bad)


def test_the_error_names_the_remedy() -> None:
    assert 'load(path, trusted=["a.B"])' in str(untrusted("a.B"))
