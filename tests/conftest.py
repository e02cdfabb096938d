"""What must be set before NumPy and SciPy are imported, and what all tests share."""

import os
import sys
from contextlib import suppress

import pytest
from hypothesis import Phase, settings

# `make test`, `make slow` and `make soak` look for a counterexample so long. The first two take the same
# examples on every machine; no limit on the time of one. `--hypothesis-profile` is read after this file.
for profile, n_examples in {"test": 25, "slow": 100, "soak": 5_000}.items():
    settings.register_profile(
        profile, deadline=None, max_examples=n_examples, derandomize=profile != "soak"
    )
# `make mutants` asks only whether there is a counterexample, not for the smallest one.
settings.register_profile(
    "mutants", settings.get_profile("test"), phases=(Phase.explicit, Phase.generate)
)
settings.load_profile("test")

# scikit-learn's checks of array-API input run only with it.
os.environ.setdefault("SCIPY_ARRAY_API", "1")
# Small matrices, and a worker for each core: threads that wait for each other take far longer than one.
for pool in ("OPENBLAS", "OMP", "MKL"):
    os.environ.setdefault(f"{pool}_NUM_THREADS", "1")


@pytest.fixture(autouse=True)
def _no_figures_of_others():
    """Doctests and other tests may leave figures open; those of this test are its own."""
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


def pytest_configure(config):
    """Compile dcor once, before workers do: numba's cache does not like two at the same time."""
    if not hasattr(config, "workerinput"):
        with suppress(ImportError):  # tests of the core alone run without it
            import dcor  # noqa: F401


@pytest.hookimpl(tryfirst=True)  # before pytest looks which marks were asked for
def pytest_collection_modifyitems(items):
    """Mark the properties, and skip what an old NumPy cannot do.

    scikit-learn's checks fetch arrays by ``numpy.from_dlpack(..., device=...)``: new in NumPy 2.1.
    """
    import numpy as np

    for item in items:
        if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
            item.add_marker("properties")

    if np.lib.NumpyVersion(np.__version__) < "2.1.0":
        skip = pytest.mark.skip(reason="scikit-learn's check of other devices needs NumPy 2.1")
        for item in items:
            if item.name.startswith("test_scikit_learn_") and (
                "device1" in item.name or "mixed_inputs" in item.name
            ):
                item.add_marker(skip)
