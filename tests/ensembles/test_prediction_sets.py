"""Sets of classes and rows for a person: the rules exactly, and the coverage that they promise."""

from math import ceil

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

import modae
from modae import LinearModularAutoencoder, ModularClassifier, ModularClassifierCV
from modae.ensembles.conformal import HeldOut, mass_above

EXTRACTOR = LinearModularAutoencoder(3, 2, 0.5, random_state=0)


def blobs(n_rows, rng, spread=1.0):
    """Three classes that overlap, the last one rare."""
    y = rng.choice(3, n_rows, p=[0.5, 0.35, 0.15])
    return rng.standard_normal((n_rows, 4)) * spread + 1.5 * np.eye(3, 4)[y], y


def fitted(rng, n_rows=300, member=None, **options):
    X, y = blobs(n_rows, rng)
    return ModularClassifier(EXTRACTOR, member, calibrate=0.5, random_state=1, **options).fit(X, y)


@given(st.lists(st.lists(st.integers(0, 4), min_size=3, max_size=3), min_size=1, max_size=8))
def test_the_score_of_a_class_is_the_mass_of_likelier_ones(counts):
    shares = np.array(counts, dtype=float) + 1.0
    shares /= shares.sum(axis=1, keepdims=True)
    expected = [[sum(p for p in row if p > own + 1e-9) for own in row] for row in shares]
    np.testing.assert_allclose(mass_above(shares), expected, atol=1e-12)


def slow_set(model, row, coverage, per_class):
    """By the definition: sort, count, compare."""
    held, chosen = model.held_out_, []
    shares = model.predict_proba(row[None])[0]
    for place, own in enumerate(shares):
        score = sum(p for p in shares if p > own + 1e-12)
        scores = [
            s for s, c in zip(held.scores, held.labels, strict=True) if not per_class or c == place
        ]
        rank = ceil((len(scores) + 1) * coverage - 1e-12)
        chosen.append(rank > len(scores) or score <= sorted(scores)[rank - 1] + 1e-12)
    return chosen


@pytest.mark.parametrize("per_class", [False, True])
@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.95])
@pytest.mark.parametrize("member", [None, LogisticRegression()], ids=str)
def test_sets_by_the_definition(member, coverage, per_class):
    rng = np.random.default_rng(0)
    model, (new, _) = fitted(rng, member=member), blobs(30, rng)
    expected = [slow_set(model, row, coverage, per_class) for row in new]
    sets = model.predict_set(new, coverage, per_class)
    assert sets.dtype == bool
    np.testing.assert_array_equal(sets, expected)


def test_sets_hold_the_prediction_grow_with_the_coverage_and_are_never_empty():
    rng = np.random.default_rng(1)
    model, (new, _) = fitted(rng, member=LogisticRegression()), blobs(200, rng)
    predicted = np.searchsorted(model.classes_, model.predict(new))
    before = np.zeros((200, 3), dtype=bool)
    for coverage in (0.01, 0.3, 0.6, 0.9, 0.99):
        for per_class in (False, True):
            sets = model.predict_set(new, coverage, per_class=per_class)
            assert sets[np.arange(200), predicted].all()
        sets = model.predict_set(new, coverage)
        assert (sets >= before).all()
        before = sets
    assert before.sum() > 300


def test_members_never_see_the_rows_held_out():
    X, y = blobs(80, np.random.default_rng(2))
    model = ModularClassifier(EXTRACTOR, calibrate=0.25, random_state=0).fit(X, y)
    assert {len(member.nearest_.rows) for member in model.estimators_} == {60}
    assert {len(getattr(model.held_out_, name)) for name in ("scores", "labels", "doubts", "wrong")} == {
        20
    }
    again = clone(model).fit(pd.DataFrame(X, columns=list("abcd")), y)
    np.testing.assert_array_equal(again.held_out_.scores, model.held_out_.scores)
    assert not hasattr(model.set_params(calibrate=None).fit(X, y), "held_out_")


def test_a_rare_class_is_in_every_set_of_its_own_promise():
    rng = np.random.default_rng(3)
    X, y = blobs(120, rng)
    y[:4] = 7  # two or so are held out
    model = ModularClassifier(EXTRACTOR, LogisticRegression(), calibrate=0.5, random_state=0).fit(X, y)
    assert (model.held_out_.labels == 3).sum() < 9
    assert model.predict_set(X, 0.9, per_class=True)[:, 3].all()
    assert model.predict_set(X, 0.9)[:, 3].mean() < 0.2


def test_abstain_by_the_definition():
    rng = np.random.default_rng(4)
    model, (new, _) = fitted(rng, member=LogisticRegression()), blobs(50, rng)
    held = model.held_out_
    for coverage in (0.2, 0.7, 0.95):
        most = sorted(held.doubts)[ceil(151 * coverage - 1e-12) - 1]
        doubts = [1.0 - max(shares) for shares in model.predict_proba(new)]
        np.testing.assert_array_equal(model.abstain(new, coverage), np.array(doubts) > most)
        answered = [wrong for wrong, doubt in zip(held.wrong, held.doubts, strict=True) if doubt <= most]
        assert held.risk(coverage) == pytest.approx(sum(answered) / len(answered))
    assert held.risk() == held.wrong.mean()
    assert held.risk(0.5) < held.risk()


