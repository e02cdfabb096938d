"""How good the ensemble is at each diversity: cross-validated, beside what it should beat; and charts.

In each fold the steps and the modules are fitted once; the path gives the modules for every diversity,
and members are trained on each. Baselines are trained on the same folds.
"""

from typing import Any, NamedTuple
from warnings import catch_warnings, filterwarnings

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline

from modae.data.validation import take_rows
from modae.ensembles.base import SIZES
from modae.linear.bagging import BaggingAutoencoder
from modae.metrics.comparison import compare, rivals
from modae.report.certainty import Answers
from modae.report.charts import Section, bars, chart, curves, matrix, worded, words
from modae.report.subject import Subject, most_frequent
from modae.utils.arrays import Array
from modae.utils.parallel import run_parallel
from modae.utils.text import counted, format_number, percent, r2_text

MOST_FOLDS = 5

FEWEST_ROWS = 10

#: More are too many to read: the most frequent are shown.
MOST_CLASSES = 20

MOST_POINTS = 400

BAGGING, ON_PCA = "Bagging Autoencoders", "member on PCA"

#: The model among others.
THIS, LIKE_THIS = "this model", "models like this one"


class PathErrors(NamedTuple):
    """Errors on rows that were not trained on.

    Parameters
    ----------
    ensemble, individual : ndarray of shape (n_diversities, n_folds)
        Error of the ensemble, and mean error of its members.
    baselines : dict of str to ndarray of shape (n_folds,)
    predictions : ndarray of shape (n_diversities, n_rows), or (1, n_rows)
        Of the ensemble, for each row when it was not trained on it; of the model itself for new rows.
    labels : ndarray of shape (n_rows,)
    classify : bool
        Errors are shares of wrong rows; else roots of mean squares, in the unit of the target.
    spread : ndarray of shape (n_folds,), or 1
        Variance of the labels of a regressor in each fold.
    answers : Answers or None
        For each row, at the diversity of the model, when it was not trained on it.
    """

    ensemble: Array
    individual: Array
    baselines: dict[str, Array]
    predictions: np.ndarray
    labels: np.ndarray
    classify: bool
    spread: Array | float = 1.0
    answers: Answers | None = None

    def text(self, error: float) -> str:
        """An error as people read it: percent of the rows, or a number in the unit of the target."""
        return percent(error) if self.classify else format_number(error, digits=3)

    def texts_at(self, place: int) -> tuple[str, str]:
        """Errors of the ensemble and of one member at one diversity."""
        return self.text(self.ensemble[place].mean()), self.text(self.individual[place].mean())

    def score_at(self, place: int) -> str:
        """R2 of a regressor at one diversity, the mean over the folds."""
        return "" if self.classify else r2_text(1.0 - np.mean(self.ensemble[place] ** 2 / self.spread))


def mean_and_error(values: Array) -> tuple[Any, Any]:
    """Mean over the folds, the last axis, and its standard error."""
    return values.mean(axis=-1), values.std(axis=-1, ddof=1) / np.sqrt(values.shape[-1])


def why_no_trials(subject: Subject) -> str:
    """The reason for which nothing can be cross-validated, or nothing."""
    if subject.labels is None:
        return "No labels were given"
    if subject.n_shown < FEWEST_ROWS:
        return f"{counted(subject.n_shown, 'row')} are too few to cross-validate"
    if subject.parts.task == "regression":
        return ""
    classes, counts = np.unique(subject.labels, return_counts=True)
    if len(classes) == 1:
        return f"All rows have the class {str(classes[0])!r}"
    if counts.min() == 1:
        rare = str(classes[counts.argmin()])
        return f"Class {rare!r} has one row, and cross-validation needs two (leave it out, or add rows)"
    return ""


