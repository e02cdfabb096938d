"""scikit-learn's own checks, without a single expected failure."""

import warnings

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from modae import BaggingAutoencoder, LinearModularAutoencoder

SOLVERS = ("spectral", "backfitting", "gradient")

ESTIMATORS = [
    LinearModularAutoencoder(),
    BaggingAutoencoder(),
    *(
        LinearModularAutoencoder(n_components=2, diversity=diversity, solver=solver)
        for diversity in (0.0, 0.5, 1.0)
        for solver in SOLVERS
    ),
]


# The checks warn on purpose (constant data, diversity 0, few epochs); scikit-learn expects that.
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_conventions(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)
