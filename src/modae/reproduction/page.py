"""The reproduction as one page: six data sets, one slider, and every claim with its verdict."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator

from modae import __version__
from modae.linear.autoencoder import LinearModularAutoencoder
from modae.report.api import Report, live_text, sections
from modae.report.charts import Chart, Section, chart, section
from modae.report.errors import BAGGING, PathErrors
from modae.report.subject import Subject
from modae.reproduction import figure2
from modae.reproduction.figure2 import N_FOLDS, SIZES, Sweep, nearest_neighbours
from modae.reproduction.run import DIFFERS, REPRODUCED, UNCHECKED, Setting, Verdict, counts
from modae.utils.text import percent

#: Of each data set, for the pictures of its modules; errors come from the measurements on all rows.
MOST_ROWS = 3000

PLAIN = "member on PCA(10)"


def make_page(verdicts: Sequence[Verdict], setting: Setting) -> Report:
    """All that was found, for a browser.

    Parameters
    ----------
    verdicts : sequence of Verdict
        Of the parts that were run.
    setting : Setting
        That of the run: its measurements are taken from its folder.

    Returns
    -------
    report : Report
    """
    measured = figure2.sweeps(setting)
    # A slider of 0, 0.1, ..., 1 and what is best for some data set: more would make the file large.
    values, best = measured[0].diversities, {sweep.best for sweep in measured}
    tenths = np.isclose(10 * values, np.round(10 * values))
    stops = [place for place, is_tenth in enumerate(tenths) if is_tenth or place in best]
    measured = [sweep.at(stops) for sweep in measured]
    first, n_runs = measured[0], len(measured[0].ensemble)
    studies = [_study(sweep, setting) for sweep in measured]
    scale, full = ("at the paper's scale", " --full") if setting.full else ("small samples", "")
    seeds = f", {n_runs // N_FOLDS} seeds" if n_runs > N_FOLDS else ""
    about = (
        "The paper's Figure 2. Each panel is one data set; bands are one standard error to each side, "
        "the ring is the best diversity."
    )
    panels = [_panel(study) for study in studies]
    return Report(
        {
            "title": "Modular Autoencoders for Ensemble Feature Extraction, reproduced",
            "subtitle": f"Reeve and Brown, 2015: six data sets, {scale}",
            "summary": [
                "10 linear autoencoders of 10 components each are trained together to reconstruct "
                "images well and to differ; on the features of each a nearest-neighbour classifier is "
                "trained, and the ten classifiers vote.",
                "The paper says that some diversity makes the vote better than that of Bagging "
                "Autoencoders, and too much of it makes it worse. Move the slider to see it happen.",
                f"Errors are means over {n_runs} runs ({N_FOLDS} folds{seeds}).",
            ],
            "numbers": _numbers(measured, verdicts),
            "diversities": first.diversities.tolist(),
            "start": first.best,
            "live": studies[0]["live"],
            "overview": [section("figure2", "Error against diversity on six data sets", about, panels)],
            "studies": studies,
            "closing": [_claims(verdicts)],
            "footer": [
                f"Made by modae {__version__}: modae reproduce --report FILE{full}.",
                "Everything is in this file: nothing is loaded from elsewhere.",
            ],
        }
    )


def _numbers(measured: Sequence[Sweep], verdicts: Sequence[Verdict]) -> list[dict[str, str]]:
    first, counted = measured[0], counts(verdicts)
    error, plain = (percent(first.ensemble[:, place].mean()) for place in (first.best, 0))
    below = sum(bool(sweep.gain.mean() > 0.0) for sweep in measured)
    gains = ", ".join(f"{s.title} {100 * s.gain.mean():+.1f}" for s in measured)
    numbers = {
        f"error of the vote on {first.title} MNIST": (
            error,
            f"At diversity {first.diversities[first.best]:g}. One {PLAIN}: {plain}, "
            f"Bagging Autoencoders: {percent(first.bagging.mean())}.",
        ),
        "data sets on which it is below Bagging": (
            f"{below} of {len(measured)}",
            f"Points gained at the best diversity of each: {gains}.",
        ),
        "claims of the paper reproduced": (
            f"{counted[REPRODUCED]} of {len(verdicts)}",
            f"{counted[DIFFERS]} differ, {counted[UNCHECKED]} cannot be checked: the table at the end "
            "of the page has them all.",
        ),
    }
    return [{"value": v, "label": label, "text": text} for label, (v, text) in numbers.items()]


def _panel(study: dict[str, Any]) -> Chart:
    """The errors of one data set as its own section has them, with Bagging as the only level."""
    errors = study["sections"][0]["charts"][0]
    summary = [f"{study['name']}: {text}" for text in errors["summary"]]
    levels = [each for each in errors["levels"] if each["name"] == BAGGING]
    return errors | {"title": study["name"], "levels": levels, "summary": summary}


def _study(sweep: Sweep, setting: Setting) -> dict[str, Any]:
    """The modules of one data set, fitted to four fifths of its rows and shown on the others.

    Errors are those measured on all rows; answers are for the rows that are shown.
    """
    setting.tell(f"Page: {sweep.title}")
    n_samples = min(MOST_ROWS, figure2.n_images(setting, sweep.name))
    X, y = figure2.load_images(setting, sweep.name, n_samples)
    train, test = next(figure2.folds().split(X, y))
    best, stops = float(sweep.diversities[sweep.best]), sweep.diversities.tolist()
    modules = LinearModularAutoencoder(**SIZES, diversity=best, random_state=0).fit(X[train])
    subject = Subject(modules, X[test], y[test], diversities=stops, n_samples=MOST_ROWS, random_state=0)
    answers = []
    for model in subject.models:
        ensemble = nearest_neighbours(FrozenEstimator(model), n_jobs=setting.n_jobs)
        answers.append(ensemble.fit(X[train], y[train]).predict(subject.rows))
    trials = PathErrors(
        ensemble=sweep.ensemble.T,
        individual=sweep.individual.T,
        # At diversity 0 all modules are this PCA, and a vote of equals is one of them.
        baselines={PLAIN: sweep.ensemble[:, 0], BAGGING: sweep.bagging},
        predictions=np.array(answers),
        labels=np.asarray(subject.labels),
        classify=True,
    )
    return {
        "name": sweep.title.capitalize(),
        "text": f"Errors are those of the panel above. Pictures are of modules fitted to "
        f"{len(train):,} images and shown on {len(test):,} others.",
        "live": live_text(subject, trials, "the best"),
        "sections": sections(subject, trials, (28, 28), setting.n_jobs),
    }


def _claims(verdicts: Sequence[Verdict]) -> Section:
    table = chart(
        "table",
        "Every claim and its verdict",
        columns=["where", "the paper says", "found here", "verdict", "remark"],
        rows=[
            [v.claim.where, v.claim.paper, v.measured or "not measured", v.verdict, v.claim.note]
            for v in verdicts
        ],
        class_column=3,
        summary=f"{len(verdicts)} claims, each with what was found and a verdict.",
    )
    words = "Each claim has a rule that says when it counts as reproduced: modae reproduce prints them."
    return section("claims", "What the paper claims", words, [table])
