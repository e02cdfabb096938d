"""scikit-learn's own checks of the deep estimators, without a single expected failure."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from modae.deep import ModularAutoencoder, ModularNetworkClassifier, ModularNetworkRegressor

QUICK = {"max_epochs": 3, "hidden_layer_sizes": (8,)}
LEARNS = {"max_epochs": 15, "learning_rate": 3e-2, "batch_size": 32, "hidden_layer_sizes": (16,)}

ESTIMATORS = [
    ModularAutoencoder(3, None, **QUICK),
    ModularAutoencoder(2, 1, 0.9, early_stopping=True, dtype="float64", **QUICK),
    ModularNetworkRegressor(3, **LEARNS),
    ModularNetworkClassifier(3, **LEARNS),
]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)
