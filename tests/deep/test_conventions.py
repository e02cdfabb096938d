"""scikit-learn's own checks of the deep estimators, without a single expected failure."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from modae.deep import ModularAutoencoder, ModularNetworkClassifier, ModularNetworkRegressor

QUICK = {"max_epochs": 3, "hidden_layer_sizes": (8,)}

#: Weights equal repetitions to round-off: in one batch, without chance, in double precision.
LEARNS = {"max_epochs": 40, "learning_rate": 3e-2, "hidden_layer_sizes": (16,), "dropout": 0.0}
LEARNS |= {"batch_size": "all", "early_stopping": False, "dtype": "float64"}

ESTIMATORS = [
    ModularAutoencoder(3, None, **QUICK),
    ModularAutoencoder(2, 1, 0.9, early_stopping=True, dtype="float64", **QUICK),
    ModularNetworkRegressor(3, **LEARNS),
    ModularNetworkClassifier(3, **LEARNS),
    ModularNetworkClassifier(3, 0.5, **{**LEARNS, "early_stopping": True}, body="adapters"),
]


@pytest.mark.filterwarnings("ignore:Training ended with max_epochs")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)
