"""Packages: optional ones are imported where they are used, and the versions of all can be shown."""

import os
import platform
import re
from collections import Counter
from importlib import import_module
from importlib.metadata import PackageNotFoundError, requires, version
from types import ModuleType

from modae import __version__


class MissingExtraError(ImportError):
    """An optional package is not installed; the message has the command that installs it."""


def require(package: str, *, extra: str, purpose: str) -> ModuleType:
    """Import an optional package.

    Parameters
    ----------
    package : str
        Name of the module to import; dots are allowed.
    extra : str
        The extra of modae that installs it.
    purpose : str
        What it is for. The message begins with it.

    Returns
    -------
    module : module

    Raises
    ------
    MissingExtraError
        If the package, or one that it imports, is not installed. A package that is installed but broken
        raises its own ImportError.

    Examples
    --------
    >>> from modae.utils.extras import require
    >>> try:
    ...     require("no_such_package", extra="deep", purpose="Deep modules")
    ... except ImportError as missing:
    ...     print(missing)
    Deep modules cannot be used without no_such_package: pip install "modae[deep]"
    """
    try:
        return import_module(package)
    except ModuleNotFoundError as missing:
        raise MissingExtraError(
            f'{purpose} cannot be used without {missing.name or package}: pip install "modae[{extra}]"',
            name=missing.name,
        ) from missing


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
    lines = {
        "modae": __version__,
        "Python": platform.python_version(),
        "platform": platform.platform(),
        "CPUs": f"{os.cpu_count()}",
        "BLAS": blas(),
        **packages(),
    }
    width = max(map(len, lines))
    print("\n".join(f"{name:<{width}}  {value}" for name, value in lines.items()))


def blas() -> str:
    """The libraries that multiply matrices, and how many threads they use."""
    import scipy.linalg  # noqa: F401  (it loads its own BLAS, and NumPy's)
    from threadpoolctl import threadpool_info

    about = "{internal_api} {version}, threads: {num_threads}"
    texts = [about.format(**pool) for pool in threadpool_info() if pool["user_api"] == "blas"]
    return "; ".join(dict.fromkeys(texts)) or "not known"


def packages() -> dict[str, str]:
    """The version of each package that modae can use, or how to install it.

    They are those of pyproject.toml: what modae always needs, then extra by extra. The extra "demo" has
    nothing that others have not. There are none if modae is not installed.
    """
    try:
        requirements = requires("modae") or []
    except PackageNotFoundError:
        return {}
    named = r"^([\w.-]+)(?:.*extra == ['\"]([\w-]+))?"  # a package, and the extra that it is for
    pairs = re.findall(named, "\n".join(requirements), re.MULTILINE)
    sizes, found = Counter(extra for _, extra in pairs), dict[str, str]()
    # Of several extras that have a package, that with the fewest others comes first.
    for name, extra in sorted(pairs, key=lambda pair: (pair[1] != "", sizes[pair[1]])):
        if name not in {"modae", *found} and extra != "demo":
            try:
                found[name] = version(name)
            except PackageNotFoundError:
                wanted = f"modae[{extra}]" if extra else name
                found[name] = f'not installed (pip install "{wanted}")'
    return found
