"""A model through any sequence of fits, failures, copies and files: always that of one fresh fit."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import modae
from modae import LinearModularAutoencoder

N_COLUMNS = 4

batches = st.builds(
    lambda seed, n_rows: np.random.default_rng(seed).standard_normal((n_rows, N_COLUMNS)) + 3.0,
    st.integers(0, 1000),
    st.integers(1, 12),
)
diversities = st.sampled_from([0.0, 0.3, 0.7, 1.0])


def facts(model):
    """What does not depend on signs, rotations or the order of equal modules."""
    return {
        "loss_": model.loss_,
        "lower_bound_": model.lower_bound_,
        "allocation_": model.allocation_,
        "mean_": model.mean_,
        "total_variance_": model.total_variance_,
    }


def assert_same(model, other):
    for (name, one), two in zip(facts(model).items(), facts(other).values(), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-8, atol=1e-10, err_msg=name)


class LifeOfAModel(RuleBasedStateMachine):
    """The oracle remembers the rows and the parameters of the last fit, and fits anew."""

    @initialize(diversity=diversities, n_modules=st.integers(1, 3), n_components=st.integers(1, 2))
    def begin(self, diversity, n_modules, n_components):
        self.model = LinearModularAutoencoder(n_modules, n_components, diversity, random_state=0)
        self.rows, self.params = [], None

    @rule(rows=batches)
    def fit(self, rows):
        given = rows.copy()
        assert self.model.fit(given) is self.model
        given[:] = np.nan  # the model has its own copy of what it needs
        self.rows, self.params = [rows], self.model.get_params()

    @rule(rows=batches)
    def partial_fit(self, rows):
        given = rows.copy()
        self.model.partial_fit(given)
        given[:] = np.nan
        self.rows, self.params = [*self.rows, rows], self.model.get_params()

    @rule(
        rows=batches,
        value=st.sampled_from([np.nan, np.inf]),
        method=st.sampled_from(["fit", "partial_fit"]),
    )
    def fail_by_entries(self, rows, value, method):
        rows[-1, 0] = value
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            getattr(self.model, method)(rows)

    @rule(n_columns=st.sampled_from([1, 3, 5]))
    @precondition(lambda self: self.rows)
    def fail_by_other_columns(self, n_columns):
        for method in (self.model.partial_fit, self.model.transform):
            with pytest.raises(ValueError, match="features"):
                method(np.ones((2, n_columns)))

    @rule(diversity=diversities)
    def set_diversity(self, diversity):
        self.model.set_params(diversity=diversity)  # of the next fit: the fitted one stays

    @rule(value=st.sampled_from([-0.1, 1.1, "much"]))
    def fail_by_parameter(self, value):
        before = self.model.diversity
        with pytest.raises((ValueError, TypeError), match="diversity"):
            self.model.set_params(diversity=value).fit(np.ones((3, N_COLUMNS)))
        self.model.set_params(diversity=before)

    @rule()
    def clone_is_unfitted(self):
        twin = clone(self.model)
        assert twin.get_params() == self.model.get_params()
        with pytest.raises(NotFittedError):
            twin.transform(np.ones((1, N_COLUMNS)))

    @rule(copied=st.sampled_from([deepcopy, lambda model: pickle.loads(pickle.dumps(model))]))
    def go_on_with_a_copy(self, copied):
        self.model = copied(self.model)

    @rule()
    @precondition(lambda self: self.rows)
    def go_on_from_a_file(self):
        with TemporaryDirectory() as folder:
            modae.save(self.model, f"{folder}/model.modae", resumable=True)
            self.model = modae.load(f"{folder}/model.modae")

    @rule(diversity=diversities)
    @precondition(lambda self: self.rows)
    def derive(self, diversity):
        derived = self.model.with_diversity(diversity)
        fresh = LinearModularAutoencoder(**{**self.params, "diversity": diversity})
        assert_same(derived, fresh.fit(np.concatenate(self.rows)))

    @rule()
    @precondition(lambda self: self.rows)
    def read_by_threads(self):
        new = np.ones((2, N_COLUMNS))
        with ThreadPoolExecutor(4) as pool:
            codes = list(pool.map(lambda _: self.model.transform(new), range(8)))
        for each in codes:
            np.testing.assert_array_equal(each, codes[0])

    @invariant()
    def equals_one_fresh_fit(self):
        if not getattr(self, "rows", None):
            return
        assert_same(self.model, LinearModularAutoencoder(**self.params).fit(np.concatenate(self.rows)))


TestLifeOfAModel = pytest.mark.filterwarnings("ignore:diversity=0:UserWarning")(LifeOfAModel.TestCase)
