"""Versions of everything that matters, for a report of a problem."""

from __future__ import annotations

import os
import platform
import re
from importlib.metadata import PackageNotFoundError, requires, version

from modae import __version__

COLLECTIONS = ("all", "dev")
"""Extras that are there to install other extras."""

_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+).*?(?:extra == ['\"](?P<extra>[\w-]+)['\"].*)?")


def show_versions() -> None:
    """Print the versions of modae, Python, the platform, BLAS, and all packages that modae can use.

    Put it into reports of problems. Nothing but NumPy and SciPy is imported, so it is quick.

    Examples
    --------
    >>> import modae
    >>> modae.show_versions()  # doctest: +ELLIPSIS
    modae ...
    Python ...
    """
    extras = extras_of(requires_of_modae())
    lines = system() | {name: version_of(name, extra) for name, extra in extras.items()}
    width = max(map(len, lines))
    print("\n".join(f"{name:<{width}}  {value}" for name, value in lines.items()))


def system() -> dict[str, str]:
    """What is there before any package."""
    return {
        "modae": __version__,
        "Python": platform.python_version(),
        "platform": platform.platform(),
        "processors": f"{os.cpu_count()}",
        "BLAS": blas(),
    }


def blas() -> str:
    """The libraries that multiply matrices, and how many threads they use."""
    import scipy.linalg  # noqa: F401  (it brings its own, and NumPy's)
    from threadpoolctl import threadpool_info

    texts = [
        f"{pool['internal_api']} {pool['version']}, threads: {pool['num_threads']}"
        for pool in threadpool_info()
        if pool["user_api"] == "blas"
    ]
    return "; ".join(dict.fromkeys(texts)) or "not known"


def requires_of_modae() -> list[str]:
    """The requirements as they are in pyproject.toml; none if modae runs without being installed."""
    try:
        return requires("modae") or []
    except PackageNotFoundError:
        return []


def extras_of(requirements: list[str]) -> dict[str, str]:
    """Package -> the smallest extra that installs it, "" for what modae always needs; sorted by both.

    Examples
    --------
    >>> from modae.utils.versions import extras_of
    >>> extras_of(["b>=2; extra == 'small'", "b>=2; extra == 'large'", "c; extra == 'large'", "a>=1"])
    {'a': '', 'c': 'large', 'b': 'small'}
    """
    matches = [_REQUIREMENT.fullmatch(requirement) for requirement in requirements]
    pairs = [(match["name"], match["extra"] or "") for match in matches if match]
    sizes = {extra: sum(extra == other for _, other in pairs) for _, extra in pairs} | {"": 0}
    pairs = sorted((extra, name) for name, extra in pairs if extra not in COLLECTIONS)
    smallest_last = sorted(pairs, key=lambda pair: -sizes[pair[0]])
    chosen = {name: extra for extra, name in smallest_last}
    return {name: extra for extra, name in pairs if chosen[name] == extra}


def version_of(name: str, extra: str) -> str:
    """The installed version, or how to install one."""
    try:
        return version(name)
    except PackageNotFoundError:
        wanted = f"modae[{extra}]" if extra else name
        return f'not installed (pip install "{wanted}")'
