"""scikit-learn's own checks of the ensembles, without a single expected failure, routing off and on."""

import pytest
import sklearn
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.utils.estimator_checks import parametrize_with_checks

from modae import (
    LinearModularAutoencoder,
    ModularClassifier,
    ModularClassifierCV,
    ModularRegressor,
    NearestNeighborClassifier,
    NearestNeighborRegressor,
)

TWO_MODULES = LinearModularAutoencoder(2)
NAMED = [("linear", LogisticRegression()), ("near", NearestNeighborClassifier())]

DEFAULTS = [
    ModularClassifier(),
    ModularRegressor(),
    NearestNeighborClassifier(),
    NearestNeighborRegressor(),
]

SEARCH = [ModularClassifierCV()]  # 550 members in each fit of each check

OTHERS = [
    ModularClassifier(LinearModularAutoencoder(3), LogisticRegression(), voting="soft", n_jobs=2),
    ModularClassifier(TWO_MODULES, NAMED, tie_break="first"),
    ModularRegressor(TWO_MODULES, [("ridge", Ridge()), ("near", NearestNeighborRegressor())]),
    ModularClassifierCV(TWO_MODULES, estimator=None, diversities=[0.2, 0.8], cv=2, tie_break="first"),
    NearestNeighborClassifier(backend="brute"),
]

no_diversity = pytest.mark.filterwarnings("ignore:diversity=0 makes all modules equal:UserWarning")


@no_diversity
@parametrize_with_checks([*DEFAULTS, *OTHERS])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@no_diversity
@parametrize_with_checks([*DEFAULTS, ModularClassifierCV(estimator=None, diversities=[0.8], cv=2)])
def test_scikit_learn_conventions_with_metadata_routing(estimator, check):
    with sklearn.config_context(enable_metadata_routing=True):
        check(estimator)


@no_diversity
@pytest.mark.slow
@parametrize_with_checks(SEARCH)
def test_scikit_learn_conventions_of_the_default_search(estimator, check):
    check(estimator)