def run_trials(
    subject: Subject, n_jobs: int | None, seed: int, own: Answers | None = None
) -> PathErrors | None:
    """Cross-validate; None where that cannot be done. ``own`` is what the model says of new rows."""
    parts, labels = subject.parts, subject.labels
    if parts.ensemble is None or labels is None or why_no_trials(subject):
        return None
    classify = parts.task == "classification"
    folds = _folds(labels, classify, seed)
    front, extractor, ensemble = _unfitted(parts)
    baselines = _baselines(subject, ensemble, n_fitted=min(len(train) for train, _ in folds))

    def errors(answers: np.ndarray, truth: np.ndarray) -> Any:
        """Over the rows, the last axis."""
        losses = answers != truth if classify else (answers - truth) ** 2
        return losses.mean(axis=-1) if classify else np.sqrt(losses.mean(axis=-1))

    def trial(train: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, Array, list[float], Any]:
        """Predictions (diversities, rows), errors (diversities, 1 + M), those of baselines, answers."""
        before, y, truth = clone(front), labels[train], labels[test]
        seen = before.fit_transform(take_rows(subject.raw, train), y)
        unseen = before.transform(take_rows(subject.raw, test))
        modules = [clone(extractor).fit(seen, y)]
        if hasattr(modules[0], "path"):
            modules = [modules[0].with_diversity(value) for value in subject.diversities]
        told, answers = [], None
        for place, each in enumerate(modules):
            model = clone(ensemble).set_params(extractor=FrozenEstimator(each)).fit(seen, y)
            told.append(np.vstack([model.predict(unseen)[None], model.predict_members(unseen)]))
            if place == subject.start and own is None:
                answers = Answers.of(model, unseen, told[-1][0])
        others = [clone(model).fit(seen, y).predict(unseen) for model in baselines.values()]
        every, rest = np.array(told), [float(errors(each, truth)) for each in others]
        return every[:, 0], errors(every, truth), rest, answers

    with catch_warnings():
        filterwarnings("ignore", "All modules are equal")  # at diversity 0: the page shows it
        filterwarnings("ignore", "invalid value encountered", RuntimeWarning)  # PCA of constant columns
        found = run_parallel(trial, folds, n_jobs)
    told, both, others, answers = (list(each) for each in zip(*found, strict=True))
    order = np.argsort(np.concatenate([test for _, test in folds]))
    by_fold = np.stack(both, axis=-1)
    return PathErrors(
        ensemble=by_fold[:, 0],
        individual=by_fold[:, 1:].mean(axis=1),
        baselines=dict(zip(baselines, np.transpose(others), strict=True)),
        predictions=np.concatenate(told, axis=1)[:, order] if own is None else own.predicted[None],
        labels=labels,
        classify=classify,
        spread=1.0 if classify else np.array([np.var(labels[test]) or 1.0 for _, test in folds]),
        answers=Answers.joined(answers, order) if own is None else own,
    )


def _folds(labels: Any, classify: bool, seed: int) -> list[Any]:
    """Five folds, or as many as there are rows of the rarest class."""
    rarest = np.unique(labels, return_counts=True)[1].min() if classify else MOST_FOLDS
    splitter, n_folds = StratifiedKFold if classify else KFold, min(MOST_FOLDS, int(rarest))
    return list(splitter(n_folds, shuffle=True, random_state=seed).split(labels, labels))


def _unfitted(parts: Any) -> tuple[Any, Any, Any]:
    """Steps, extractor and ensemble to be fitted again; what they draw at random is fixed.

    Frozen modules are used as they are, with the steps that they were fitted after.
    """
    if isinstance(parts.ensemble.extractor, FrozenEstimator):
        steps, extractor = [*map(FrozenEstimator, parts.steps)], FrozenEstimator(parts.extractor)
    else:
        steps, extractor = parts.steps, clone(parts.extractor)
        params = extractor.get_params()
        if params.get("random_state", 0) is None:
            extractor.set_params(random_state=0)
        if "diversity" in params:
            extractor.set_params(diversity=parts.diversity)
    # Modules have their sizes already, probabilities their temperature; intervals are not asked for.
    params = dict.fromkeys({*SIZES, "calibrate", "n_jobs"} & set(parts.ensemble.get_params(deep=False)))
    if hasattr(parts.ensemble, "temperature_"):
        params["calibration"] = parts.ensemble.temperature_
    return make_pipeline("passthrough", *steps), extractor, clone(parts.ensemble).set_params(**params)


def _baselines(subject: Subject, ensemble: Any, n_fitted: int) -> dict[str, Any]:
    """One PCA as wide as one module, one as wide as all together, as far as that goes, and Bagging.

    One learner on all columns has none: all these would be itself, or have fewer columns.
    """
    if subject.is_one_learner:
        return {}
    n_modules, width = subject.n_modules, subject.n_components
    most = min(n_fitted - 1, subject.rows.shape[1] - issparse(subject.rows))
    member = clone(subject.parts.ensemble.estimators_[0])
    models: dict[str, Any] = {
        f"{ON_PCA}({size})": make_pipeline(PCA(size, random_state=0), member)
        for size in sorted({max(1, min(size, most)) for size in (width, width * n_modules)})
    }
    if n_modules > 1 and not isinstance(subject.parts.extractor, BaggingAutoencoder):
        bagging = BaggingAutoencoder(n_modules, width, random_state=0)
        models[BAGGING] = clone(ensemble).set_params(extractor=bagging)
    return models


