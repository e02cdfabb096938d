"""The picture of risk and coverage."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from modae.display import RiskCoverageDisplay
from modae.metrics import risk_coverage_curve

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 2))
Y = (X[:, 0] + RNG.standard_normal(60) > 0).astype(int)


def test_of_an_estimator_by_its_largest_probability():
    model = LogisticRegression().fit(X[::2], Y[::2])
    display = RiskCoverageDisplay.from_estimator(model, X, Y)
    doubt = 1.0 - model.predict_proba(X).max(axis=1)
    expected = risk_coverage_curve(Y, model.predict(X), doubt)
    np.testing.assert_allclose(display.line_.get_xydata().T, expected)
    assert display.line_.get_label().startswith("LogisticRegression (area 0.")
    assert display.risk[-1] == pytest.approx(1.0 - model.score(X, Y))


def test_of_predictions_twice_into_one_picture():
    first = RiskCoverageDisplay.from_predictions(Y, 1 - Y, X[:, 0], name="always wrong")
    assert set(first.risk) == {1.0}
    second = RiskCoverageDisplay(coverage=[0.5, 1.0], risk=[0.0, 0.2]).plot(first.ax_, color="red")
    assert second.ax_ is first.ax_
    assert [line.get_label() for line in first.ax_.lines] == ["always wrong (area 1)", "area 0.1"]
    assert second.plot(name="again").line_.get_label() == "again (area 0.1)"


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(ValueError, match="estimator must have predict_proba, got SVC: use from_pred"):
        RiskCoverageDisplay.from_estimator(SVC().fit(X, Y), X, Y)
    with pytest.raises(ValueError, match="risk must have as many points as coverage"):
        RiskCoverageDisplay(coverage=[0.5, 1.0], risk=[0.1])
