"""The top of the page: what was fitted and how good it is, in sentences and three numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from modae.metrics import redundancy
from modae.report.errors import BAGGING, Trials, mean_and_error, why_no_trials
from modae.report.subject import Subject
from modae.utils.text import bounded_loss, counted, format_number, percent

PROOFS = {
    "attained": "no modules of this size can be better",
    "not attainable": "it is proven that no modules reach the bound",
    "undecided": "whether better modules exist is not decided",
}


def summary_text(subject: Subject, trials: Trials | None) -> list[str]:
    """Sentences on the model, the data, and what came out."""
    extractor, ensemble = subject.parts.extractor, subject.parts.ensemble
    classify = subject.parts.task == "classification"
    model = f"{counted(subject.n_modules, 'module')} of {counted(subject.n_components, 'component')}"
    if hasattr(extractor, "diversity") and subject.n_modules > 1:
        model += f" each, trained together with diversity {subject.parts.diversity:g}"
    model += f" ({type(extractor).__name__})."
    if ensemble is not None:
        members = " or ".join(sorted({type(member).__name__ for member in ensemble.estimators_}))
        end = "they vote" if classify else "their mean is the answer"
        model += f" On the features of each a {members} is trained, and {end}."
    data = f"Data: {counted(subject.n_rows, 'row')} with {counted(len(subject.names), 'column')}"
    if classify and subject.classes is not None:
        data += f" and {counted(len(subject.classes), 'class')}"
    if subject.n_shown < subject.n_rows:
        data += f"; {subject.n_shown:,} of them, drawn at random, were looked at"
    sentences = [model, f"{data}."]
    if trials is not None:
        sentences.append(_about_errors(subject, trials))
    elif ensemble is not None:
        sentences.append(f"{why_no_trials(subject)}, so this page says nothing about errors.")
    return sentences


def _about_errors(subject: Subject, trials: Trials) -> str:
    both, alone = trials.texts_at(subject.start)
    if trials.classify:
        text = f"The vote is wrong on {both} of the rows, one member alone on {alone}"
        itself = "is wrong on {} of"
    else:
        text = f"The ensemble is off by {both} (root mean square), one member alone by {alone}"
        itself = "is off by {} on"
    text += ", cross-validated: models like this one, fitted to other rows of this table."
    if trials.error_of_model is None:
        return text
    itself = itself.format(trials.text(trials.error_of_model))
    return f"{text} The model itself {itself} these rows, which says little if it was fitted to them."


def summary_numbers(subject: Subject, trials: Trials | None) -> list[dict[str, str]]:
    """Three numbers: errors against the baselines, or what modules keep and share; the certificate."""
    numbers = _feature_numbers(subject) if trials is None else _error_numbers(subject, trials)
    extractor = subject.parts.extractor
    if hasattr(extractor, "attainment_"):
        loss, bound = bounded_loss(extractor)
        attained = extractor.attainment_ == "attained"
        gap = 0.0 if attained else max(float(extractor.optimality_gap_), 0.0)
        text = f"loss {loss}, lower bound {bound}: {PROOFS[extractor.attainment_]}."
        numbers.append((format_number(gap, "%", digits=2), "gap to the best possible loss", text))
    return [dict(zip(("value", "label", "text"), each, strict=True)) for each in numbers]


def _error_numbers(subject: Subject, trials: Trials) -> list[tuple[str, str, str]]:
    own = trials.ensemble[subject.start]
    label, member = (
        ("error of the vote", "classifier")
        if trials.classify
        else ("root mean square error", "regressor")
    )
    means = {name: trials.text(each.mean()) for name, each in trials.baselines.items()}
    gains = {name: _gain(each - own, trials) for name, each in trials.baselines.items()}
    against = [
        f"{name.replace('one', 'One', 1)}, same {member}: {means[name]}; {gains[name]}."
        for name in means
        if name != BAGGING
    ]
    numbers = [(trials.text(own.mean()), label, " ".join(against))]
    if BAGGING in means:
        text = f"As many modules, each a PCA of other rows: {gains[BAGGING]}."
        numbers.append((means[BAGGING], f"error of {BAGGING}", text))
    return numbers


def _gain(values: Any, trials: Trials) -> str:
    """How much better the ensemble is, with a paired standard error over the folds."""
    mean, error = mean_and_error(values)
    if mean == 0.0:
        return "no difference"
    size, spread = trials.text(abs(mean)), trials.text(error)
    if trials.classify:
        size, spread = f"{size.removesuffix('%')} points", spread.removesuffix("%")
    better = "better" if mean > 0 else "worse"
    if abs(mean) <= 2.0 * error:
        return f"no clear difference ({size} {better} ± {spread})"
    return f"this model is {size} {better} (± {spread})"


def _feature_numbers(subject: Subject) -> list[tuple[str, str, str]]:
    extractor, numbers = subject.parts.extractor, []
    if hasattr(extractor, "explained_variance_ratio_of_mean_"):
        text = f"One module on average: {percent(np.mean(extractor.explained_variance_ratio_))}."
        if total := float(extractor.total_variance_):
            # What one PCA as wide as a module keeps is known from the spectrum.
            kept = float(extractor.eigenvalues_[: subject.n_components].sum()) / total
            text += f" PCA with {counted(subject.n_components, 'component')}: {percent(kept)}."
        value = percent(extractor.explained_variance_ratio_of_mean_)
        numbers.append((value, "of the variance kept by all modules", text))
    if subject.n_modules > 1 and subject.n_shown > 3:
        alike, _ = redundancy(extractor, subject.rows, n_samples=400, random_state=0)
        text = "1 if all modules say the same; lower if they differ."
        numbers.append((format_number(alike, digits=2), "distance correlation of two modules", text))
    return numbers


def live_text(subject: Subject, trials: Trials | None, start: str = "this model") -> list[str]:
    """One sentence for each diversity, beside the slider; ``start`` says what the first one is."""
    sentences = []
    for place, (diversity, model) in enumerate(zip(subject.diversities, subject.models, strict=True)):
        own = f" ({start})" if place == subject.start and len(subject.diversities) > 1 else ""
        text = f"Diversity {diversity:g}{own}" if hasattr(model, "diversity") else "This model"
        if trials is not None:
            both, alone = trials.texts_at(place)
            text += f": ensemble error {both}, one member {alone}."
        elif hasattr(model, "explained_variance_ratio_of_mean_"):
            kept = percent(model.explained_variance_ratio_of_mean_)
            text += f": all modules keep {kept} of the variance."
        else:
            text += f": {counted(subject.n_modules, 'module')}."
        sentences.append(text)
    return sentences