def error_section(subject: Subject, trials: PathErrors) -> Section | None:
    """Error of the ensemble, its members and the baselines: against diversity if there is a path."""
    if subject.is_one_learner:
        return None
    what = "share of wrong predictions" if trials.classify else "root mean square error"
    look: dict[str, Any] = {"y_label": what, "unit": "%" if trials.classify else ""}
    frozen = isinstance(getattr(subject.parts.ensemble, "extractor", None), FrozenEstimator)
    said: dict[str, Any] = {"folds": trials.ensemble.shape[1], "also": ["frozen"] * frozen}
    levels = {name: mean_and_error(each) for name, each in trials.baselines.items()}
    others = ", ".join(f"{name} {trials.text(mean)}" for name, (mean, _) in levels.items())
    told = map(trials.texts_at, range(len(subject.diversities)))
    summary = [
        f"At diversity {diversity:g}: ensemble {both}, one member {alone}; {others}"
        for diversity, (both, alone) in zip(subject.diversities, told, strict=True)
    ]
    ensemble, individual = mean_and_error(trials.ensemble), mean_and_error(trials.individual)
    if len(subject.diversities) > 1:
        lines = {"the ensemble": ensemble, "one member, on average": individual}
        # Members alone may be so bad that nothing else could be seen.
        most = [ensemble[0].max(), individual[0][subject.start], *(mean for mean, _ in levels.values())]
        look |= {"y_range": [0.0, 1.2 * max(most) or 1.0], "mark": subject.start}
        said["also"] += ["above"] * bool(individual[0].max() > look["y_range"][1])
        drawn = curves("Cross-validated error", lines, levels, summary=summary, **look)
        return worded("errors", [drawn], together="vote" if trials.classify else "mean", **said)
    means = {"the ensemble": ensemble[0][0], "one member": individual[0][0]}
    if subject.n_modules == 1:
        means = {THIS: means["one member"]}
    means |= {name: mean for name, (mean, _) in levels.items()}
    summary = [", ".join(f"{name} {trials.text(mean)}" for name, mean in means.items())]
    columns = bars("Cross-validated error", list(means), [list(means.values())], summary=summary, **look)
    return worded("errors_of_one", [columns], **said)


def rivals_section(
    subject: Subject, n_jobs: int | None, seed: int, is_new: bool = False
) -> tuple[Section, tuple[str, str, str]]:
    """The model beside other methods, which are trained on the same folds; and a verdict, with the error
    and the name of the strongest of the others.

    For new rows, whose verdict is the error of the model itself, that of the strongest instead.
    """
    front, extractor, ensemble = _unfitted(subject.parts)
    classify = subject.parts.task == "classification"
    own = LIKE_THIS if is_new else THIS
    models = {own: make_pipeline(front, ensemble.set_params(extractor=extractor))}
    member = None if subject.is_one_learner else clone(subject.parts.ensemble.estimators_[0])
    folds = _folds(subject.labels, classify, seed)
    others = rivals(subject.rows, subject.labels, classify=classify, member=member)
    sizes = {name for name in others if name.startswith(ON_PCA)}
    if sizes:  # instead of them those that are drawn beside the errors
        known = _baselines(subject, ensemble, n_fitted=min(len(train) for train, _ in folds))
        others |= {name: model for name, model in known.items() if name.startswith(ON_PCA)}
        others = {name: others[name] for name in others if name in known or name not in sizes}
    for name, model in others.items():
        models[name] = make_pipeline(clone(front), model)
    with catch_warnings(action="ignore"):  # rare classes in the folds of a search, and the like
        table = compare(models, subject.raw, subject.labels, cv=folds, n_jobs=n_jobs)
    names, verdict = list(table["name"]), table.verdict(own, plain=subject.is_one_learner)
    what, unit, column = ("share of wrong answers", "%", "error") if classify else ("R²", "", "score")
    times = ", ".join(f"{n} {t:.1f} s" for n, t in zip(names, table["fit_time"], strict=True))
    look = {"y_label": what, "unit": unit, "summary": f"Time of one fit: {times}.", "fixed": True}
    ends = np.array([table[column] - table["se"], table[column] + table["se"]])
    room = 0.1 * np.ptp(ends) or 1e-3
    look |= {"range": [ends.min() - room, ends.max() + room]}
    look |= {"error": table["se"], "own": names.index(own)}
    drawn = bars("Each method, cross-validated", names, [table[column]], **look)
    other = int(names[0] == own)
    off = table.text("error", other) if classify else format_number(table["rmse"][other], digits=3)
    if not is_new:
        return worded("rivals", [drawn], verdict=verdict, whose=""), (verdict, off, names[other])
    level = f"{'' if classify else 'R2 '}{table.text('error', other)} ({table.apart(own)})"
    rest = counted(len(names) - 1, "other method")
    found = worded("rivals", [drawn], verdict=verdict, whose=words()["rivals"]["new"])
    return found, (f"The strongest of {rest} is {names[other]}, with {level}.", off, names[other])


