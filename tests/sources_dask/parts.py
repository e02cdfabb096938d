"""Data, and what it means for a model to be the same."""

from copy import deepcopy

import dask.array as da
import numpy as np
import pandas as pd
from sklearn.datasets import load_digits

from modae import LinearModularAutoencoder

X, Y = load_digits(return_X_y=True)
FRAME = pd.DataFrame(X, columns=[f"pixel{place}" for place in range(X.shape[1])])

CHUNKINGS = {
    "even": (300, 64),
    "fewer rows than columns": (37, 64),
    "one chunk": (1797, 64),
    "columns too": (500, 10),
    "empty chunks": ((0, 1, 0, 1000, 796, 0), (64,)),
}


def model():
    return LinearModularAutoencoder(5, 4, random_state=0)


def chunked(chunks=(300, 64), rows=X):
    return da.from_array(rows, chunks=chunks)


def with_unknown_rows(array):
    """The same array, of which dask has forgotten the lengths of the chunks."""
    return array[array[:, 0] > -1e9]


def assert_same_model(one, other, tolerance=1e-8):
    assert abs(one.loss_ - other.loss_) <= tolerance * other.total_variance_
    np.testing.assert_allclose(one.mean_, other.mean_, atol=tolerance * np.abs(other.mean_).max())
    for ours, theirs in zip(one.decoders_, other.decoders_, strict=True):
        np.testing.assert_allclose(ours @ ours.T, theirs @ theirs.T, atol=tolerance)


def no_task_may_run(*args, **options):
    """A scheduler for what must be lazy, or must fail early."""
    raise AssertionError("a task was run")


def models_in(lazy):
    """The models in the graph of a lazy answer: those that its functions hold."""
    values = [getattr(node, "value", node) for node in dict(lazy.dask).values()]
    held = []
    while values:
        cells = [cell for value in values for cell in getattr(value, "__closure__", None) or ()]
        values = [cell.cell_contents for cell in cells]
        held += values
    return [each.estimator for each in held if hasattr(each, "method") and hasattr(each, "estimator")]


def holds_data(model):
    """Whether a model still has the sums that ``partial_fit`` goes on from."""
    try:
        deepcopy(model).partial_fit(X)
    except ValueError:  # partial_fit cannot continue this fit
        return False
    return True
