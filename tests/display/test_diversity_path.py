"""DiversityPathDisplay: curves, bands, baselines, the chosen diversity."""

import numpy as np
import pytest
from matplotlib.colors import same_color
from sklearn.datasets import load_iris

from modae import ModularClassifierCV, ModularRegressorCV
from modae.display import DiversityPathDisplay

CURVES = {
    "diversities": [1.0, 0.0, 0.5],
    "ensemble_error": [0.08, 0.10, 0.05],
    "individual_error": [0.40, 0.10, 0.15],
}


def drawn(**more):
    return DiversityPathDisplay(**(CURVES | more)).plot()


def legend_of(display):
    return [entry.get_text() for entry in display.ax_.get_legend().get_texts()]


@pytest.fixture(scope="module")
def search():
    settings = {"diversities": [0.9, 0.1, 0.4], "n_modules": [3, 5], "n_components": [1, 2]}
    return ModularClassifierCV(None, None, **settings, cv=3, random_state=0).fit(
        *load_iris(return_X_y=True)
    )


def test_curves_go_from_left_to_right():
    ensemble, members = drawn().lines_
    np.testing.assert_array_equal(ensemble.get_xydata(), [[0.0, 0.10], [0.5, 0.05], [1.0, 0.08]])
    np.testing.assert_array_equal(members.get_xydata(), [[0.0, 0.10], [0.5, 0.15], [1.0, 0.40]])


def test_bands_are_one_standard_error_to_each_side():
    display = drawn(ensemble_se=[0.03, 0.01, 0.02])
    (band,) = display.bands_
    corners = band.get_paths()[0].vertices
    for place, low, high in ((0.0, 0.09, 0.11), (0.5, 0.03, 0.07), (1.0, 0.05, 0.11)):
        heights = corners[corners[:, 0] == place, 1]
        assert (heights.min(), heights.max()) == pytest.approx((low, high))
    assert same_color(band.get_facecolor()[0, :3], display.lines_[0].get_color())


def test_baselines_are_level_lines_with_bands_where_they_have_a_standard_error():
    display = drawn(baseline={"forest": (0.07, 0.01), "PCA": 0.1, "bagging": np.float64(0.09)})
    baselines = display.lines_[2:]
    assert [set(line.get_ydata()) for line in baselines] == [{0.07}, {0.1}, {0.09}]
    assert len({line.get_linestyle() for line in baselines}) == 3
    (band,) = display.bands_
    edges = band.get_y(), band.get_y() + band.get_height()
    assert edges == pytest.approx((0.06, 0.08))


def test_the_chosen_diversity_is_marked_on_the_curve_of_the_ensemble():
    display = drawn(chosen=0.5)
    np.testing.assert_array_equal(display.mark_.get_xydata(), [[0.5, 0.05]])
    assert drawn().mark_ is None


def test_words_on_the_axes_and_in_the_legend():
    display = drawn(baseline={"random forest": 0.07}, chosen=0.5)
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("diversity", "error")
    names = ["ensemble", "mean of its members", "random forest", "chosen diversity: 0.5"]
    assert legend_of(display) == names
    assert display.ax_.get_ylim()[0] == 0.0
    display.ax_.set_yticks([0.0, 0.1])
    assert [tick.get_text() for tick in display.ax_.get_yticklabels()] == ["0%", "10%"]


def test_a_single_diversity_is_a_dot():
    single = {"diversities": [0.5], "ensemble_error": [0.1], "individual_error": [0.2]}
    assert DiversityPathDisplay(**single).plot().lines_[0].get_marker() == "o"
    assert drawn().lines_[0].get_marker() == "None"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"ensemble_error": [0.1]}, r"ensemble_error must have one value for each diversity, \(3,\)"),
        ({"individual_se": [[0.1] * 3]}, r"individual_se .* got \(1, 3\)"),
        ({"chosen": 0.3}, r"chosen must be one of the diversities \[1.0, 0.0, 0.5\], got 0.3"),
        ({"baseline": {"PCA": (1, 2, 3)}}, r"baseline\['PCA'\] must be an error, or a pair"),
    ],
)
def test_what_does_not_fit_is_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        DiversityPathDisplay(**(CURVES | wrong))


def rows_of_size(search, n_modules, n_components):
    """Diversity, ensemble and individual error of the candidates of one size, the slow way."""
    results = search.cv_results_
    rows = [
        (params["diversity"], results["mean_ensemble_error"][i], results["mean_individual_error"][i])
        for i, params in enumerate(results["params"])
        if (params["n_modules"], params["n_components"]) == (n_modules, n_components)
    ]
    return np.array(sorted(rows))


