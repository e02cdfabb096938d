"""scikit-learn's own checks, without a single expected failure."""

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


@pytest.mark.filterwarnings("ignore:diversity=0 makes all modules equal:UserWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)
