"""Versions of everything that matters, for a report of a problem."""

from __future__ import annotations

import os
import platform
import re
from collections import Counter
from importlib.metadata import PackageNotFoundError, requires, version

from modae import __version__


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
    lines = system() | packages()
    width = max(map(len, lines))
    print("\n".join(f"{name:<{width}}  {value}" for name, value in lines.items()))


def system() -> dict[str, str]:
    """Python, platform, CPUs, BLAS."""
    return {
        "modae": __version__,
        "Python": platform.python_version(),
        "platform": platform.platform(),
        "CPUs": f"{os.cpu_count()}",
        "BLAS": blas(),
    }


def blas() -> str:
    """The libraries that multiply matrices, and how many threads they use."""
    import scipy.linalg  # noqa: F401  (it loads its own BLAS, and NumPy's)
    from threadpoolctl import threadpool_info

    texts = [
        f"{pool['internal_api']} {pool['version']}, threads: {pool['num_threads']}"
        for pool in threadpool_info()
        if pool["user_api"] == "blas"
    ]
    return "; ".join(dict.fromkeys(texts)) or "not known"


def packages() -> dict[str, str]:
    """The version of each package that modae can use, or how to install it.

    They are those of pyproject.toml: what modae always needs, then extra by extra, without the tools
    for development. There are none if modae is not installed.
    """
    try:
        requirements = requires("modae") or []
    except PackageNotFoundError:
        return {}
    pairs = [
        (
            re.split(r"[^\w.-]", requirement, maxsplit=1)[0],
            (re.findall(r"extra == ['\"]([\w-]+)", requirement) or [""])[0],
        )
        for requirement in requirements
    ]
    sizes = Counter(extra for _, extra in pairs)
    smallest: dict[str, str] = {}  # name -> the extra with it that brings the fewest others
    for name, extra in sorted(pairs, key=lambda pair: (pair[1] != "", sizes[pair[1]])):
        if name != "modae" and extra != "dev":
            smallest.setdefault(name, extra)
    return {name: _version_of(name, extra) for name, extra in smallest.items()}


def _version_of(name: str, extra: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        wanted = f"modae[{extra}]" if extra else name
        return f'not installed (pip install "{wanted}")'
