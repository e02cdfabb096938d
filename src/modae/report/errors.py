"""Sections on errors: the curves against diversity, and which rows are taken for what."""

from __future__ import annotations

import numpy as np
from sklearn.metrics import confusion_matrix

from modae.report.charts import Section, chart, curves, level, line, section
from modae.report.subject import Subject, most_frequent
from modae.report.trials import Trials, mean_and_error
from modae.utils.text import counted, format_number, percent

MOST_CLASSES = 20
"""More are too many to read: the most frequent are shown."""

MOST_POINTS = 400


def error_text(value: float, classify: bool) -> str:
    """An error as people read it: percent of the rows, or a number in the unit of the target."""
    return percent(value) if classify else format_number(value, digits=3)


def error_section(subject: Subject, trials: Trials) -> Section:
    """Error of the ensemble, its members and the baselines: against diversity if there is a path."""
    classify = trials.classify
    what = "share of wrong rows" if classify else "root mean square error"
    unit, y_label = ("%", "error") if classify else ("", what)
    text = (
        f"Each line is a mean over {trials.ensemble.shape[1]} folds of cross-validation: the model was "
        "fitted again without the rows that it is judged on. Bands are one standard error to each side. "
        "Members alone get worse as they differ more; their "
        f"{'vote' if classify else 'mean'} can get better, up to a point. (If the diversity was "
        "chosen on these rows, its error is optimistic.)"
    )
    if trials.frozen:
        text += " The modules are frozen: they were not fitted again, and may have seen all rows."
    if len(subject.diversities) == 1:
        found = {"the ensemble": trials.ensemble[0], "one member": trials.individual[0]}
        means = {name: float(np.mean(each)) for name, each in (found | trials.baselines).items()}
        texts = ", ".join(f"{name} {error_text(mean, classify)}" for name, mean in means.items())
        columns = chart(
            "bars",
            what.capitalize(),
            names=list(means),
            values=[list(means.values())],
            range=[0.0, 1.05 * max(*means.values(), 1e-3)],
            y_label=y_label,
            unit=unit,
            summary=[texts],
        )
        return section("errors", "Errors", text, [columns])
    ensemble, individual = mean_and_error(trials.ensemble), mean_and_error(trials.individual)
    levels = [level(name, *map(float, mean_and_error(each))) for name, each in trials.baselines.items()]
    others = ", ".join(f"{each['name']} {error_text(each['value'], classify)}" for each in levels)
    lines = curves(
        what.capitalize(),
        [line("the ensemble", *ensemble), line("one member, on average", *individual)],
        y_label=y_label,
        unit=unit,
        levels=levels,
        mark=subject.start,
        summary=[
            f"At diversity {diversity:g}: ensemble {error_text(both, classify)}, one member "
            f"{error_text(alone, classify)}; {others}"
            for diversity, both, alone in zip(
                subject.diversities, ensemble[0], individual[0], strict=True
            )
        ],
    )
    return section("errors", "Error against diversity", text, [lines])


def prediction_section(trials: Trials) -> Section:
    """Predicted against true: a confusion matrix, or points around the diagonal."""
    return _confusion(trials) if trials.classify else _scatter(trials)


def _confusion(trials: Trials) -> Section:
    true, shown = trials.labels, most_frequent(trials.labels, MOST_CLASSES)
    classes, names = np.unique(true), [str(label) for label in shown]
    counts = np.array([np.sum(true == label) for label in shown])
    tables = [confusion_matrix(true, predicted, labels=shown) for predicted in trials.predictions]
    shares = np.array([table / counts[:, None] for table in tables])
    text = (
        "Rows of the table are the true classes, columns what the ensemble says, as a share of the row. "
        "A perfect ensemble has all of it on the diagonal."
    )
    if len(shown) < len(classes):
        text += (
            f" The {len(shown)} most frequent of {len(classes)} classes are shown; answers outside "
            "them are not in the table."
        )
    table = chart(
        "matrix",
        "True class against answer",
        rows=names,
        columns=names,
        values=shares,
        range=[0.0, 1.0],
        x_label="answer of the ensemble",
        y_label="true class",
        unit="%",
        aim="diagonal",
        square=True,
        show_values=True,
        summary=[_most_frequent_mistakes(true, each, classes) for each in trials.predictions],
    )
    wrong = 1.0 - np.diagonal(shares, axis1=1, axis2=2)
    by_class = chart(
        "bars",
        "Error of each class",
        names=names,
        values=wrong,
        range=[0.0, 1.05 * max(float(wrong.max()), 0.01)],
        unit="%",
        x_label="true class",
        y_label="wrong rows of the class",
        summary=[
            f"Hardest of these classes: {names[each.argmax()]}, {percent(each.max())} wrong."
            for each in wrong
        ],
    )
    return section("predictions", "What is taken for what", text, [table, by_class])


def _most_frequent_mistakes(true: np.ndarray, predicted: np.ndarray, classes: np.ndarray) -> str:
    """The three most frequent mistakes, of all classes."""
    wrong = confusion_matrix(true, predicted, labels=classes)
    np.fill_diagonal(wrong, 0)
    places = np.argsort(-wrong, axis=None, kind="stable")[:3]
    texts = [
        f"{classes[row]} taken for {classes[column]} ({counted(wrong[row, column], 'row')})"
        for row, column in zip(*np.unravel_index(places, wrong.shape), strict=True)
        if wrong[row, column]
    ]
    return f"Most frequent mistakes: {', '.join(texts)}." if texts else "There are no mistakes."


def _scatter(trials: Trials) -> Section:
    n_rows = len(trials.labels)
    points = np.linspace(0, n_rows - 1, min(MOST_POINTS, n_rows)).astype(int)
    true, predicted = trials.labels[points].astype(float), trials.predictions[:, points]
    both = np.concatenate([true, predicted.ravel()])
    losses = np.mean((trials.predictions - trials.labels) ** 2, axis=1)
    explained = 1.0 - losses / (np.var(trials.labels) or 1.0)
    scatter = chart(
        "scatter",
        "True value against prediction",
        x_label="true value",
        y_label="prediction",
        x=true,
        y=predicted,
        range=[both.min(), both.max()],
        diagonal=True,
        summary=[
            f"Explained share of the variance: {format_number(each, digits=2)}." for each in explained
        ],
    )
    text = "Each point is a row that the model was not trained on. On the diagonal it is right."
    if len(points) < n_rows:
        text += f" {len(points)} of {n_rows:,} rows are shown."
    return section("predictions", "Predictions", text, [scatter])
