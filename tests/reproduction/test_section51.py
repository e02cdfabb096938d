"""Section 5.1: the stated mixture, both errors, and checks that notice when the picture is another."""

import json

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression

from modae.reproduction import section51
from modae.reproduction.run import Setting, claims
from modae.reproduction.section51 import MEANS, N_TEST, N_TRAIN, PAPER, TOLERANCE, mixture, separation


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Folder, findings by claim, and what was said, of a run."""
    folder, told = tmp_path_factory.mktemp("section51"), []
    findings = section51.run(Setting(folder, tell=told.append))
    return folder, {finding.claim: finding for finding in findings}, told


@pytest.fixture(scope="module")
def numbers(run):
    return json.loads((run[0] / "section51.json").read_text(encoding="utf-8"))


def changed_fit(monkeypatch, diversity):
    """Make every model one of this diversity, whatever is asked for."""
    fitted = section51.fitted
    monkeypatch.setattr(section51, "fitted", lambda _, seed: fitted(diversity, seed))


# --- the mixture -------------------------------------------------------------------------------------


def test_the_mixture_is_the_one_that_is_stated():
    X, y = mixture(0)
    assert X.shape == (N_TRAIN + N_TEST, 2)
    assert sorted(set(y)) == [1, 2, 3]
    np.testing.assert_allclose(MEANS, [(-2, -2 / 3), (0, 4 / 3), (2, -2 / 3)])
    for label, mean in enumerate(MEANS, start=1):
        own = X[y == label]
        error = 4.0 / np.sqrt(len(own))
        np.testing.assert_allclose(own.mean(axis=0), mean, atol=error)
        np.testing.assert_allclose(np.cov(own.T), np.eye(2), atol=1.5 * error)
        assert abs(len(own) / len(X) - 1 / 3) < 0.06


def test_the_numbers_say_which_mixture_it_was(numbers):
    np.testing.assert_allclose(numbers["means"], MEANS)
    assert numbers["standard_deviation"] == 1.0
    assert numbers["rows"] == {"train": 600, "test": 600}
    (note,) = [
        claim.note for claim in claims("section51") if claim.name.endswith("at-zero") and claim.note
    ]
    assert "(-2, -2/3), (0, 4/3), (2, -2/3)" in note
    assert "600 rows to train and 600 to test" in note


# --- errors ------------------------------------------------------------------------------------------


def test_findings_are_the_claims_of_this_part_and_all_hold(run):
    findings = run[1]
    assert list(findings) == [claim.name for claim in claims("section51")]
    assert all(finding.holds for finding in findings.values()), findings
    assert len(run[2]) == 1


@pytest.mark.parametrize(("diversity", "percent"), [("0.0", 21.3), ("0.5", 12.8)])
def test_both_errors_are_within_three_points_of_the_papers(numbers, diversity, percent):
    errors = 100 * np.array(numbers["errors"][diversity])
    assert len(errors) == 20
    assert abs(errors.mean() - percent) < 3.0
    assert errors.std() > 0.1  # different mixtures


def test_the_error_at_zero_is_that_of_softmax_on_one_principal_component(numbers):
    for seed in (0, 1, 2):
        X, y = mixture(seed)
        pca = PCA(1).fit(X[:N_TRAIN])
        softmax = LogisticRegression().fit(pca.transform(X[:N_TRAIN]), y[:N_TRAIN])
        error = 1.0 - softmax.score(pca.transform(X[N_TRAIN:]), y[N_TRAIN:])
        # the same feature up to scale and sign, which move a row on the boundary at most
        assert numbers["errors"]["0.0"][seed] == pytest.approx(error, abs=1.5 / N_TEST)


@pytest.mark.parametrize("diversity", PAPER)
@pytest.mark.parametrize(
    ("off", "holds"), [(0.029, True), (-0.029, True), (0.031, False), (-0.031, False)]
)
def test_the_tolerance_is_three_points_to_both_sides(diversity, off, holds):
    errors = PAPER[diversity] + off + np.array([-0.01, 0.0, 0.01])
    finding = section51.check_error("any", diversity, errors)
    assert bool(finding.holds) is holds
    assert finding.measured == f"{100 * (PAPER[diversity] + off):.1f} +- 1.0 % (3 mixtures)"
    assert TOLERANCE == 0.03


# --- what each feature separates ---------------------------------------------------------------------


def test_areas_by_counting_pairs():
    """The area is the share of pairs of points, one of each class, that the feature orders."""
    X, y = mixture(3)
    areas = separation(3)
    assert areas.shape == (2, 3)
    features = section51.fitted(0.5, 3).extractor_.transform_modules(X[N_TRAIN:])[:, :, 0]
    labels = y[N_TRAIN:]
    for feature, line in zip(features, areas, strict=True):
        for (first, second), area in zip([(1, 2), (1, 3), (2, 3)], line, strict=True):
            ordered = feature[labels == first][:, None] > feature[labels == second]
            assert area == pytest.approx(max(ordered.mean(), 1.0 - ordered.mean()))


def test_a_rotated_plane_changes_nothing(monkeypatch):
    """Neither the data nor the modules know directions: only what lies between the clusters counts."""
    angle = 0.7
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    monkeypatch.setattr(section51, "MEANS", tuple(map(tuple, np.array(MEANS) @ turn)))
    assert section51.check_separated_classes(3).holds


@pytest.mark.parametrize("order", [(1, 0, 2), (0, 2, 1), (1, 2, 0)])
def test_other_classes_at_the_ends_are_noticed(monkeypatch, order):
    monkeypatch.setattr(section51, "MEANS", tuple(MEANS[k] for k in order))
    finding = section51.check_separated_classes(2)
    assert not finding.holds
    assert finding.measured.startswith("0 of 2")


def test_the_two_ends_may_change_places(monkeypatch):
    monkeypatch.setattr(section51, "MEANS", MEANS[::-1])
    assert section51.check_separated_classes(2).holds


def test_equal_modules_separate_nothing(monkeypatch):
    changed_fit(monkeypatch, 0.0)
    assert not section51.check_separated_classes(2).holds


def test_clusters_in_one_heap_are_noticed(monkeypatch):
    monkeypatch.setattr(section51, "SPREAD", 3.0)
    assert not section51.check_separated_classes(2).holds


def test_features_that_differ_are_not_identical(monkeypatch):
    changed_fit(monkeypatch, 0.5)
    assert not section51.check_identical_features(1).holds


# --- decision boundaries -----------------------------------------------------------------------------


@pytest.mark.parametrize("diversity", PAPER)
def test_equal_diversities_have_no_two_kinds_of_boundary(monkeypatch, diversity):
    changed_fit(monkeypatch, diversity)
    assert not section51.check_boundary(side=40).holds


def test_at_zero_the_label_depends_on_the_first_principal_component_alone():
    model, X = section51.fitted(0.0, 0), mixture(0)[0]
    across = PCA(2).fit(X[:N_TRAIN]).components_[1]
    assert (model.predict(X) == model.predict(X + 2.0 * across)).all()
    other = section51.fitted(0.5, 0)
    assert (other.predict(X) != other.predict(X + 2.0 * across)).mean() > 0.1


# --- files -------------------------------------------------------------------------------------------


def test_a_run_writes_numbers_and_pictures(run):
    folder = run[0]
    names = {path.name for path in folder.iterdir()}
    assert names == {"section51.json", "section51.png", "section51.svg"}
    assert (folder / "section51.png").read_bytes().startswith(b"\x89PNG")
    assert plt.get_fignums() == []


def test_the_picture_has_densities_and_regions_for_both_diversities():
    figure = section51.draw()
    titles = [ax.get_title() for ax in figure.axes if ax.get_title()]
    assert [title.split(":")[0] for title in titles] == 3 * ["diversity 0"] + 3 * ["diversity 0.5"]
    assert [title.split(": ")[1].split(",")[0] for title in titles] == 2 * [
        "feature 1",
        "feature 2",
        "decision regions",
    ]
    plt.close(figure)
