"""The checks of the theorems come out as expected.toml says, and notice when something is wrong."""

import tomllib
from dataclasses import replace
from importlib.resources import files

import numpy as np
import pytest

from modae import LinearModularAutoencoder
from modae.core.backfitting import Descent, random_modules
from modae.core.objective import Terms
from modae.reproduction import theorems, theorems_loss
from modae.reproduction.run import Setting
from modae.reproduction.theorems_loss import CHECKS, Instance, instances
from oracles import loss_by_loops

EXPECTED = tomllib.loads(files("modae.reproduction").joinpath("expected.toml").read_text("utf-8"))
FEW = 3


# --- expected.toml -----------------------------------------------------------------------------------


@pytest.mark.parametrize("claim", EXPECTED)
def test_every_claim_is_complete(claim):
    entry = EXPECTED[claim]
    assert {"part", "where", "paper", "check", "verdict"} <= entry.keys()
    assert entry.keys() <= {"part", "where", "paper", "check", "verdict", "note", "quick"}
    assert all(isinstance(value, str) and value.strip() == value != "" for value in entry.values())
    assert entry["verdict"] in {"reproduced", "differs", "cannot be checked"}
    assert entry["verdict"] == "reproduced" or "note" in entry


def test_the_findings_are_the_claims_of_this_part(tmp_path, monkeypatch):
    monkeypatch.setattr(theorems, "QUICK", 1)
    said = []
    found = [finding.claim for finding in theorems.run(Setting(tmp_path, tell=said.append))]
    assert len(found) == len(set(found))
    assert set(found) == {claim for claim, entry in EXPECTED.items() if entry["part"] == "theorems"}
    assert len(said) == 1


@pytest.mark.parametrize("claim", CHECKS)
def test_every_check_comes_out_as_expected(claim):
    finding = CHECKS[claim](FEW)
    assert finding.claim == claim
    assert finding.holds == (EXPECTED[claim]["verdict"] == "reproduced"), finding
    assert "\n" not in finding.measured
    assert any(character.isdigit() for character in finding.measured)


# --- every check can fail ----------------------------------------------------------------------------


def spoiled_terms(function):
    """Terms whose diversity is 1 % too large."""

    def spoiled(*arguments):
        terms = function(*arguments)
        return Terms(terms.reconstruction, 1.01 * terms.diversity, terms.error_of_mean)

    return spoiled


def spoiled_gradient(function):
    """Slopes that are 1 % too large."""
    return lambda *arguments: tuple(1.01 * slope for slope in function(*arguments))


def spoiled_update(function):
    """An update whose encoder is 1 % too large."""

    def spoiled(*arguments):
        decoder, encoder = function(*arguments)
        return decoder, 1.01 * encoder

    return spoiled


def spoiled_descent(function):
    """An iteration whose modules end a little off, wherever it was."""

    def spoiled(*arguments, **options):
        end = function(*arguments, **options)
        return Descent(1.01 * end.decoders, end.encoders, end.losses, end.converged)

    return spoiled


def stuck_descent(function):
    """An iteration that goes nowhere."""
    return lambda sigma, start, lam, **options: function(sigma, start, lam, **options | {"max_iter": 0})


def spoiled_encoders(function):
    """Encoders that are not the best."""
    return lambda *arguments: 0.9 * function(*arguments)


def shrunken_limit(_):
    """A limit of one module that is 10 % too low."""
    return property(lambda instance: 0.9 * len(instance.decoders) / (len(instance.decoders) - 1))


def slow_network(_):
    """Networks that grow as q instead of q^2."""

    def slow(instance, q):
        outputs = np.zeros_like(instance.outputs)
        outputs[0, :, 0] = q
        terms = theorems_loss.output_terms(outputs, instance.rows)
        return Terms(*(float(np.mean(term)) for term in terms))

    return slow


def low_rounds(_):
    """No round of alternating least squares but one."""
    return 1


LARGE_ENCODER = (theorems_loss, "update_module", lambda f: lambda *a: (f(*a)[0], 3.0 * f(*a)[1]))
MUTATIONS = [
    ("proposition1", theorems_loss, "output_terms", spoiled_terms),
    ("proposition2", theorems_loss, "output_terms", spoiled_terms),
    ("ncl-learning-rate", theorems_loss, "linear_gradient", spoiled_gradient),
    ("lambda-zero-pca", theorems_loss, "backfit", spoiled_descent),
    ("lambda-one-monolithic", theorems_loss, "output_terms", spoiled_terms),
    ("appendix-orders", theorems_loss, "diverging_network", slow_network),
    ("one-module-bounded", *LARGE_ENCODER),
    ("one-module-unbounded", Instance, "one_module_limit", shrunken_limit),
    ("rank-restricted-regression", theorems, "ROUNDS", low_rounds),
    ("update-minimiser", theorems, "update_module", spoiled_update),
    ("update-unique", theorems, "update_module", spoiled_update),
    ("theorem2-strict", theorems, "backfit", stuck_descent),
    ("theorem2-singular", theorems, "backfit", stuck_descent),
    ("theorem2-strict", theorems, "backfit", spoiled_descent),
    ("theorem2-singular", theorems, "backfit", spoiled_descent),
    ("theorem2-critical", theorems, "backfit", spoiled_descent),
    ("theorem2-critical", theorems, "best_encoders", spoiled_encoders),
]


@pytest.mark.parametrize(("claim", "place", "name", "mutation"), MUTATIONS)
def test_a_check_notices_what_is_wrong(claim, place, name, mutation, monkeypatch):
    original = vars(place)[name]
    monkeypatch.setattr(place, name, mutation(original))
    assert not CHECKS[claim](FEW).holds


