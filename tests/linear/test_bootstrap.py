"""Bootstrap counts are Poisson, and functions of seed, module and row alone."""

import numpy as np
import pytest
from scipy.stats import chisquare, poisson

from modae.linear.bagging import bootstrap_counts


@pytest.mark.parametrize("start", [0, 1, 3, 4, 5, 17, 98])
def test_any_chunk_is_a_part_of_the_whole(start):
    whole = bootstrap_counts(5, 2, 0, 100)
    np.testing.assert_array_equal(bootstrap_counts(5, 2, start, 100), whole[start:])
    np.testing.assert_array_equal(bootstrap_counts(5, 2, 0, start), whole[:start])


def test_counts_follow_the_poisson_distribution():
    counts = np.minimum(bootstrap_counts(1, 0, 0, 200_000), 6)
    expected = 200_000 * np.append(poisson.pmf(range(6), 1.0), poisson.sf(5, 1.0))
    assert chisquare(np.bincount(counts, minlength=7), expected).pvalue > 1e-3


def test_modules_and_seeds_draw_independently():
    draws = np.array([bootstrap_counts(s, m, 0, 50_000) for s in (0, 1) for m in (0, 1)])
    correlations = np.corrcoef(draws)[~np.eye(4, dtype=bool)]
    assert np.abs(correlations).max() < 0.02
