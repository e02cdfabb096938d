"""Targets that some rows lack."""

import numpy as np
import pytest

from modae.data.validation import known_targets


@pytest.mark.parametrize("missing", [np.nan, -1.0])
@pytest.mark.parametrize("width", [None, 1, 3])
def test_a_row_needs_all_of_its_targets(missing, width):
    shape = (6,) if width is None else (6, width)
    y = np.arange(np.prod(shape), dtype=float).reshape(shape) + 1.0
    y[(2,) if width is None else (2, width - 1)] = missing
    X = np.zeros((6, 2))
    targets, known = known_targets(X, y, missing, lambda _, labels: np.asarray(labels))
    assert known.tolist() == [0, 1, 3, 4, 5]
    np.testing.assert_array_equal(targets[known], y[known])
    np.testing.assert_array_equal(targets[2], y[0])  # a stand-in, which nobody uses