def confusion_section(trials: PathErrors, whose: str) -> Section:
    """Predicted against true classes: a confusion matrix, and the error of each class."""
    true = trials.labels
    # The model may know classes that no row has.
    classes, shown = np.unique([true, *trials.predictions]), most_frequent(true, MOST_CLASSES)
    names, places = [str(label) for label in shown], np.searchsorted(classes, shown)
    tables = np.array([confusion_matrix(true, each, labels=classes) for each in trials.predictions])
    shares = (tables / np.maximum(tables.sum(axis=2, keepdims=True), 1))[:, places][:, :, places]
    mistakes = [_most_frequent_mistakes(each, classes) for each in tables]
    axes = {"x_label": "predicted class", "y_label": "true class", "aim": "diagonal"}
    look: dict[str, Any] = {"unit": "%", "fixed": len(shares) == 1, "said": True}
    cells = {"square": True, "show_values": True, "summary": mistakes}
    table = matrix("True and predicted class", names, names, shares, **axes, **look, **cells)
    wrong = 1.0 - np.diagonal(shares, axis1=1, axis2=2)
    worst = [f"Worst class: {names[each.argmax()]}, {percent(each.max())} wrong." for each in wrong]
    axes = {"x_label": "true class", "y_label": "wrong predictions"}
    by_class = bars("Error by class", names, wrong, summary=worst, **axes, **look)
    counts = {"shown": len(shown), "all": len(classes)}
    also = ["some"] * (len(shown) < len(classes))
    return worded("confusion", [table, by_class], also, whose=whose, **counts)


def _most_frequent_mistakes(table: np.ndarray, classes: np.ndarray) -> str:
    """The three most frequent mistakes, of all classes."""
    wrong = table * ~np.eye(len(classes), dtype=bool)
    texts = []
    for place in np.argsort(-wrong, axis=None, kind="stable")[:3]:
        row, column = np.unravel_index(place, wrong.shape)
        if wrong[row, column]:
            count = counted(int(wrong[row, column]), "row")
            texts.append(f"{classes[row]} predicted as {classes[column]} ({count})")
    return f"Most frequent mistakes: {', '.join(texts)}." if texts else "There are no mistakes."


def scatter_section(trials: PathErrors, whose: str) -> Section:
    """Predicted against true values: points around the diagonal."""
    n_rows = len(trials.labels)
    points = np.linspace(0, n_rows - 1, min(MOST_POINTS, n_rows)).astype(int)
    true, predicted = trials.labels[points].astype(float), trials.predictions[:, points]
    losses = np.mean((trials.predictions - trials.labels) ** 2, axis=1)
    explained = 1.0 - losses / (np.var(trials.labels) or 1.0)
    summary = [f"R² is {format_number(each, digits=2)}." for each in explained]
    axes: dict[str, Any] = {"x_label": "true value", "y_label": "predicted value", "diagonal": "equal"}
    axes["range"] = [min(true.min(), predicted.min()), max(true.max(), predicted.max())]
    axes |= {"fixed": len(predicted) == 1, "said": True}
    scatter = chart("scatter", "True and predicted values", x=true, y=predicted, summary=summary, **axes)
    also, counts = ["some"] * (len(points) < n_rows), {"shown": len(points), "all": f"{n_rows:,}"}
    return worded("scatter", [scatter], also, whose=whose, **counts)
