"""The top of the page: what was fitted and how good it is, in words and three numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from modae.metrics import redundancy
from modae.report.errors import error_text
from modae.report.spectrum import certificate_numbers
from modae.report.subject import Subject
from modae.report.trials import BAGGING, Trials, mean_and_error, why_no_trials
from modae.utils.arrays import Array
from modae.utils.text import counted

Number = dict[str, str]


def summary_words(subject: Subject, trials: Trials | None) -> list[str]:
    """Sentences on the model, the data, and what came out."""
    sentences = [_model(subject), _data(subject)]
    if trials is not None:
        sentences.append(_verdict(subject, trials))
    elif subject.parts.ensemble is not None:
        sentences.append(f"{why_no_trials(subject)}, so this page says nothing about errors.")
    return sentences


def _model(subject: Subject) -> str:
    extractor, ensemble = subject.extractor, subject.parts.ensemble
    n_modules = int(extractor.n_modules)
    text = f"{counted(n_modules, 'module')} of {counted(extractor.n_components_, 'component')}"
    if hasattr(extractor, "diversity") and n_modules > 1:
        text += f" each, trained together with diversity {extractor.diversity:g}"
    text += f" ({type(extractor).__name__})"
    if ensemble is None:
        return f"{text}."
    members = " or ".join(sorted({type(member).__name__ for member in ensemble.estimators_}))
    end = "they vote" if subject.parts.kind == "classify" else "their mean is the answer"
    return f"{text}. On the features of each a {members} is trained, and {end}."


def _data(subject: Subject) -> str:
    n_columns = len(subject.names)
    some = (
        ""
        if subject.n_shown == subject.n_rows
        else f"; {subject.n_shown:,} of them, drawn at random, were looked at"
    )
    text = f"{counted(subject.n_rows, 'row')} with {counted(n_columns, 'column')}"
    if subject.parts.kind == "classify" and subject.classes is not None:
        text += f" and {counted(len(subject.classes), 'class')}"
    return f"Data: {text}{some}."


def _verdict(subject: Subject, trials: Trials) -> str:
    mean = float(trials.ensemble[subject.start].mean())
    alone = float(trials.individual[subject.start].mean())
    told = error_text(mean, trials.classify), error_text(alone, trials.classify)
    if trials.classify:
        text = f"The vote is wrong on {told[0]} of the rows, one member alone on {told[1]}"
    else:
        text = f"The ensemble is off by {told[0]} (root mean square), one member alone by {told[1]}"
    how = "cross-validated: models like this one, fitted to other rows of this table"
    return f"{text}, {how}.{_given(trials)}"


def _given(trials: Trials) -> str:
    """What the model itself says of these rows."""
    if trials.given is None:
        return ""
    error = error_text(trials.given, trials.classify)
    what = f"is wrong on {error} of" if trials.classify else f"is off by {error} on"
    return f" The model itself {what} these rows, which says little if it was fitted to them."


def summary_numbers(subject: Subject, trials: Trials | None) -> list[Number]:
    """Three numbers: errors against the baselines, or what modules keep and share; the certificate."""
    numbers = _features(subject) if trials is None else _errors(subject, trials)
    certificate = certificate_numbers(subject.extractor)
    return [*numbers, *([certificate] if certificate else [])]


def _errors(subject: Subject, trials: Trials) -> list[Number]:
    own = trials.ensemble[subject.start]
    plain = {name: each for name, each in trials.baselines.items() if name != BAGGING}
    label = "error of the vote" if trials.classify else "root mean square error"
    against = [
        f"{name.replace('one PCA', 'One PCA')}, same {_one(trials)}: {_told(each, trials)}; "
        f"{_difference(each - own, trials)}."
        for name, each in plain.items()
    ]
    numbers = [
        {
            "value": error_text(float(own.mean()), trials.classify),
            "label": label,
            "words": " ".join(against),
        },
    ]
    if BAGGING in trials.baselines:
        numbers.append(_bagging(own, trials))
    return numbers


def _bagging(own: Array, trials: Trials) -> Number:
    bagging = trials.baselines[BAGGING]
    return {
        "value": error_text(float(bagging.mean()), trials.classify),
        "label": "error of Bagging Autoencoders",
        "words": f"As many modules, each a PCA of other rows: {_difference(bagging - own, trials)}.",
    }


def _one(trials: Trials) -> str:
    return "classifier" if trials.classify else "regressor"


def _told(values: Array, trials: Trials) -> str:
    return error_text(float(values.mean()), trials.classify)


def _difference(gain: Array, trials: Trials) -> str:
    """How much better, with a paired standard error over the folds."""
    mean, error = map(float, mean_and_error(gain))
    unit = " points" if trials.classify else ""
    scale = 100.0 if trials.classify else 1.0
    digits = ".1f" if trials.classify else ".3g"
    size, spread = f"{scale * abs(mean):{digits}}{unit}", f"± {scale * error:{digits}}"
    better = "better" if mean > 0 else "worse"
    if mean == 0.0:
        return "no difference"
    if abs(mean) <= 2.0 * error:
        return f"no clear difference ({size} {better} {spread})"
    return f"this model is {size} {better} ({spread})"


def _features(subject: Subject) -> list[Number]:
    extractor, numbers = subject.extractor, []
    if hasattr(extractor, "explained_variance_ratio_of_mean_"):
        kept = float(extractor.explained_variance_ratio_of_mean_)
        alone = float(np.mean(extractor.explained_variance_ratio_))
        words = f"One module on average: {100 * alone:.1f}%. {_plain_pca(extractor)}"
        numbers.append(
            {
                "value": f"{100 * kept:.1f}%",
                "label": "of the variance kept by all modules",
                "words": words.strip(),
            }
        )
    if int(extractor.n_modules) > 1 and subject.n_shown > 3:
        value, _ = redundancy(extractor, subject.rows, n_samples=400, random_state=0)
        words = "1 if all modules say the same; lower if they differ."
        numbers.append(
            {"value": f"{value:.2f}", "label": "distance correlation of two modules", "words": words}
        )
    return numbers


def _plain_pca(extractor: Any) -> str:
    """What PCA with as many components as one module keeps: known from the spectrum."""
    total = float(extractor.total_variance_)
    if not total:
        return ""
    kept = float(extractor.eigenvalues_[: extractor.n_components_].sum()) / total
    return f"PCA with {counted(extractor.n_components_, 'component')}: {100 * kept:.1f}%."


def live_words(subject: Subject, trials: Trials | None, start: str = "this model") -> list[str]:
    """One sentence for each diversity, beside the slider; ``start`` says what the first one is."""
    return [_live(subject, trials, place, start) for place in range(len(subject.diversities))]


def _live(subject: Subject, trials: Trials | None, place: int, start: str) -> str:
    own = f" ({start})" if place == subject.start and len(subject.diversities) > 1 else ""
    text = f"Diversity {subject.diversities[place]:g}{own}: "
    if not hasattr(subject.extractor, "diversity"):
        text = "This model: "
    if trials is not None:
        both, alone = (float(each[place].mean()) for each in (trials.ensemble, trials.individual))
        told = error_text(both, trials.classify), error_text(alone, trials.classify)
        return f"{text}ensemble error {told[0]}, one member {told[1]}."
    model = subject.models[place]
    if hasattr(model, "explained_variance_ratio_of_mean_"):
        kept = float(model.explained_variance_ratio_of_mean_)
        return f"{text}all modules keep {100 * kept:.1f}% of the variance."
    return f"{text}{counted(int(model.n_modules), 'module')}."
