"""What the sections show is what the slow obvious way gives."""

import base64
import io
from functools import partial

import numpy as np
import pytest
from PIL import Image
from sklearn.linear_model import LinearRegression

from modae import report
from modae.metrics import distance_correlation, redundancy
from modae.report.features import GREYS, encoded, explained_columns, resolved_shape
from modae.report.subject import Subject

build = partial(report.build, rivals=False)  # they take longer than all the rest


@pytest.fixture(scope="module")
def subject(digit_modules, digits):
    return Subject(digit_modules, *digits, diversities=[0.0, 1.0], n_samples=1000, random_state=0)


def test_a_module_looks_at_a_column_as_much_as_a_regression_on_its_features_explains(subject, digits):
    shares = explained_columns(subject)
    X = digits[0]
    for place, model in enumerate(subject.models):
        for module, features in enumerate(model.transform_modules(X)):
            for column in (10, 20, 43):
                score = LinearRegression().fit(features, X[:, column]).score(features, X[:, column])
                assert shares[place, module, column] == pytest.approx(score, abs=1e-9)


def test_a_column_that_does_not_vary_is_not_looked_at(subject, digits):
    assert digits[0][:, 0].std() == 0.0
    assert np.all(explained_columns(subject)[:, :, 0] == 0.0)


def test_shares_of_modules_are_those_of_the_path(digit_facts, digit_modules, section_of):
    chart_map, chart_bars = section_of(digit_facts, "allocation")["charts"]
    for place, diversity in enumerate(digit_facts["diversities"]):
        shares = digit_modules.with_diversity(diversity).allocation_
        shown = len(chart_bars["names"])
        assert np.allclose(chart_bars["values"][place], shares[:shown], atol=1e-3)
        assert np.allclose(np.array(chart_map["values"])[:, place], shares[:shown], atol=1e-3)


def test_at_diversity_zero_all_modules_look_at_the_first_components(digit_facts, section_of):
    _, bars = section_of(digit_facts, "allocation")["charts"]
    assert bars["values"][0][:4] == [1.0] * 4
    assert sum(bars["values"][0][4:]) == 0.0


def test_modules_are_compared_by_distance_correlation(digit_facts, digit_modules, digits, section_of):
    (means,) = section_of(digit_facts, "likeness")["charts"]
    place = digit_facts["start"]
    mean = redundancy(digit_modules, digits[0], n_samples=400, random_state=0).value
    assert means["lines"][0]["values"][place] == pytest.approx(mean, abs=1e-3)
    features = digit_modules.transform_modules(digits[0])
    with_data = np.mean([distance_correlation(digits[0], each) for each in features])
    assert means["lines"][1]["values"][place] == pytest.approx(with_data, abs=1e-3)


def test_the_loss_section_says_what_the_estimator_says(digit_facts, digit_modules, section_of):
    (chart,) = section_of(digit_facts, "loss")["charts"]
    lost = 1.0 - digit_modules.explained_variance_ratio_of_mean_
    assert chart["lines"][0]["values"][digit_facts["start"]] == pytest.approx(lost, rel=1e-3)


def test_pictures_are_the_images_and_their_reconstructions(
    digit_facts, digit_modules, digits, section_of
):
    (chart,) = section_of(digit_facts, "reconstructions")["charts"]
    images, place = chart["images"], digit_facts["start"]
    rows = digits[0][: len(images[0])]
    low, high = rows.min(), rows.max()
    step = 255 / (GREYS - 1)
    every = digit_modules.reconstruct_modules(rows)
    wanted = [rows, every.mean(axis=0), *every]
    for column, expected in enumerate(wanted):
        for row in range(len(rows)):
            picture = _decoded(images[place][row][column])
            grey = 255 * np.clip((expected[row].reshape(8, 8) - low) / (high - low), 0, 1)
            assert np.abs(picture - grey).max() <= step / 2 + 0.5


def _decoded(text):
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(text))), dtype=float)


def test_a_picture_is_a_png_that_others_can_read():
    picture = _decoded(encoded(np.arange(6.0).reshape(2, 3), 0.0, 5.0))
    assert picture.shape == (2, 3)
    assert picture.min() == 0.0
    assert picture.max() == 255.0


def test_digits_are_images(subject):
    assert resolved_shape("auto", subject) == (8, 8)


@pytest.mark.parametrize("kind", ["noise", "series", "shuffled"])
def test_other_square_rows_are_not_images(kind, digits, digit_modules):
    rng = np.random.default_rng(0)
    rows = {
        "noise": rng.standard_normal((300, 64)),
        "series": np.cumsum(rng.standard_normal((300, 64)), axis=1),
        "shuffled": digits[0][:, rng.permutation(64)],
    }[kind]
    subject = Subject(digit_modules, rows, None, diversities=[], n_samples=1000, random_state=0)
    assert resolved_shape("auto", subject) is None


def test_densities_are_relative_to_the_highest_point(wine_facts, section_of):
    (chart,) = section_of(wine_facts, "densities")["charts"]
    heights = np.array([panel["curves"] for panel in chart["panels"]])
    assert heights.shape[1:3] == (len(wine_facts["diversities"]), 3)
    assert np.all(heights.max(axis=(2, 3)) == 1.0)
    assert heights.min() >= 0.0


def test_columns_have_their_names_and_modules_their_numbers(wine_facts, wine, section_of):
    (chart,) = section_of(wine_facts, "columns")["charts"]
    assert sorted(chart["rows"]) == sorted(wine[0].columns)
    assert chart["columns"] == [f"module {number}" for number in range(5)]
    assert "alcohol" in chart["summary"][0] or "flavanoids" in chart["summary"][0]


def test_the_error_of_a_class_is_what_its_row_has_beside_the_diagonal(wine_facts, section_of):
    confusion, by_class = section_of(wine_facts, "predictions")["charts"]
    wrong = 1.0 - np.diagonal(np.array(confusion["values"]), axis1=1, axis2=2)
    assert np.allclose(by_class["values"], wrong, atol=2e-3)
    assert by_class["range"][1] >= np.max(wrong)


def test_densities_show_a_feature_in_which_modules_differ(section_of, digits, digit_modules):
    model = digit_modules.with_diversity(0.3)
    facts = build(model, *digits, diversities=[0.0]).facts
    (chart,) = section_of(facts, "densities")["charts"]
    first, second, _ = (panel["curves"] for panel in chart["panels"])
    assert first[0] == second[0]  # at diversity 0 all modules are the same
    assert first[facts["start"]] != second[facts["start"]]
    assert model.allocation_[0] == pytest.approx(1.0)  # the first feature would be the same in all
    assert chart["panels"][0]["title"].startswith("module 0, feature ")
    assert not chart["panels"][0]["title"].endswith("feature 0")
