"""The worked examples of CONTRIBUTING.md: a solver and an estimator, added from outside."""

import re
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.utils.estimator_checks import parametrize_with_checks

from modae import LinearModularAutoencoder, ModularClassifier
from modae.linear.model import SOLVERS

PAGE = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
SOLVER, ESTIMATOR = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
CONTRIBUTED = ModuleType("contributed")
sys.modules[CONTRIBUTED.__name__] = CONTRIBUTED  # as if it were a file: pickles find it
exec(ESTIMATOR, vars(CONTRIBUTED))
RandomModules = CONTRIBUTED.RandomModules

X, y = load_iris(return_X_y=True)


def test_a_solver(monkeypatch):
    monkeypatch.setitem(SOLVERS, "random", None)  # and away again after the test
    exec(SOLVER, {})
    model = LinearModularAutoencoder(3, 1, solver="random", max_iter=50, random_state=0).fit(X)
    best = LinearModularAutoencoder(3, 1, random_state=0).fit(X)
    assert model.solver_ == "random"
    assert model.lower_bound_ == best.lower_bound_
    assert best.lower_bound_ <= best.loss_ * (1.0 + 1e-12)  # both are the optimum, to round-off
    assert best.loss_ < model.loss_
    assert model.with_diversity(0.2).solver_ == "random"
    assert model.transform(X).shape == (150, 3)


@parametrize_with_checks([RandomModules(n_modules=2)])
def test_an_estimator_keeps_the_conventions(estimator, check):
    check(estimator)


def test_an_estimator_in_an_ensemble():
    vote = ModularClassifier(RandomModules(7, 2, random_state=0)).fit(X, y)
    assert vote.score(X, y) > 0.9
    names = vote.extractor_.get_feature_names_out()
    assert names[0] == "module0_0"
    np.testing.assert_allclose(
        vote.extractor_.transform(X), np.hstack(list(vote.extractor_.transform_modules(X)))
    )
    assert vote.extractor_.score_samples(X).shape == (150,)
    with pytest.raises(ValueError, match="features"):
        vote.predict(X[:, :2])