def test_a_search_shows_the_size_that_it_chose(search):
    display = DiversityPathDisplay.from_estimator(search)
    best = search.best_params_
    expected = rows_of_size(search, best["n_modules"], best["n_components"])
    np.testing.assert_array_equal(display.lines_[0].get_xydata(), expected[:, [0, 1]])
    np.testing.assert_array_equal(display.lines_[1].get_xydata(), expected[:, [0, 2]])
    assert display.chosen == best["diversity"]
    assert display.mark_.get_ydata() == pytest.approx([1.0 - search.best_score_])
    assert len(display.bands_) == 2


@pytest.mark.parametrize("n_modules", [3, 5])
@pytest.mark.parametrize("n_components", [1, 2])
def test_a_search_shows_any_size_that_it_tried(search, n_modules, n_components):
    size = {"n_modules": n_modules, "n_components": n_components}
    display = DiversityPathDisplay.from_estimator(search, **size)
    expected = rows_of_size(search, n_modules, n_components)
    np.testing.assert_array_equal(display.lines_[0].get_xydata(), expected[:, [0, 1]])
    is_chosen = size.items() <= search.best_params_.items()
    assert (display.mark_ is not None) == is_chosen


def test_a_size_that_was_not_tried_is_refused(search):
    with pytest.raises(ValueError, match=r"n_modules must be one of those tried, \[3 5\], got 4"):
        DiversityPathDisplay.from_estimator(search, n_modules=4)


def test_standard_errors_of_a_search_become_its_bands(search):
    display = DiversityPathDisplay.from_estimator(search, n_modules=3, n_components=1)
    results = search.cv_results_
    for name, shown in (("ensemble", display.ensemble_se), ("individual", display.individual_se)):
        rows = [
            (params["diversity"], results[f"se_{name}_error"][i])
            for i, params in enumerate(results["params"])
            if (params["n_modules"], params["n_components"]) == (3, 1)
        ]
        np.testing.assert_array_equal(shown, [se for _, se in sorted(rows)])
    assert (display.ensemble_se > 0).any()


def fake_search(chosen):
    """What a search over kinds of members leaves: learners on X itself have no diversity."""
    params = [
        {"family": "linear", "C": 1.0},
        *(
            {"family": "svm", "C": 1.0, "n_modules": 3, "n_components": 2, "diversity": d}
            for d in (1.0, 0.5)
        ),
        {"family": "trees", "n_modules": 9, "n_components": 4, "diversity": 0.5},
    ]
    search = ModularClassifierCV()
    search.best_estimator_, search.best_index_, search.best_params_ = None, chosen, params[chosen]
    errors = np.array([0.1, 0.2, 0.3, 0.4])
    kinds = [f"{kind}_{of}_error" for kind in ("mean", "se") for of in ("ensemble", "individual")]
    search.cv_results_ = {"params": params, "rank_test_score": np.array([1, 2, 3, 4])}
    search.cv_results_ |= dict.fromkeys(kinds, errors)
    return search


def test_only_candidates_that_differ_in_diversity_alone_are_one_curve():
    display = DiversityPathDisplay.from_estimator(fake_search(2))
    np.testing.assert_array_equal(display.lines_[0].get_xydata(), [[0.5, 0.3], [1.0, 0.2]])
    assert display.chosen == 0.5


def test_a_search_that_chose_a_learner_on_all_columns_shows_the_best_modules():
    display = DiversityPathDisplay.from_estimator(fake_search(0))
    np.testing.assert_array_equal(display.lines_[0].get_xydata(), [[0.5, 0.3], [1.0, 0.2]])
    assert display.mark_ is None
    with pytest.raises(ValueError, match="n_modules and n_components must be tried together"):
        DiversityPathDisplay.from_estimator(fake_search(0), n_modules=9)


def test_a_search_without_modules_has_no_curve():
    search = fake_search(0)
    search.cv_results_["params"] = [{"family": "linear"}] * 4
    with pytest.raises(ValueError, match="search has tried no modules"):
        DiversityPathDisplay.from_estimator(search)


def test_a_search_for_numbers_is_named_for_what_it_shows_and_not_in_percent():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((60, 4))
    search = ModularRegressorCV(
        estimator=None, diversities=[0.3, 0.8], cv=2, n_modules=3, n_components=2
    )
    display = DiversityPathDisplay.from_estimator(search.fit(rows, rows[:, 0]))
    assert display.ax_.get_ylabel() == "1 \N{MINUS SIGN} R²"
    assert "%" not in display.ax_.yaxis.get_major_formatter()(0.25, 0)
