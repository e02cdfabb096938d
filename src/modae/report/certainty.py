"""How far to trust a prediction: calibration, errors against coverage, and the least certain rows."""

from collections.abc import Iterable
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.base import is_classifier

from modae.data.validation import take_rows
from modae.metrics import risk_coverage_curve
from modae.report.charts import Named, Section, chart, curves, worded, words
from modae.report.features import MOST_COLUMNS, encoded, is_bright_on_dark
from modae.report.subject import Subject
from modae.utils.arrays import Array
from modae.utils.text import format_number, percent

N_BINS = 10

COVERAGES = (0.95, 0.9, 0.8)

LEAST_CERTAIN = 12

#: Of a curve: more are not seen.
MOST_POINTS = 100


class Answers(NamedTuple):
    """What a model says of rows that it was not trained on, and how sure it is, (n_rows,) each.

    ``uncertainty`` is the total uncertainty of a classifier, or the spread of a regressor's members.
    ``probability`` is that of the predicted class and ``second`` the next likeliest class; both mean
    nothing for a regressor.
    """

    predicted: np.ndarray
    uncertainty: Array
    probability: Array
    second: np.ndarray

    @classmethod
    def of(cls, ensemble: Any, rows: Any, predicted: Any) -> Self:
        """Ask a fitted ensemble how sure it is of what it predicted."""
        uncertainty = ensemble.uncertainty(rows)
        if not is_classifier(ensemble):
            return cls(predicted, uncertainty, uncertainty, predicted)
        shares = np.array(ensemble.predict_proba(rows))
        own = np.searchsorted(ensemble.classes_, predicted)[:, None]
        probability = np.take_along_axis(shares, own, axis=1)[:, 0]
        np.put_along_axis(shares, own, -1.0, axis=1)
        return cls(predicted, uncertainty[:, 0], probability, ensemble.classes_[shares.argmax(axis=1)])

    @classmethod
    def joined(cls, parts: Iterable[Self], order: np.ndarray) -> Self:
        """Those of several folds, in the order of the rows."""
        return cls(*(np.concatenate(each)[order] for each in zip(*parts, strict=True)))


def trust_section(answers: Answers, labels: np.ndarray, whose: str) -> Section:
    """Whether the probabilities of a classifier are right, and errors if doubtful rows are left out."""
    sure, right = answers.probability, answers.predicted == labels
    # Shares of votes lie on the borders of bins: round-off must not move them across.
    bins = np.minimum((N_BINS * sure + 1e-9).astype(int), N_BINS - 1)
    _, places, n_rows = np.unique(bins, return_inverse=True, return_counts=True)
    said, found = (np.bincount(places, weights=each) / n_rows for each in (sure, right))
    share = (n_rows * found + 1.0) / (n_rows + 2.0)  # a few rows that are all right prove little
    lines: Named = {"right predictions": (found, np.sqrt(share * (1.0 - share) / n_rows))}
    off = percent(np.sum(n_rows * np.abs(said - found)) / len(right)).removesuffix("%")
    shares = {"sure": percent(sure.mean()), "right": percent(right.mean()), "off": off}
    told = words()["trust"]["said"].format(**shares)
    axes: dict[str, Any] = {"unit": "%", "x_range": [0.0, 1.0], "y_range": [0.0, 1.0]}
    axes |= {"x_label": "probability of the predicted class", "y_label": "right predictions"}
    ideal: dict[str, Any] = {"counts": n_rows, "diagonal": "probabilities that are right"}
    calibration = curves("Calibration", lines, x=said, summary=told, **axes, **ideal)
    coverage, risk = risk_coverage_curve(labels, answers.predicted, 1.0 - sure)
    last = [int(np.ceil(share * len(risk) - 1e-9)) - 1 for share in COVERAGES]
    at = [f"at {c:.0%} coverage {percent(risk[k])}" for c, k in zip(COVERAGES, last, strict=True)]
    told = f"{percent(risk[-1])} of all predictions are wrong, {', '.join(at)}."
    shown = np.unique(np.linspace(0, len(risk) - 1, MOST_POINTS).astype(int))
    axes |= {"x_label": "coverage: share of the rows answered", "y_label": "wrong predictions"}
    axes["y_range"] = [0.0, 1.1 * max(float(risk[len(risk) // 20 :].max()), 0.01)]
    lines = {"wrong predictions among the rows answered": (risk[shown], None)}
    left_out = curves("Risk and coverage", lines, x=coverage[shown], summary=told, **axes)
    return worded("trust", [calibration, left_out], whose=whose)


def least_certain_section(
    subject: Subject, answers: Answers, shape: tuple[int, int] | None, whose: str
) -> Section:
    """The rows with the highest uncertainty: what is known of them, and their image or their columns."""
    chosen = np.argsort(-answers.uncertainty, kind="stable")[:LEAST_CERTAIN]
    few = Answers(*(each[chosen] for each in answers))
    labels = None if subject.labels is None else subject.labels[chosen]
    classify = subject.parts.task == "classification"
    kind = "class" if classify else "value"
    told = f"{len(chosen)} of {subject.n_shown:,} rows, the least certain first."
    columns: list[tuple[str, Any]] = [("row", subject.places[chosen] + 1)]
    content: dict[str, Any] = {"class_column": None}
    if classify and labels is not None:
        right, content["class_column"] = few.predicted == labels, len(columns)
        columns.append(("result", np.where(right, "right", "wrong")))
        told += f" {np.sum(~right)} of their predictions are wrong."
    columns += [] if labels is None else [(f"true {kind}", labels)]
    columns.append((f"predicted {kind}", few.predicted))
    if classify:
        columns += [("probability", map(percent, few.probability)), ("next likeliest", few.second)]
    else:
        columns.append(("spread", few.uncertainty))
    raw = take_rows(subject.raw, chosen)
    values = raw.toarray() if issparse(raw) else np.asarray(raw)
    if shape is not None:
        images = values if values.shape[1] == shape[0] * shape[1] else subject.take(chosen)[1]
        low, high = float(images.min()), float(images.max())
        content["images"] = [encoded(each.reshape(shape), low, high) for each in images]
        content["invert"] = is_bright_on_dark(images)
    else:
        own = subject.names if len(subject.names) == values.shape[1] else range(values.shape[1])
        names = [str(name) for name in getattr(raw, "columns", own)][:MOST_COLUMNS]
        columns += zip(names, values.T, strict=False)
        if len(names) < values.shape[1]:
            told += f" The first {len(names)} of {values.shape[1]:,} columns are shown."
    content["columns"], cells = zip(*columns, strict=True)
    content["rows"] = [[_cell(each) for each in row] for row in zip(*cells, strict=True)]
    drawn = chart("table" if shape is None else "cards", "Rows", summary=told, **content)
    return worded("uncertain" if classify else "spread", [drawn], whose=whose)


def _cell(value: Any) -> str:
    """A number, or a text, for people."""
    return format_number(float(value)) if isinstance(value, (float, np.floating)) else str(value)
