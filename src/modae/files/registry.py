"""Which classes are ours, by which names files know them, and which other names a file may use."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib import import_module
from typing import Any

from modae.files.errors import MissingExtraError, ModelFormatError, UntrustedError
from modae.files.rules import Layout

HOMES = {
    "modae.deep.": ("modae.deep.layouts",),
    "modae.": ("modae.linear.layouts", "modae.ensembles.layouts", "modae.streaming.checkpoints"),
}
"""How a name begins -> the modules with its layouts, imported when such a name is met, so that a
linear model needs no torch; by name, because layouts are written in later layers."""


_FOUND: dict[Any, Layout | None] = {}
"""Classes that were asked for before."""


@cache
def layouts_in(modules: tuple[str, ...]) -> dict[str, Layout]:
    """The layouts of some modules by the names that files use."""
    try:
        layouts = [layout for module in modules for layout in import_module(module).LAYOUTS]
    except ImportError as missing:
        raise MissingExtraError(str(missing)) from missing
    return {layout.name: layout for layout in layouts}


def _home(name: str) -> tuple[str, ...] | None:
    return next((modules for start, modules in HOMES.items() if name.startswith(start)), None)


def layout_named(name: Any) -> Layout:
    """The layout of a class, by the name that files use."""
    home = _home(name) if isinstance(name, str) else None
    layout = None if home is None else layouts_in(home).get(name)
    if layout is None:
        raise ModelFormatError(f"modae has no class {name!r:.80}: the file is newer, or damaged.")
    return layout


def layout_for(cls: Any) -> Layout | None:
    """The layout for objects of a class, or of the nearest class above it; None for foreign classes."""
    if cls not in _FOUND:
        bases = (_layout_of(base) for base in cls.__mro__)
        _FOUND[cls] = next((layout for layout in bases if layout is not None), None)
    return _FOUND[cls]


def _layout_of(cls: Any) -> Layout | None:
    home = _home(f"{cls.__module__}.")
    known = () if home is None else layouts_in(home).values()
    return next((layout for layout in known if layout.cls is cls), None)


def reference_to(thing: Any) -> str:
    """The name by which a class or function can be imported; one without such a name is refused."""
    module, name = thing.__module__, thing.__qualname__
    try:
        found = _attribute(import_module(module), name)
    except (ImportError, AttributeError):
        found = None
    if found is not thing:
        raise TypeError(
            f"{module}.{name} cannot be saved: it has no name by which it could be imported again. "
            "Define it at the top level of a module."
        )
    return f"{module}:{name}"


def resolve(reference: Any, trusted: Iterable[str], safe: Iterable[str] = ()) -> Any:
    """The class or function with a name; only if it is known to be safe, or the caller trusts it."""
    if not isinstance(reference, str) or reference.count(":") != 1:
        raise ModelFormatError(f"{reference!r:.80} is no name of a class or function.")
    module, _, name = reference.partition(":")
    dotted = f"{module}.{name}"
    if dotted not in trusted and reference not in safe:
        raise UntrustedError(
            f"The file needs {dotted}, which is not part of modae or scikit-learn. If you trust it, "
            f"load the file with trusted=[{dotted!r}]."
        )
    try:
        return _attribute(import_module(module), name)
    except (ImportError, AttributeError) as reason:
        raise ModelFormatError(f"{dotted} cannot be imported: {reason}.") from reason


def _attribute(module: Any, dotted: str) -> Any:
    found = module
    for name in dotted.split("."):
        found = getattr(found, name)
    return found


@cache
def safe_references() -> frozenset[str]:
    """Classes of other libraries that a file may name, because they only do arithmetic."""
    names: set[str] = set()
    for home in (module for modules in HOMES.values() for module in modules):
        try:
            names |= getattr(import_module(home), "SAFE_REFERENCES", frozenset())
        except ImportError:  # an extra that is not there
            continue
    return frozenset(names)
