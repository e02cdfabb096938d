"""The reproduction as one page: six data sets, one slider, and every claim with its verdict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import StratifiedKFold

from modae import __version__
from modae.ensembles.classifier import ModularClassifier
from modae.linear.autoencoder import LinearModularAutoencoder
from modae.report.api import Report, live_text, sections
from modae.report.charts import Chart, Section, curves, level, line, section
from modae.report.errors import BAGGING, Trials, mean_and_error
from modae.report.subject import Subject
from modae.reproduction import figure2
from modae.reproduction.claims import DIFFERS, REPRODUCED, UNCHECKED, Verdict, counts
from modae.reproduction.figure2 import N_COMPONENTS, N_FOLDS, N_MODULES, Sweep
from modae.reproduction.run import Setting
from modae.utils.arrays import Array
from modae.utils.text import percent

MOST_ROWS = 3000
"""Of each data set, for the pictures of its modules; errors come from the measurements on all rows."""

SIDE = 28

PLAIN = f"one PCA with {N_COMPONENTS} components"


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
    measured = _with_fewer_stops(figure2.sweeps(setting))
    first = measured[0]
    studies = [_study(sweep, setting) for sweep in measured]
    scale, full = ("at the paper's scale", " --full") if setting.full else ("small samples", "")
    return Report(
        {
            "title": "Modular Autoencoders for Ensemble Feature Extraction, reproduced",
            "subtitle": f"Reeve and Brown, 2015: six data sets, {scale}",
            "summary": _words(measured),
            "numbers": _numbers(measured, verdicts),
            "diversities": [float(value) for value in first.diversities],
            "start": first.best,
            "live": studies[0]["live"],
            "overview": [_figure2(measured)],
            "studies": studies,
            "closing": [_claims(verdicts)],
            "footer": [
                f"Made by modae {__version__}: modae reproduce --report FILE{full}.",
                "Everything is in this file: nothing is loaded from elsewhere.",
            ],
        }
    )


def _with_fewer_stops(measured: Sequence[Sweep]) -> list[Sweep]:
    """A slider of 0, 0.1, ..., 1 and what is best for some data set: more would make the file large."""
    values = measured[0].diversities
    best = {sweep.best for sweep in measured}
    tenths = np.isclose(10 * values, np.round(10 * values))
    stops = [place for place, is_tenth in enumerate(tenths) if is_tenth or place in best]
    return [sweep.at(stops) for sweep in measured]


def _words(measured: Sequence[Sweep]) -> list[str]:
    n_runs = len(measured[0].ensemble)
    return [
        f"{N_MODULES} linear autoencoders of {N_COMPONENTS} components each are trained together to "
        "reconstruct images well and to differ; on the features of each a nearest-neighbour classifier "
        "is trained, and the ten classifiers vote.",
        "The paper says that some diversity makes the vote better than that of Bagging Autoencoders, "
        "and too much of it makes it worse. Move the slider to see it happen.",
        f"Errors are means over {n_runs} runs ({N_FOLDS} folds"
        + (f", {n_runs // N_FOLDS} seeds)." if n_runs > N_FOLDS else ")."),
    ]


def _numbers(measured: Sequence[Sweep], verdicts: Sequence[Verdict]) -> list[dict[str, str]]:
    first = measured[0]
    error, plain = first.ensemble[:, first.best].mean(), first.ensemble[:, 0].mean()
    below = sum(bool(sweep.gain.mean() > 0.0) for sweep in measured)
    counted = counts(verdicts)
    gains = [f"{s.title} {100 * s.gain.mean():+.1f}" for s in measured]
    return [
        {
            "value": percent(error),
            "label": f"error of the vote on {first.title} MNIST",
            "text": f"At diversity {first.diversities[first.best]:g}. With {PLAIN}: "
            f"{percent(plain)}, Bagging Autoencoders: {percent(first.bagging.mean())}.",
        },
        {
            "value": f"{below} of {len(measured)}",
            "label": "data sets on which it is below Bagging",
            "text": f"Points gained at the best diversity of each: {', '.join(gains)}.",
        },
        {
            "value": f"{counted[REPRODUCED]} of {len(verdicts)}",
            "label": "claims of the paper reproduced",
            "text": f"{counted[DIFFERS]} differ, {counted[UNCHECKED]} cannot be checked: the table at "
            "the end of the page has them all.",
        },
    ]


def _figure2(measured: Sequence[Sweep]) -> Section:
    words = (
        "The paper's Figure 2. Each panel is one data set; bands are one standard error to each side, "
        "the ring is the best diversity."
    )
    charts = [_panel(sweep) for sweep in measured]
    return section("figure2", "Error against diversity on six data sets", words, charts)


def _panel(sweep: Sweep) -> Chart:
    ensemble, individual = (mean_and_error(each.T) for each in (sweep.ensemble, sweep.individual))
    bagging = mean_and_error(sweep.bagging)
    return curves(
        sweep.title.capitalize(),
        [line("the ensemble", *ensemble), line("one member, on average", *individual)],
        y_label="error",
        unit="%",
        levels=[level(BAGGING, *map(float, bagging))],
        mark=sweep.best,
        summary=[
            f"{sweep.title} at diversity {diversity:g}: ensemble {percent(both)}, one member "
            f"{percent(alone)}, Bagging Autoencoders {percent(bagging[0])}."
            for diversity, both, alone in zip(sweep.diversities, ensemble[0], individual[0], strict=True)
        ],
    )


def _study(sweep: Sweep, setting: Setting) -> dict[str, Any]:
    """The modules of one data set, fitted to four fifths of its rows and shown on the others."""
    setting.tell(f"Page: {sweep.title}")
    n_samples = min(MOST_ROWS, figure2.n_images(setting, sweep.name))
    X, y = figure2.load_images(setting, sweep.name, n_samples)
    train, test = next(StratifiedKFold(N_FOLDS, shuffle=True, random_state=0).split(X, y))
    best = float(sweep.diversities[sweep.best])
    extractor = LinearModularAutoencoder(N_MODULES, N_COMPONENTS, best, random_state=0).fit(X[train])
    subject = Subject(
        extractor,
        X[test],
        y[test],
        diversities=sweep.diversities.tolist(),
        n_samples=MOST_ROWS,
        random_state=0,
    )
    trials = _trials(sweep, subject, X[train], y[train], setting.n_jobs)
    return {
        "name": sweep.title.capitalize(),
        "text": f"Errors are those of the panel above. Pictures are of modules fitted to "
        f"{len(train):,} images and shown on {len(test):,} others.",
        "live": live_text(subject, trials, "the best"),
        "sections": sections(subject, trials, (SIDE, SIDE), setting.n_jobs),
    }


def _trials(sweep: Sweep, subject: Subject, rows: Array, labels: np.ndarray, n_jobs: int) -> Trials:
    """Errors as measured on all rows; answers for the rows that are shown."""
    told = [
        ModularClassifier(FrozenEstimator(model), n_jobs=n_jobs).fit(rows, labels).predict(subject.rows)
        for model in subject.models
    ]
    return Trials(
        ensemble=sweep.ensemble.T,
        individual=sweep.individual.T,
        # At diversity 0 all modules are this PCA, and a vote of equals is one of them.
        baselines={PLAIN: sweep.ensemble[:, 0], BAGGING: sweep.bagging},
        predictions=np.array(told),
        labels=np.asarray(subject.labels),
        classify=True,
    )


def _claims(verdicts: Sequence[Verdict]) -> Section:
    rows = [
        [v.claim.where, v.claim.paper, v.measured or "not measured", v.verdict, v.claim.note]
        for v in verdicts
    ]
    chart = {
        "kind": "table",
        "title": "Every claim and its verdict",
        "columns": ["where", "the paper says", "found here", "verdict", "remark"],
        "rows": rows,
        "class_column": 3,
        "summary": f"{len(rows)} claims, each with what was found and a verdict.",
    }
    words = "Each claim has a rule that says when it counts as reproduced: modae reproduce prints them."
    return section("claims", "What the paper claims", words, [chart])
