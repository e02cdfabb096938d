"""Training that ends when it is done: validation rows, the best epoch, refit, and few rows."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, make_friedman1
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss

import modae
from deep.parts import LABELS_OF_X, X, assert_equal, classifier, ends_early, regressor, says
from modae.deep import ModularNetworkClassifier, ModularNetworkRegressor
from modae.deep.model import Data
from modae.deep.training import rows_held_out

CANCER, BENIGN = load_breast_cancer(return_X_y=True)
STOPS = {"early_stopping": True, "max_epochs": 200, "patience": 3, "learning_rate": 0.02}


@pytest.fixture(scope="module")
def stopped():
    return classifier(**STOPS).fit(X, LABELS_OF_X)


def test_defaults_stop_by_themselves_and_learn_raw_columns():
    """Columns of this table have deviations from 0.003 to 570."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = ModularNetworkClassifier(random_state=0).fit(CANCER[::2], BENIGN[::2])
    assert model.n_epochs_ == model.best_epoch_ + model.patience < model.max_epochs
    assert model.score(CANCER[1::2], BENIGN[1::2]) > 0.95
    rows, y = make_friedman1(400, random_state=0)
    units = 10.0 ** np.arange(-5, 5)
    model = ModularNetworkRegressor(random_state=0).fit(units * rows[:300], 1e6 + 1e-3 * y[:300])
    assert model.score(units * rows[300:], 1e6 + 1e-3 * y[300:]) > 0.8


def test_validation_rows_have_their_share_of_each_class(stopped):
    held_out = stopped.validation_indices_
    assert len(held_out) == round(stopped.validation_fraction * len(X))
    assert len(set(held_out)) == len(held_out)
    counts, all_counts = (
        np.bincount(labels, minlength=10) for labels in (LABELS_OF_X[held_out], LABELS_OF_X)
    )
    assert (np.abs(counts - len(held_out) * all_counts / len(X)) < 2.0).all()


def test_validation_rows_follow_from_the_seed(stopped):
    again = classifier(**STOPS).fit(X, LABELS_OF_X)
    other = classifier(**{**STOPS, "random_state": 1}).fit(X, LABELS_OF_X)
    np.testing.assert_array_equal(again.validation_indices_, stopped.validation_indices_)
    assert set(other.validation_indices_) != set(stopped.validation_indices_)
    assert classifier().fit(X, LABELS_OF_X).validation_indices_ is None


@pytest.mark.parametrize("n_rows", [42, 57, 400])
@pytest.mark.parametrize("fraction", [0.01, 0.15, 0.5, 0.99])
def test_every_class_keeps_a_row_to_learn_from(n_rows, fraction):
    rng = np.random.default_rng(n_rows)
    labels = np.append(np.arange(9), rng.integers(3, size=n_rows - 9))  # six classes with one row
    places = np.setdiff1d(np.arange(n_rows), [0, n_rows - 1])
    data = Data(np.zeros((n_rows, 1)), labels, np.isin(np.arange(n_rows), places).astype(float))
    held_out = rows_held_out(data, 7, fraction)
    left = np.setdiff1d(places, held_out)
    assert set(held_out) <= set(places)
    assert set(labels[left]) == set(labels[places])
    wanted = max(1, round(fraction * len(places)))
    assert len(held_out) == min(wanted, len(places) - len(set(labels[places])))


@pytest.mark.filterwarnings("ignore:The number of unique classes")
def test_of_few_rows_none_is_held_out():
    for labels in (LABELS_OF_X[:39], np.arange(39), np.zeros(39)):
        model = classifier(**{**STOPS, "max_epochs": 3}).fit(X[:39], labels)
        assert model.validation_indices_ is None
        assert model.n_epochs_ == model.best_epoch_ == 3
    lone = classifier(**{**STOPS, "max_epochs": 3}).fit(X[:60], np.arange(60))  # a row of each class
    assert lone.validation_indices_ is None


def test_the_loss_of_the_ensemble_decides(stopped):
    """Not that of its members, which overfit earlier or later."""
    rows = stopped.validation_indices_
    found = log_loss(LABELS_OF_X[rows], stopped.predict_proba(X[rows]), labels=range(10))
    history = stopped.history_["valid_loss"]
    np.testing.assert_allclose(history.min(), found, rtol=1e-5)
    assert stopped.best_epoch_ == history.argmin() + 1


