"""The top of the page: what was fitted and how good it is, in sentences and three numbers."""

from __future__ import annotations

import numpy as np

from modae.metrics import redundancy
from modae.report.errors import error_text
from modae.report.spectrum import certificate_number
from modae.report.subject import Subject
from modae.report.trials import BAGGING, Trials, mean_and_error, why_no_trials
from modae.utils.arrays import Array
from modae.utils.text import counted, format_number, percent

Number = dict[str, str]


def summary_text(subject: Subject, trials: Trials | None) -> list[str]:
    """Sentences on the model, the data, and what came out."""
    sentences = [_about_model(subject), _about_data(subject)]
    if trials is not None:
        sentences.append(_about_errors(subject, trials))
    elif subject.parts.ensemble is not None:
        sentences.append(f"{why_no_trials(subject)}, so this page says nothing about errors.")
    return sentences


def _about_model(subject: Subject) -> str:
    extractor, ensemble = subject.parts.extractor, subject.parts.ensemble
    text = f"{counted(subject.n_modules, 'module')} of {counted(subject.n_components, 'component')}"
    if hasattr(extractor, "diversity") and subject.n_modules > 1:
        text += f" each, trained together with diversity {subject.parts.diversity:g}"
    text += f" ({type(extractor).__name__})"
    if ensemble is None:
        return f"{text}."
    members = " or ".join(sorted({type(member).__name__ for member in ensemble.estimators_}))
    votes = subject.parts.task == "classification"
    end = "they vote" if votes else "their mean is the answer"
    return f"{text}. On the features of each a {members} is trained, and {end}."


def _about_data(subject: Subject) -> str:
    text = f"{counted(subject.n_rows, 'row')} with {counted(len(subject.names), 'column')}"
    if subject.parts.task == "classification" and subject.classes is not None:
        text += f" and {counted(len(subject.classes), 'class')}"
    if subject.n_shown < subject.n_rows:
        text += f"; {subject.n_shown:,} of them, drawn at random, were looked at"
    return f"Data: {text}."


def _about_errors(subject: Subject, trials: Trials) -> str:
    both, alone = _errors_at(trials, subject.start)
    own = None if trials.error_of_model is None else error_text(trials.error_of_model, trials.classify)
    if trials.classify:
        text = f"The vote is wrong on {both} of the rows, one member alone on {alone}"
        itself = f"is wrong on {own} of"
    else:
        text = f"The ensemble is off by {both} (root mean square), one member alone by {alone}"
        itself = f"is off by {own} on"
    text += ", cross-validated: models like this one, fitted to other rows of this table."
    if own is None:
        return text
    return f"{text} The model itself {itself} these rows, which says little if it was fitted to them."


def _errors_at(trials: Trials, place: int) -> tuple[str, str]:
    """Of the ensemble and of one member."""
    means = (float(each[place].mean()) for each in (trials.ensemble, trials.individual))
    both, alone = (error_text(mean, trials.classify) for mean in means)
    return both, alone


def summary_numbers(subject: Subject, trials: Trials | None) -> list[Number]:
    """Three numbers: errors against the baselines, or what modules keep and share; the certificate."""
    numbers = _feature_numbers(subject) if trials is None else _error_numbers(subject, trials)
    return [*numbers, *certificate_number(subject.parts.extractor)]


def _error_numbers(subject: Subject, trials: Trials) -> list[Number]:
    own, classify = trials.ensemble[subject.start], trials.classify
    label, member = (
        ("error of the vote", "classifier") if classify else ("root mean square error", "regressor")
    )
    means = {name: error_text(float(each.mean()), classify) for name, each in trials.baselines.items()}
    gains = {name: _gain(each - own, classify) for name, each in trials.baselines.items()}
    against = [
        f"{name.replace('one', 'One', 1)}, same {member}: {means[name]}; {gains[name]}."
        for name in means
        if name != BAGGING
    ]
    value = error_text(float(own.mean()), classify)
    numbers = [{"value": value, "label": label, "text": " ".join(against)}]
    if BAGGING in means:
        text = f"As many modules, each a PCA of other rows: {gains[BAGGING]}."
        numbers.append({"value": means[BAGGING], "label": f"error of {BAGGING}", "text": text})
    return numbers


def _gain(values: Array, classify: bool) -> str:
    """How much better the ensemble is, with a paired standard error over the folds."""
    mean, error = map(float, mean_and_error(values))
    if mean == 0.0:
        return "no difference"
    size, spread = error_text(abs(mean), classify), error_text(error, classify)
    if classify:
        size, spread = f"{size.removesuffix('%')} points", spread.removesuffix("%")
    better = "better" if mean > 0 else "worse"
    if abs(mean) <= 2.0 * error:
        return f"no clear difference ({size} {better} ± {spread})"
    return f"this model is {size} {better} (± {spread})"


def _feature_numbers(subject: Subject) -> list[Number]:
    extractor, numbers = subject.parts.extractor, []
    if hasattr(extractor, "explained_variance_ratio_of_mean_"):
        text = f"One module on average: {percent(np.mean(extractor.explained_variance_ratio_))}."
        if total := float(extractor.total_variance_):
            # What one PCA as wide as a module keeps is known from the spectrum.
            kept = float(extractor.eigenvalues_[: subject.n_components].sum()) / total
            text += f" PCA with {counted(subject.n_components, 'component')}: {percent(kept)}."
        value = percent(extractor.explained_variance_ratio_of_mean_)
        numbers.append({"value": value, "label": "of the variance kept by all modules", "text": text})
    if subject.n_modules > 1 and subject.n_shown > 3:
        alike, _ = redundancy(extractor, subject.rows, n_samples=400, random_state=0)
        text = "1 if all modules say the same; lower if they differ."
        value, label = format_number(alike, digits=2), "distance correlation of two modules"
        numbers.append({"value": value, "label": label, "text": text})
    return numbers


def live_text(subject: Subject, trials: Trials | None, start: str = "this model") -> list[str]:
    """One sentence for each diversity, beside the slider; ``start`` says what the first one is."""
    sentences = []
    for place, (diversity, model) in enumerate(zip(subject.diversities, subject.models, strict=True)):
        own = f" ({start})" if place == subject.start and len(subject.diversities) > 1 else ""
        text = f"Diversity {diversity:g}{own}" if hasattr(model, "diversity") else "This model"
        if trials is not None:
            both, alone = _errors_at(trials, place)
            text += f": ensemble error {both}, one member {alone}."
        elif hasattr(model, "explained_variance_ratio_of_mean_"):
            kept = percent(model.explained_variance_ratio_of_mean_)
            text += f": all modules keep {kept} of the variance."
        else:
            text += f": {counted(subject.n_modules, 'module')}."
        sentences.append(text)
    return sentences