def test_what_was_held_out_is_told():
    model = fitted(np.random.default_rng(5))
    assert str(model.held_out_).startswith("150 rows held out: ")
    assert "at 90 % coverage" in model._repr_html_()
    for count, also in {
        3: "",
        8: "",
        9: ", 11.1% at 90 % coverage",
        19: ", 0.0% at 90 % coverage",
    }.items():
        doubts = np.arange(count) / count  # the last row is the only one that is wrong
        some = HeldOut(np.zeros(count), np.zeros(count, dtype=int), doubts, doubts == doubts[-1])
        assert str(some) == f"{count} rows held out: {100 / count:.1f}% wrong{also}"


def test_files_keep_it(tmp_path):
    rng = np.random.default_rng(6)
    model, (new, _) = fitted(rng), blobs(50, rng)
    modae.save(model, tmp_path / "model.modae")
    loaded = modae.load(tmp_path / "model.modae")
    for per_class in (False, True):
        np.testing.assert_array_equal(
            loaded.predict_set(new, per_class=per_class), model.predict_set(new, per_class=per_class)
        )
    np.testing.assert_array_equal(loaded.abstain(new, 0.8), model.abstain(new, 0.8))


@pytest.mark.parametrize("method", ["predict_set", "abstain"])
def test_what_cannot_work_is_refused(method):
    X, y = blobs(40, np.random.default_rng(7))
    model = ModularClassifier(EXTRACTOR, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=f"{method} needs rows that no member was trained on: fit with"):
        getattr(model, method)(X)
    model.set_params(calibrate=0.25).fit(X, y)
    for bad in (0.0, 1.0, "most", np.nan):
        with pytest.raises(ValueError, match="coverage must be a number strictly between 0 and 1, got"):
            getattr(model, method)(X, bad)
    with pytest.raises(
        ValueError, match=r"coverage=0.95 needs at least 19 rows held out, got 10: raise"
    ):
        getattr(model, method)(X, coverage=0.95)
    with pytest.raises(ValueError, match="per_class must be True or False, got 'yes'"):
        model.predict_set(X, 0.5, per_class="yes")


def test_a_calibration_that_cannot_work_is_refused():
    X, y = blobs(40, np.random.default_rng(8))
    for bad in (0.0, 1.0, "half"):
        with pytest.raises(ValueError, match="calibrate must be a number strictly between 0 and 1, got"):
            ModularClassifier(EXTRACTOR, calibrate=bad).fit(X, y)
    with pytest.raises(ValueError, match="calibrate does not work with weights"):
        ModularClassifier(EXTRACTOR, calibrate=0.5).fit(X, y, sample_weight=np.ones(40))
    alone = np.where(np.arange(40) == 5, 9, y)
    model = ModularClassifier(EXTRACTOR, calibrate=0.9, random_state=0)
    search = ModularClassifierCV(estimator=None, n_components=2, calibrate=0.5, cv=2, random_state=0)
    before = search.set_params(diversities=[0.5]).fit(X, y).predict_set(X, 0.8)
    with pytest.raises(ValueError, match=r"calibrate=0.95 leaves no row of class"):
        search.set_params(calibrate=0.95).fit(X, y)
    np.testing.assert_array_equal(search.predict_set(X, 0.8), before)
    with pytest.raises(ValueError, match=r"calibrate=0.9 leaves no row of class \d to train on: lower"):
        model.fit(X, alone)


def test_digits_are_left_to_a_person_where_the_vote_errs():
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    X, y = X[order], y[order]
    model = ModularClassifier(n_components=5, calibrate=0.25, random_state=0).fit(X[:1000], y[:1000])
    left, wrong = model.abstain(X[1000:], 0.8), model.predict(X[1000:]) != y[1000:]
    assert wrong[left].mean() > 10 * wrong[~left].mean()


@pytest.mark.slow
@pytest.mark.parametrize("per_class", [False, True])
@pytest.mark.parametrize("member", [None, LogisticRegression()], ids=str)
def test_the_promised_coverage_over_many_repetitions(member, per_class):
    levels, rng, repetitions = (0.8, 0.9, 0.95), np.random.default_rng(9), 150
    inside = np.zeros((repetitions, 3, 3))
    for k in range(repetitions):
        X, y = blobs(600, rng)
        model = ModularClassifier(EXTRACTOR, member, calibrate=0.8, random_state=k).fit(X[:300], y[:300])
        for place, level in enumerate(levels):
            sets = model.predict_set(X[300:], level, per_class)
            held = sets[np.arange(300), y[300:]]
            groups = [y[300:] == c for c in range(3)] if per_class else [slice(None)] * 3
            inside[k, place] = [held[group].mean() for group in groups]
    error = inside.std(axis=0, ddof=1) / np.sqrt(repetitions)
    assert (inside.mean(axis=0) >= np.array(levels)[:, None] - 3 * error).all()


@pytest.mark.parametrize("coverage", [0.0, -0.5, 1.5, "much", None, np.nan])
def test_a_risk_is_asked_for_at_a_share_of_the_rows(coverage):
    X, y = blobs(60, np.random.default_rng(0))
    held_out = ModularClassifier(EXTRACTOR, calibrate=0.5, random_state=0).fit(X, y).held_out_
    assert held_out.risk(1.0) == held_out.risk() == held_out.wrong.mean()
    with pytest.raises(ValueError, match="coverage must be a number strictly between 0 and 1"):
        held_out.risk(coverage)