@pytest.mark.parametrize("kind", ["classifier", "regressor"])
def test_rows_of_ones_own_that_validate(kind):
    make, y = (classifier, LABELS_OF_X) if kind == "classifier" else (regressor, X[:, :2] @ [1.0, 2.0])
    given = make(**STOPS).fit(X[:150], y[:150], eval_set=(X[150:], y[150:]))
    assert given.validation_indices_ is None
    assert given.n_epochs_ == given.best_epoch_ + 3
    if kind == "regressor":
        error = np.square(given.predict(X[150:]) - y[150:]).mean()
    else:
        error = log_loss(y[150:], given.predict_proba(X[150:]), labels=range(10))
    np.testing.assert_allclose(given.history_["valid_loss"].min(), error, rtol=1e-4)


@pytest.mark.parametrize(
    ("make", "options", "eval_set", "message"),
    [
        (classifier, {}, (X, LABELS_OF_X), "early_stopping=True"),
        (classifier, STOPS, X, r"eval_set must be a tuple \(X, y\), got ndarray"),
        (classifier, STOPS, (X, LABELS_OF_X + 5), "eval_set must hold labels that were announced"),
        (classifier, STOPS, (X[:, :3], LABELS_OF_X), "features"),
        (regressor, STOPS, (X, X[:, :2]), "eval_set must have targets of the shape of y"),
    ],
)
def test_validation_rows_that_do_not_fit_are_refused(make, options, eval_set, message):
    with pytest.raises(ValueError, match=message):
        make(**options).fit(X, LABELS_OF_X, eval_set=eval_set)


def test_refit_trains_on_all_rows_for_the_best_number_of_epochs(stopped):
    again = classifier(**STOPS, refit=True).fit(X, LABELS_OF_X)
    plain = classifier(**{**STOPS, "early_stopping": False, "max_epochs": stopped.best_epoch_})
    np.testing.assert_array_equal(says(again, X), says(plain.fit(X, LABELS_OF_X), X))
    assert again.n_epochs_ == again.best_epoch_ == stopped.best_epoch_
    np.testing.assert_array_equal(again.validation_indices_, stopped.validation_indices_)
    assert again.partial_fit(X, LABELS_OF_X).n_epochs_ == stopped.best_epoch_ + 1


def test_the_ceiling_warns_and_patience_does_not():
    with pytest.warns(ConvergenceWarning, match="max_epochs=5.* best in epoch 5"):
        classifier(**{**STOPS, "max_epochs": 5}).fit(X, LABELS_OF_X)
    with pytest.warns(ConvergenceWarning, match="max_epochs=5"):
        classifier(**{**STOPS, "max_epochs": 5}, refit=True).fit(X, LABELS_OF_X)


@ends_early
def test_dropout_draws_follow_from_seed_and_epoch_and_cost_nothing_in_predictions(stopped):
    one, other = (classifier(dropout=0.5).fit(X, LABELS_OF_X) for _ in range(2))
    assert_equal(one.history_, other.history_)
    np.testing.assert_array_equal(says(one, X), says(one, X))
    assert not np.array_equal(says(one, X), says(classifier(dropout=0.0).fit(X, LABELS_OF_X), X))


def test_gradients_are_clipped():
    """With plain SGD and one batch, a step is at most rate x limit long."""
    options = {"optimizer": "sgd", "batch_size": "all", "max_epochs": 1, "weight_decay": 0.0}

    def weights(rate):
        model = classifier(learning_rate=rate, max_gradient_norm=0.01, **options).fit(X, LABELS_OF_X)
        return np.concatenate([values.ravel() for values in model._fitted.state.weights.values()])

    step = np.linalg.norm(weights(10.0) - weights(0.0))
    np.testing.assert_allclose(step, 0.1, rtol=1e-4)


def test_a_file_keeps_the_validation_rows(stopped, tmp_path):
    modae.save(stopped, tmp_path / "model.modae")
    loaded = modae.load(tmp_path / "model.modae")
    np.testing.assert_array_equal(loaded.validation_indices_, stopped.validation_indices_)
