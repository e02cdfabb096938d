"""Sections on errors: the curves against diversity, and which rows are taken for what."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix

from modae.report.charts import Chart, Section, bars, curves, level, line, matrix, rounded, section
from modae.report.subject import Subject, most_frequent
from modae.report.trials import Trials, mean_and_error
from modae.utils.text import counted

MOST_CLASSES = 20
"""More are too many to read: the most frequent are shown."""

MOST_POINTS = 400


def error_text(value: float, classify: bool) -> str:
    """An error as people read it: percent of the rows, or a number in the unit of the target."""
    return f"{100 * value:.1f}%" if classify else f"{value:.3g}"


def error_section(subject: Subject, trials: Trials) -> Section:
    """Error of the ensemble, of its members and of the baselines against diversity."""
    what = "share of wrong rows" if trials.classify else "root mean square error"
    words = (
        f"Each line is a mean over {trials.n_folds} folds of cross-validation: the model was fitted "
        "again without the rows that it is judged on. Bands are one standard error to each side. "
        "Members alone get worse as they differ more; their "
        f"{'vote' if trials.classify else 'mean'} can get better, up to a point. (If the diversity was "
        "chosen on these rows, its error is optimistic.)"
    )
    if trials.frozen:
        words += " The modules are frozen: they were not fitted again, and may have seen all rows."
    if len(subject.diversities) == 1:
        return section("errors", "Errors", words, [_bars(subject, trials, what)])
    return section("errors", "Error against diversity", words, [_curves(subject, trials, what)])


def _bars(subject: Subject, trials: Trials, what: str) -> Chart:
    """Errors of a model without a path."""
    found = {"the ensemble": trials.ensemble[0], "one member": trials.individual[0]} | trials.baselines
    means = {name: float(values.mean()) for name, values in found.items()}
    texts = [f"{name} {error_text(mean, trials.classify)}" for name, mean in means.items()]
    return bars(
        what.capitalize(),
        [list(means.values())],
        list(means),
        x_label="",
        y_label="error" if trials.classify else what,
        unit="%" if trials.classify else "",
        top=1.05 * max(max(means.values()), 1e-3),
        summary=[", ".join(texts)],
    )


def _curves(subject: Subject, trials: Trials, what: str) -> Chart:
    ensemble, individual = mean_and_error(trials.ensemble), mean_and_error(trials.individual)
    levels = [level(name, *map(float, mean_and_error(each))) for name, each in trials.baselines.items()]
    return curves(
        what.capitalize(),
        [line("the ensemble", *ensemble), line("one member, on average", *individual)],
        y_label="error" if trials.classify else what,
        unit="%" if trials.classify else "",
        levels=levels,
        mark=subject.start,
        summary=[
            f"At diversity {diversity:g}: ensemble {error_text(both, trials.classify)}, one member "
            f"{error_text(alone, trials.classify)}; "
            + ", ".join(
                f"{each['name']} {error_text(each['value'], trials.classify)}" for each in levels
            )
            for diversity, both, alone in zip(
                subject.diversities, ensemble[0], individual[0], strict=True
            )
        ],
    )


def answer_section(subject: Subject, trials: Trials) -> Section:
    """Predicted against true: a confusion matrix, or points around the diagonal."""
    return _confusion(subject, trials) if trials.classify else _scatter(subject, trials)


def _confusion(subject: Subject, trials: Trials) -> Section:
    classes, labels = np.unique(trials.true), most_frequent(trials.true, MOST_CLASSES)
    counts = np.array([np.sum(trials.true == label) for label in labels])
    tables = [confusion_matrix(trials.true, told, labels=labels) for told in trials.told]
    shares = [table / counts[:, None] for table in tables]
    words = (
        "Rows of the table are the true classes, columns what the ensemble says, as a share of the row. "
        "A perfect ensemble has all of it on the diagonal."
    )
    if len(labels) < len(classes):
        words += (
            f" The {len(labels)} most frequent of {len(classes)} classes are shown; answers outside "
            "them are not in the table."
        )
    chart = matrix(
        "True class against answer",
        shares,
        [str(label) for label in labels],
        [str(label) for label in labels],
        x_label="answer of the ensemble",
        y_label="true class",
        unit="%",
        aim="diagonal",
        square=True,
        summary=[_worst(trials.true, told, classes) for told in trials.told],
    )
    return section("answers", "What is taken for what", words, [chart, _by_class(shares, labels)])


def _by_class(shares: list[np.ndarray], labels: np.ndarray) -> Chart:
    """Errors of the single classes, on one scale for all diversities."""
    wrong = np.array([1.0 - np.diag(each) for each in shares])
    text = "Hardest of these classes: {}, {:.1f}% wrong."
    hardest = [text.format(labels[each.argmax()], 100 * each.max()) for each in wrong]
    return bars(
        "Error of each class",
        wrong,
        [str(label) for label in labels],
        x_label="true class",
        y_label="wrong rows of the class",
        top=1.05 * max(float(wrong.max()), 0.01),
        summary=hardest,
    )


def _worst(true: np.ndarray, told: np.ndarray, labels: np.ndarray) -> str:
    """The most frequent mistakes in words, of all classes."""
    table = confusion_matrix(true, told, labels=labels)
    wrong = table - np.diag(np.diag(table))
    places = np.argsort(-wrong, axis=None, kind="stable")[:3]
    pairs = [(*np.unravel_index(place, wrong.shape), wrong.flat[place]) for place in places]
    texts = [
        f"{labels[row]} taken for {labels[col]} ({counted(count, 'row')})"
        for row, col, count in pairs
        if count
    ]
    return f"Most frequent mistakes: {', '.join(texts)}." if texts else "There are no mistakes."


def _scatter(subject: Subject, trials: Trials) -> Section:
    points = np.linspace(0, len(trials.true) - 1, min(MOST_POINTS, len(trials.true))).astype(int)
    true, told = trials.true[points], trials.told[:, points]
    both = np.concatenate([true, told.ravel()])
    spread = np.var(trials.true) or 1.0
    chart: dict[str, Any] = {
        "kind": "scatter",
        "title": "True value against prediction",
        "x_label": "true value",
        "y_label": "prediction",
        "x": rounded(true),
        "y": rounded(told),
        "range": rounded([both.min(), both.max()]),
        "diagonal": True,
        "summary": [
            f"Explained share of the variance: {1 - np.mean((each - trials.true) ** 2) / spread:.2f}."
            for each in trials.told
        ],
    }
    words = "Each point is a row that the model was not trained on. On the diagonal it is right."
    if len(points) < len(trials.true):
        words += f" {len(points)} of {len(trials.true):,} rows are shown."
    return section("answers", "Predictions", words, [chart])
