"""The introduction's claim: one extractor serves two tasks, is not trained again, and helps in both."""

import json

import numpy as np
import pytest

from modae import LinearModularAutoencoder
from modae.datasets import load_benchmark
from modae.reproduction import transfer
from modae.reproduction.run import Setting, claims
from modae.reproduction.transfer import DIVERSITY, TASKS, judge, paired_errors

ROWS = 1500
FEW = 3


@pytest.fixture(scope="module")
def digits():
    return load_benchmark("basic", ROWS, random_state=0, return_X_y=True)


@pytest.fixture(scope="module")
def extractor(digits):
    return LinearModularAutoencoder(10, 10, DIVERSITY, random_state=0).fit(digits[0])


@pytest.fixture
def small(digits, monkeypatch):
    """A run on few digits, with whatever labels."""

    def use(labels=digits[1]):
        monkeypatch.setattr(transfer, "load_images", lambda *_, **__: (digits[0], labels))
        fewer = transfer.paired_errors
        monkeypatch.setattr(transfer, "paired_errors", lambda *arguments: fewer(*arguments[:3], FEW))

    return use


def gains(first, second):
    """Errors of the ensemble and of PCA whose differences are these, for two tasks."""
    return {
        task: np.column_stack([np.full(len(gain), 0.1), 0.1 + np.array(gain)])
        for task, gain in zip(TASKS, (first, second), strict=True)
    }


CLEAR, UNCLEAR = [0.05, 0.06, 0.07], [0.05, -0.06, 0.07]


def test_two_tasks_with_their_own_labels():
    y = np.arange(10)
    assert list(TASKS["which digit"](y)) == list(y)
    assert list(y[TASKS["has a loop"](y)]) == [0, 6, 8, 9]


def test_the_shared_extractor_is_never_trained_again(extractor, digits, monkeypatch):
    X, y = digits
    before = extractor.encoders_.copy(), extractor.mean_.copy()

    def refuse(*_, **__):
        raise AssertionError("the extractor was trained again")

    monkeypatch.setattr(LinearModularAutoencoder, "fit", refuse)
    monkeypatch.setattr(LinearModularAutoencoder, "partial_fit", refuse)
    for label in TASKS.values():
        paired_errors(extractor, X, label(y), 1)
    np.testing.assert_array_equal(extractor.encoders_, before[0])
    np.testing.assert_array_equal(extractor.mean_, before[1])


def test_a_run_finds_the_claim_and_writes_its_numbers(small, tmp_path):
    small()
    told = []
    (finding,) = transfer.run(Setting(tmp_path, tell=told.append))
    assert [finding.claim] == [claim.name for claim in claims("transfer")]
    assert finding.holds, finding
    assert len(told) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["transfer.json"]
    numbers = json.loads((tmp_path / "transfer.json").read_text(encoding="utf-8"))
    assert list(numbers) == list(TASKS)
    for task, errors in numbers.items():
        ours, pca = np.array(errors).mean(axis=0)
        assert f"{task}: {100 * ours:.1f} % (PCA {100 * pca:.1f} %)" in finding.measured
        assert 0.0 < ours < pca < 0.5


def test_shuffled_labels_are_no_task(small, digits, tmp_path):
    small(labels=np.random.default_rng(0).permutation(digits[1]))
    (finding,) = transfer.run(Setting(tmp_path))
    assert not finding.holds


def test_an_extractor_that_is_one_pca_gains_nothing(extractor, digits):
    X, y = digits
    same = extractor.with_params(n_modules=1, diversity=0.0)
    errors = {task: paired_errors(same, X, label(y), 2) for task, label in TASKS.items()}
    for each in errors.values():
        np.testing.assert_array_equal(each[:, 0], each[:, 1])
    assert not judge(errors, unchanged=True).holds


def test_an_extractor_that_is_trained_again_refutes_the_claim(small, tmp_path, monkeypatch):
    small()
    errors = transfer.paired_errors

    def spoiled(extractor, X, *arguments):
        return errors(extractor.fit(X[::2]), X, *arguments)

    monkeypatch.setattr(transfer, "paired_errors", spoiled)
    assert not transfer.run(Setting(tmp_path))[0].holds


@pytest.mark.parametrize(
    ("first", "second", "unchanged", "holds"),
    [
        (CLEAR, CLEAR, True, True),
        (CLEAR, CLEAR, False, False),
        (CLEAR, UNCLEAR, True, False),
        (UNCLEAR, CLEAR, True, False),
        # of two differences a and b the margin is (a + b) / |a - b|: two standard errors at 3 and 1
        ([0.0299, 0.01], CLEAR, True, True),
        ([0.0301, 0.01], CLEAR, True, False),
        (CLEAR, [-0.03, -0.02], True, False),
    ],
)
def test_both_tasks_must_gain_clearly_and_the_extractor_stay(first, second, unchanged, holds):
    assert judge(gains(first, second), unchanged=unchanged).holds is holds