OTHER_CASES = [
    ("theorem1-nonnegative", 1.05),
    ("theorem1-unbounded", 0.99),
    ("theorem1-moreover", 1.0),
    ("lemma-complete-square", 1.0),
]


@pytest.mark.parametrize(("claim", "case"), OTHER_CASES)
def test_a_check_notices_a_case_of_which_the_claim_is_not_true(claim, case):
    assert not CHECKS[claim](FEW, cases=(case,)).holds


def test_another_learning_rate_is_not_that_of_ncl():
    own, other = (CHECKS["ncl-learning-rate"](FEW, cases=(factor,)) for factor in (0.5, 1.0))
    assert own.holds
    assert not other.holds
    assert other.measured == "largest relative difference 1.0e+00"


def test_another_weight_completes_no_square():
    instance = next(instances(1))
    assert theorems.spread_of_difference(instance, sign=-1.0) < 1e-12
    assert theorems.spread_of_difference(instance, sign=-0.99) > 1e-6


def test_simple_eigenvalues_give_no_second_minimiser():
    """The counterexample needs its tie: the same two products on spread eigenvalues differ in loss."""
    for instance in instances(FEW):
        tied = theorems.minimisers_at_a_tie(instance)
        spread = np.linspace(1.0, 2.0, instance.rows.shape[1])
        untied = [replace(each, rows=each.rows * spread) for each in tied]
        assert theorems.differences(*tied)[0] < 1e-12
        assert theorems.differences(*untied)[0] > 1e-3


def test_full_rank_leaves_no_silent_direction():
    """The counterexample needs a singular covariance: else the second product is worse."""
    for instance in instances(FEW):
        found = theorems.minimisers_if_singular(instance)
        assert theorems.differences(*found)[0] > 1e-4


def test_where_eigenvalues_tie_both_products_are_minimisers():
    """The first one is the update itself; nothing random is lower."""
    for instance in instances(FEW):
        found = theorems.minimisers_at_a_tie(instance)
        difference, products = theorems.differences(*found)
        assert difference < 1e-12
        # a a^T is exchanged for b b^T, both over 1 - lam (M-1)/M.
        own_weight = 1.0 - 0.5 / instance.one_module_limit
        assert products <= 1.0 / own_weight + 1e-12


# --- what the checks stand on ------------------------------------------------------------------------


def test_instances_are_the_same_in_every_call_and_of_several_shapes():
    first, second = list(instances(12)), list(instances(12))
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one.rows, other.rows)
        np.testing.assert_array_equal(one.decoders, other.decoders)
    modules, features, widths = (
        set(values) for values in zip(*(i.decoders.shape for i in first), strict=True)
    )
    assert modules == {2, 3, 4}
    assert widths == {1, 2, 3}
    assert len(features) >= 3
    assert all(i.decoders.shape[2] < i.decoders.shape[1] for i in first)


@pytest.mark.parametrize("singular", [False, True])
def test_the_rank_of_an_instance(singular):
    for instance in instances(6, singular=singular):
        D = instance.decoders.shape[1]
        assert np.linalg.matrix_rank(instance.covariance) == (D - 2 if singular else D)
        np.testing.assert_allclose(instance.rows.mean(axis=0), 0.0, atol=1e-12)


@pytest.mark.parametrize("lam", [0.0, 0.7, 1.3])
def test_the_loss_of_an_instance_is_that_of_the_definition(lam):
    for instance in instances(3):
        slow = loss_by_loops(instance.rows, instance.decoders, instance.encoders, lam)
        assert instance.loss(lam) == pytest.approx(slow, rel=1e-10)


def test_an_exchanged_module_leaves_the_others_alone():
    instance = next(instances(1))
    A, B = random_modules(1, *instance.decoders.shape[1:], np.random.default_rng(5))
    other = instance.with_module(1, A[0], B[0])
    np.testing.assert_array_equal(other.decoders[1], A[0])
    np.testing.assert_array_equal(other.encoders[1], B[0])
    np.testing.assert_array_equal(other.decoders[0], instance.decoders[0])
    assert not np.array_equal(instance.decoders[1], A[0])


@pytest.mark.parametrize("power", [-1.0, 2.0, 4.0])
def test_exponents_of_pure_powers(power):
    points = np.array([2.0, 5.0, 30.0])
    assert theorems_loss.fitted_exponent(points, 3.0 * points**power) == pytest.approx(power)
    assert np.isnan(theorems_loss.fitted_exponent(points, points - 3.0))


def test_above_one_random_modules_are_already_negative():
    """The hunt of Theorem 1's first half finds what there is to find just beyond it."""
    lowest = [-theorems_loss.lowest_loss(instance, 1.2) for instance in instances(4)]
    assert max(lowest) < -1e-2


def test_the_optimum_has_the_certified_loss_and_the_saddle_point_is_left():
    for instance in instances(FEW):
        M, _, H = instance.decoders.shape
        model = LinearModularAutoencoder(M, H, 0.6, random_state=0).fit(instance.rows)
        best = theorems.at_optimum(instance).loss(0.6)
        assert best == pytest.approx(model.loss_, abs=1e-8 * instance.variance)
        saddle = theorems.at_saddle_point(instance)
        assert theorems.slope_size(saddle, 0.6) < 1e-12
        assert theorems.after_an_epoch(saddle, 0.6).loss(0.6) < 0.9 * saddle.loss(0.6)


def test_full_scale_draws_more_instances(tmp_path, monkeypatch):
    counts = []
    monkeypatch.setattr(theorems, "CHECKS", {"one": counts.append})
    for full in (False, True):
        theorems.run(Setting(tmp_path, full=full))
    assert counts == [theorems.QUICK, theorems.FULL]
    assert theorems.QUICK < theorems.FULL
