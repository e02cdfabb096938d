"""Which classes are ours, by which names files know them, and which other names a file may use."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from modae.files.errors import MissingExtraError, ModelFormatError, UntrustedError, require
from modae.files.rules import Layout

# How a name begins -> the modules with its layouts, imported when such a name is met, so that a linear
# model needs no torch; by name, because layouts are written in later layers.
HOMES = {
    "modae.deep.": ("modae.deep.layouts",),
    "modae.": ("modae.linear.layouts", "modae.ensembles.layouts", "modae.streaming.checkpoints"),
}

_FOUND: dict[Any, Layout | None] = {}  # classes that were asked for before


@cache
def layouts_in(modules: tuple[str, ...]) -> dict[str, Layout]:
    """The layouts of some modules by the names that files use."""
    layouts = [layout for module in modules for layout in import_module(module).LAYOUTS]
    return {layout.name: layout for layout in layouts}


def _home(name: str) -> tuple[str, ...]:
    return next((modules for start, modules in HOMES.items() if name.startswith(start)), ())


def layout_named(name: Any) -> Layout:
    """The layout of a class, by the name that files use."""
    layout = layouts_in(_home(name)).get(name) if isinstance(name, str) else None
    if layout is None:
        raise ModelFormatError(f"modae has no class {name!r:.80}: the file is newer, or damaged.")
    return layout


def layout_for(cls: Any) -> Layout | None:
    """The layout for objects of a class, or of the nearest class above it; None for foreign classes."""
    if cls not in _FOUND:
        known = [(base, layouts_in(_home(f"{base.__module__}.")).values()) for base in cls.__mro__]
        ours = (layout for base, layouts in known for layout in layouts if layout.cls is base)
        _FOUND[cls] = next(ours, None)
    return _FOUND[cls]


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
    named = isinstance(reference, str) and reference.count(":") == 1
    require(named, f"{reference!r:.80} is no name of a class or function.")
    module, _, name = reference.partition(":")
    if f"{module}.{name}" not in trusted and reference not in safe:
        raise untrusted({f"{module}.{name}"})
    try:
        return _attribute(import_module(module), name)
    except (ImportError, AttributeError) as reason:
        raise import_error(reason) from reason


def untrusted(names: Iterable[str]) -> UntrustedError:
    """The error for names that nobody trusts, with its remedy."""
    listed = sorted(names)
    return UntrustedError(
        f"The file needs {', '.join(listed)}, which modae does not know. If you trust whoever made the "
        f"file, and this code, load it with trusted={listed}."
    )


def import_error(reason: ImportError | AttributeError) -> Exception:
    """What a failed import means: a package that is not installed, or another version of it."""
    package = (reason.name or "").partition(".")[0]
    if isinstance(reason, ModuleNotFoundError) and find_spec(package) is None:
        return MissingExtraError(f"The file needs the package {package}: pip install {package}")
    return ModelFormatError(
        f"The file needs something that the installed version of its library does not have ({reason})."
    )


def _attribute(module: Any, dotted: str) -> Any:
    found = module
    for name in dotted.split("."):
        found = getattr(found, name)
    return found


def names_of(trusted: Iterable[str | type]) -> frozenset[str]:
    """The full names of classes and functions that a user trusts.

    Examples
    --------
    >>> from collections import Counter
    >>> from modae.files.registry import names_of
    >>> sorted(names_of([Counter, "my_package.models.Stump"]))
    ['collections.Counter', 'my_package.models.Stump']
    """
    if isinstance(trusted, (str, bytes)) or not isinstance(trusted, Iterable):
        raise TypeError(f'trusted must be a list such as ["package.module.Class"], got {trusted!r}.')
    return frozenset(_name_of(entry) for entry in trusted)


def _name_of(entry: Any) -> str:
    if isinstance(entry, str) and "." in entry and all(map(str.isidentifier, entry.split("."))):
        return entry
    if callable(entry) and hasattr(entry, "__qualname__"):
        return f"{entry.__module__}.{entry.__qualname__}"
    raise TypeError(
        f'an entry of trusted must be a full name "package.module.Class" or a class, got {entry!r}.'
    )
