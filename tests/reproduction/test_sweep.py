"""The measurements behind Figure 2, on a data set small enough to be measured again the slow way."""

from dataclasses import replace
from shutil import copytree

import dcor
import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier

from modae.datasets import load_benchmark
from modae.reproduction import figure2
from modae.reproduction.figure2 import FULL_SIZES, N_FOLDS, SIZES, grid, sweeps
from modae.reproduction.run import Setting

SIZE = 150
GRID = [0.0, 0.5, 1.0]


@pytest.fixture(scope="module")
def small():
    """One data set, 150 rows, three diversities, and a list of what was said."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(figure2, "QUICK_SIZE", SIZE)
        patch.setattr(figure2, "FULL_SIZES", {"basic": SIZE})
        patch.setattr(figure2, "grid", lambda setting: GRID)
        yield


@pytest.fixture(scope="module")
def told():
    return []


@pytest.fixture(scope="module")
def setting(tmp_path_factory, told):
    return Setting(tmp_path_factory.mktemp("sweep"), n_jobs=1, tell=told.append)


@pytest.fixture(scope="module")
def measured(small, setting):
    (only,) = sweeps(setting)
    return only


def rows_and_folds(seed=0):
    X, y = load_benchmark("basic", SIZE, random_state=seed, return_X_y=True)
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed)
    return X, y, list(folds.split(X, y))


# --- the plan ----------------------------------------------------------------------------------------


def test_diversities_of_both_scales(tmp_path):
    assert grid(Setting(tmp_path)) == [k / 10 for k in range(11)]
    assert grid(Setting(tmp_path, full=True)) == [k / 20 for k in range(21)]


def test_full_scale_is_that_of_the_originals():
    names = ["basic", "rotations", "background_noise", "background_images", "rectangles", "convex"]
    assert list(FULL_SIZES) == names
    assert {size for name, size in FULL_SIZES.items() if name != "convex"} == {12_000}
    assert FULL_SIZES["convex"] == 8_000


# --- what is measured --------------------------------------------------------------------------------


def test_every_fold_and_diversity_is_there(measured):
    assert measured.name == "basic"
    assert measured.diversities.tolist() == GRID
    assert measured.ensemble.shape == measured.individual.shape == (N_FOLDS, 3)
    assert measured.bagging.shape == (N_FOLDS,)
    assert measured.faithfulness.shape == measured.redundancy.shape == (2, 3, 2)
    errors = np.hstack([measured.ensemble, measured.bagging[:, None]])
    n_test = SIZE // N_FOLDS
    np.testing.assert_allclose(errors * n_test, np.rint(errors * n_test), atol=1e-9)
    assert (np.ptp(errors, axis=1) > 0).any()


def test_at_diversity_zero_the_errors_are_those_of_one_pca(measured):
    X, y, folds = rows_and_folds()
    for (train, test), ensemble, individual in zip(
        folds, measured.ensemble[:, 0], measured.individual[:, 0], strict=True
    ):
        pca = PCA(SIZES["n_components"], svd_solver="full").fit(X[train])
        single = KNeighborsClassifier(1).fit(pca.transform(X[train]), y[train])
        error = 1.0 - single.score(pca.transform(X[test]), y[test])
        assert [ensemble, individual] == pytest.approx([error, error])


def test_members_get_worse_with_diversity(measured):
    individual = measured.individual.mean(axis=0)
    assert individual[0] < individual[-1]
    assert measured.ensemble.mean(axis=0)[1] < individual[1]


@pytest.mark.parametrize("part", [0, 1], ids=["training rows", "test rows"])
def test_at_diversity_zero_the_correlations_are_those_of_one_pca(measured, part):
    X, _, folds = rows_and_folds()
    pca = PCA(SIZES["n_components"], svd_solver="full").fit(X[folds[0][0]])
    rows = X[folds[0][part]].astype(np.float64)
    expected = dcor.distance_correlation(rows, pca.transform(rows))
    assert measured.faithfulness[part, 0, 0] == pytest.approx(expected, abs=1e-5)
    assert measured.redundancy[part, 0, 0] == pytest.approx(1.0, abs=1e-6)
    assert measured.redundancy[part, 2, 0] < 0.9
    assert (measured.faithfulness[part, :, 1] > 0).all()


# --- going on ----------------------------------------------------------------------------------------


def assert_same(one, other):
    for name in ("ensemble", "individual", "bagging", "faithfulness", "redundancy"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_what_was_measured_is_not_measured_again(measured, setting, told):
    before = list(told)
    assert_same(sweeps(setting)[0], measured)
    assert (
        told
        == before
        == [
            "Figure 2: basic, 150 images, seed 0",
            "Section 5.2: basic, distance correlations",
        ]
    )


def test_only_what_is_missing_is_measured_and_comes_out_the_same(measured, setting, told):
    (setting.out / "measured" / "sweep-basic-0.json").unlink()
    told.clear()
    assert_same(sweeps(setting)[0], measured)
    assert told == ["Figure 2: basic, 150 images, seed 0"]


@pytest.mark.parametrize(
    ("name", "value"), [("QUICK_SIZE", 160), ("grid", lambda setting: [0.0, 0.4, 1.0])]
)
def test_another_size_or_grid_is_measured_anew(measured, setting, tmp_path, monkeypatch, name, value):
    told = []
    out = copytree(setting.out, tmp_path / "out")
    monkeypatch.setattr(figure2, name, value)
    (again,) = sweeps(Setting(out, n_jobs=1, tell=told.append))
    assert len(told) == 2
    assert not np.array_equal(again.ensemble, measured.ensemble)


@pytest.mark.slow
def test_the_number_of_cores_changes_nothing(measured, tmp_path):
    assert_same(sweeps(Setting(tmp_path, n_jobs=2))[0], measured)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:diversity=0 makes all modules equal")  # best of so few rows
def test_full_scale_has_three_seeds_that_draw_other_digits(measured, tmp_path):
    told = []
    (full,) = sweeps(Setting(tmp_path, full=True, n_jobs=1, tell=told.append))
    assert full.ensemble.shape == (3 * N_FOLDS, 3)
    assert [line[-1] for line in told if line.startswith("Figure 2")] == ["0", "1", "2"]
    np.testing.assert_array_equal(full.ensemble[:N_FOLDS], measured.ensemble)
    runs = np.split(full.individual, 3)
    assert not np.array_equal(runs[0], runs[1])
    assert not np.array_equal(runs[1], runs[2])


def test_a_name_for_people(measured):
    assert replace(measured, name="background_images").title == "background images"
