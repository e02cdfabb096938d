"""The report on a fitted model: measure, put into sections, write one page."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

import modae.report.errors as errors
import modae.report.features as features
from modae.metrics import redundancy
from modae.metrics.comparison import ROUND_OFF
from modae.report.certainty import Answers, least_certain_section, trust_section
from modae.report.charts import Section, words
from modae.report.errors import BAGGING, PathErrors, mean_and_error, why_no_trials
from modae.report.page import render
from modae.report.subject import Subject
from modae.utils.atomic import atomic_write
from modae.utils.parameters import check_choice, check_count, check_flag, check_fraction
from modae.utils.text import bounded_loss, counted, format_number, percent


@dataclass(frozen=True, eq=False)
class Report:
    """A page that is ready to be written.

    Parameters
    ----------
    facts : dict
        All that the page says, as plain numbers and texts.
    """

    facts: dict[str, Any]

    def __repr__(self) -> str:
        said = f"Report({self.facts['title']!r}: {self.facts['subtitle']}"
        return f"{said}; .save('report.html') writes the page, .facts has its numbers)"

    def _repr_html_(self) -> str:
        """The page inside a notebook, in a frame that runs its scripts and reaches nothing around it."""
        frame = 'sandbox="allow-scripts" width="100%" height="800" style="border: 0"'
        title, page = escape(self.facts["title"]), escape(self.html)
        return f'<iframe title="{title}" {frame} srcdoc="{page}"></iframe>'

    @property
    def html(self) -> str:
        """The page: one HTML document that needs nothing else."""
        return render(self.facts)

    def save(self, path: str | Path) -> Path:
        """Write the page, whole or not at all.

        Parameters
        ----------
        path : str or Path

        Returns
        -------
        path : Path
        """
        with atomic_write(path, "w") as file:
            file.write(self.html)
        return Path(path)


def build(
    model: BaseEstimator,
    X: Any,
    y: ArrayLike | None = None,
    *,
    title: str | None = None,
    diversities: Sequence[float] | None = None,
    image_shape: tuple[int, int] | str | None = "auto",
    rows: str | float | None = None,
    n_samples: int = 3000,
    rivals: bool = True,
    n_jobs: int | None = None,
    random_state: int = 0,
) -> Report:
    """Measure a fitted model on data, at every diversity, and make a page of it.

    The page has one slider for diversity, which moves everything: error curves, which share of the
    modules looks at which component, reconstructions, densities of classes, distance correlations,
    a confusion matrix, and what each module looks at.

    Errors are cross-validated on X: the steps, modules and members are fitted again without the rows
    that they are judged on, so X may be the data that the model was fitted to. For new rows
    (``rows="new"``) the first number is the error of this model on them. All else is about the model as
    it is.

    Parameters
    ----------
    model : fitted estimator
        A ``LinearModularAutoencoder``, an ensemble on one, a search for one, or a pipeline that ends
        in one. Modules without a diversity path, such as ``BaggingAutoencoder``, get a page without
        the slider.
    X : {array-like, sparse matrix, dataframe} of shape (n_samples, n_features)
        Rows as the model takes them.
    y : array-like of shape (n_samples,), default=None
        Labels or values; without them the page has no errors. For modules without members they only
        colour the densities.
    title : str or None, default=None
    diversities : sequence of float, default=None
        Stops of the slider, besides the model's own; None means 0, 0.1, ..., 1.
    image_shape : (int, int), None or "auto", default="auto"
        Height and width, if a row is an image; None if not. "auto" looks whether rows are square and
        neighbouring pixels alike.
    rows : {"training", "new"}, float or None, default=None
        What is known of X: the model was fitted to it; or it was not, and its own error on X counts; or
        it was fitted to this part of X, between 0 and 1. None if nothing is known: then errors are those
        of cross-validation, as for training rows.
    n_samples : int, default=3000
        Most rows to look at, drawn at random. Time grows with it.
    rivals : bool, default=True
        Whether to train other methods on the same folds, such as forests and an SVM; it may take longer
        than all the rest.
    n_jobs : int or None, default=None
        Trials at the same time.
    random_state : int, default=0
        Draws the rows and the folds.

    Returns
    -------
    report : Report
        ``save(path)`` writes the page, ``html`` is its text, ``facts`` are its numbers.

    Examples
    --------
    >>> import modae
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> X, y = X[:400], y[:400]
    >>> model = modae.LinearModularAutoencoder(10, 4, diversity=0.8, random_state=0)
    >>> vote = modae.ModularClassifier(model, random_state=0).fit(X, y)
    >>> report = modae.report.build(vote, X, y, diversities=[0.0, 0.4], rivals=False)
    >>> report.facts["live"][2]
    'Diversity 0.8 (this model): cross-validated error 4.3%, one member 26.9%.'
    """
    from modae import __version__

    check_count("n_samples", n_samples, minimum=3)
    if title is not None and not isinstance(title, str):
        raise TypeError(f"title must be a string or None, got {title!r}.")
    if isinstance(rows, float):
        check_fraction("rows", rows)
    else:
        check_choice("rows", rows, ("training", "new", None))
    subject = Subject(
        model, X, y, diversities=diversities, n_samples=int(n_samples), random_state=random_state
    )
    shape = features.resolved_shape(image_shape, subject)
    check_flag("rivals", rivals)
    ensemble, own, is_new = subject.parts.ensemble, None, rows == "new"
    if is_new and ensemble is not None:
        own = Answers.of(ensemble, subject.rows, subject.predicted)
    trials = errors.run_trials(subject, n_jobs, random_state, own)
    found, verdict, others = sections(subject, trials, shape, n_jobs, own), "", ("", "", "")
    if trials is not None and rivals:
        beside, others = errors.rivals_section(subject, n_jobs, random_state, is_new)
        verdict = others[0]
        found.insert(int(found[0]["id"] == "errors"), beside)
        if not (trials.classify or is_new):
            verdict += f" Off by {trials.texts_at(subject.start)[0]} (root mean square)."
    numbers = summary_numbers(subject, trials, is_new, others)
    if is_new and ensemble is not None and subject.labels is not None:
        verdict = words()["own"]["new"].format(own=own_words(subject))
    task = {"features": "features without labels"}.get(subject.parts.task, subject.parts.task)
    shown = "modules" if len(subject.diversities) == 1 else "path"
    notes = ["made", *["errors"] * (trials is not None), *[shown] * (not subject.is_one_learner)]
    return Report(
        {
            "title": "Report on a modular model" if title is None else title,
            "subtitle": f"{task.capitalize()}, {subject.n_rows:,} rows",
            "verdict": verdict,
            "summary": [*filter(None, [verdict]), *summary_text(subject, trials, rows)],
            "numbers": numbers,
            "diversities": subject.diversities,
            "start": subject.start,
            "live": live_text(subject, trials, words()["live"]["new" if is_new else "training"]),
            "overview": [],
            "studies": [{"name": "", "text": "", "sections": found}],
            "footer": [words()["footer"][name].format(version=__version__) for name in notes],
        }
    )


def sections(
    subject: Subject,
    trials: PathErrors | None,
    shape: tuple[int, int] | None,
    n_jobs: int | None,
    own: Answers | None = None,
) -> list[Section]:
    """All sections that this model and these data have, most important first.

    ``own`` is what the model says of rows that are new to it.
    """
    found: list[Section | None] = []
    answers = own if trials is None else trials.answers
    whose = words()["whose"]["training" if own is None else "new"]
    if trials is not None:
        judged = errors.confusion_section if trials.classify else errors.scatter_section
        found += [errors.error_section(subject, trials), judged(trials, whose)]
        if trials.classify and answers is not None:
            found.append(trust_section(answers, trials.labels, whose))
    if answers is not None and (subject.n_modules > 1 or subject.parts.task == "classification"):
        found.append(least_certain_section(subject, answers, shape, whose))
    found += [
        features.allocation_section(subject),
        features.reconstruction_section(subject, shape),
        None if subject.is_one_learner else features.explained_section(subject, shape),
        features.likeness_section(subject, n_jobs),
        features.density_section(subject),
        features.loss_section(subject),
    ]
    return [each for each in found if each is not None]


def own_words(subject: Subject) -> str:
    """How good the model itself is on these rows."""
    return words()["own"][subject.parts.task].format(**subject.own_error)


def summary_text(subject: Subject, trials: PathErrors | None, rows: str | float | None) -> list[str]:
    """Sentences on the model, the data, and what came out."""
    extractor, ensemble = subject.parts.extractor, subject.parts.ensemble
    classify = subject.parts.task == "classification"
    model = f"{counted(subject.n_modules, 'module')} of {counted(subject.n_components, 'component')}"
    if hasattr(extractor, "diversity_") and subject.n_modules > 1:
        model += f" each, trained together with diversity {subject.parts.diversity:g}"
    model += f" ({type(extractor).__name__})."
    if ensemble is not None:
        members = " or ".join(sorted({type(member).__name__ for member in ensemble.estimators_}))
        end = "they vote" if classify else "the mean of their predictions is the answer"
        model += f" A {members} is trained on the features of each module, and {end}."
        if subject.is_one_learner:
            model = f"One {members} on all columns: no modules."
    data = f"Data: {counted(subject.n_rows, 'row')} with {counted(len(subject.names), 'column')}"
    if classify and subject.classes is not None:
        data += f" and {counted(len(subject.classes), 'class')}"
    if subject.n_shown < subject.n_rows:
        data += f"; {subject.n_shown:,} of them, drawn at random, were looked at"
    sentences = [model, f"{data}."]
    if ensemble is None or (rows == "new" and trials is not None):
        return sentences
    if trials is None:
        judged = rows == "new" and subject.labels is not None
        so = "nothing is cross-validated" if judged else "this page says nothing about errors"
        return [*sentences, f"{why_no_trials(subject)}, so {so}."]
    why = words()["why"]["some" if isinstance(rows, float) else rows or "unknown"]
    if isinstance(rows, float):
        why = why.format(count=f"{round(rows * subject.n_rows):,}", share=percent(rows))
    return [*sentences, words()["own"]["cross_validated"].format(own=own_words(subject), why=why)]


def summary_numbers(
    subject: Subject, trials: PathErrors | None, is_new: bool, beside: tuple[str, str, str]
) -> list[dict[str, str]]:
    """Errors of the model and of the strongest other method, and how many rows; without a target what
    modules keep and share, and the certificate.

    On new rows that of the model itself is the first. ``beside`` is what is said of the others, and the
    error and the name of the strongest of them.
    """
    extractor, numbers = subject.parts.extractor, []
    kind = "root mean square error" if subject.parts.task == "regression" else "error"
    if is_new and subject.parts.ensemble is not None and subject.labels is not None:
        label = f"{kind} of this model on these new rows{subject.own_error['score']}"
        numbers.append((subject.own_error["error"], label, ""))
    if trials is not None:
        own = trials.ensemble[subject.start]
        label = f"cross-validated {kind}{trials.score_at(subject.start)}"
        means = {name: trials.text(each.mean()) for name, each in trials.baselines.items()}
        gains = {name: _gain(each - own, trials) for name, each in trials.baselines.items()}
        who = {name: f"One {name} has" for name in means} | {BAGGING: f"{BAGGING} of this size have"}
        against = [f"{who[name]} {means[name]}; {gains[name]}." for name in means]
        alone = [f"One member alone has {trials.texts_at(subject.start)[1]}."] * (subject.n_modules > 1)
        whose = ["It is that of models like this one, fitted to parts of these rows.", beside[0]]
        against = [*filter(None, whose * is_new), *alone, *against]
        numbers.append((trials.text(own.mean()), label, " ".join(against)))
        if beside[1]:
            label = f"{kind} of the strongest other method"
            numbers.append((beside[1], label, f"It is {beside[2]}, trained on the same folds."))
        numbers.append((f"{subject.n_rows:,}", "rows", ""))
    elif hasattr(extractor, "explained_variance_ratio_of_mean_"):
        text = f"One module on average: {percent(np.mean(extractor.explained_variance_ratio_))}."
        if total := float(extractor.total_variance_):
            # What one PCA as wide as a module keeps is known from the spectrum.
            kept = float(extractor.eigenvalues_[: subject.n_components].sum()) / total
            text += f" PCA with {counted(subject.n_components, 'component')}: {percent(kept)}."
        value = percent(extractor.explained_variance_ratio_of_mean_)
        numbers.append((value, "variance kept by all modules", text))
    if trials is None and subject.n_modules > 1 and subject.n_shown > 3:
        alike, _ = redundancy(extractor, subject.rows, n_samples=400, random_state=0)
        text = "1 if all modules carry the same information; lower if they differ."
        numbers.append((format_number(alike, digits=2), "distance correlation of two modules", text))
    if trials is None and hasattr(extractor, "attainment_"):
        loss, bound = bounded_loss(extractor)
        gap = 0.0 if extractor.attainment_ == "attained" else max(float(extractor.optimality_gap_), 0.0)
        text = f"loss {loss}, lower bound {bound}: {words()['proofs'][extractor.attainment_]}"
        numbers.append((format_number(gap, "%", digits=2), "gap to the best possible loss", text))
    return [dict(zip(("value", "label", "text"), each, strict=True)) for each in numbers]


def _gain(values: Any, trials: PathErrors) -> str:
    """How much better the ensemble is, with a paired standard error over the folds."""
    mean, error = mean_and_error(values)
    if abs(mean) <= ROUND_OFF * (1.0 if trials.classify else float(np.ptp(trials.labels))):
        return "equal"
    size, spread = trials.text(abs(mean)), trials.text(error)
    if trials.classify:
        size, spread = f"{size.removesuffix('%')} points", spread.removesuffix("%")
    better = "better" if mean > 0 else "worse"
    if abs(mean) <= 2.0 * error:
        return f"no clear difference ({size} {better} ± {spread})"
    return f"the ensemble is {size} {better} (± {spread})"


def live_text(subject: Subject, trials: PathErrors | None, start: str) -> list[str]:
    """One sentence for each diversity, beside the slider; ``start`` says what the first one is."""
    sentences = []
    for place, (diversity, model) in enumerate(zip(subject.diversities, subject.models, strict=True)):
        own = f" ({start})" if place == subject.start and len(subject.diversities) > 1 else ""
        has_path = hasattr(model, "diversity_") and subject.n_modules > 1
        text = f"Diversity {diversity:g}{own}" if has_path else "This model"
        if trials is not None:
            both, alone = trials.texts_at(place)
            text = text if has_path else "Models like this one"
            text += f": cross-validated error {both}"
            text += f", one member {alone}." if subject.n_modules > 1 else "."
        elif hasattr(model, "explained_variance_ratio_of_mean_"):
            kept = percent(model.explained_variance_ratio_of_mean_)
            text += f": all modules keep {kept} of the variance."
        else:
            text += f": {counted(subject.n_modules, 'module')}."
        sentences.append(text)
    return sentences
