"""The report on a fitted model: measure, put into sections, write one page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from modae.report.charts import Section
from modae.report.errors import Trials, error_section, prediction_section, run_trials
from modae.report.features import (
    allocation_section,
    density_section,
    explained_section,
    likeness_section,
    loss_section,
)
from modae.report.images import reconstruction_section, resolved_shape
from modae.report.page import render, require_plotly
from modae.report.subject import Subject, make_subject
from modae.report.summary import live_text, summary_numbers, summary_text
from modae.utils.atomic import atomic_write
from modae.utils.parameters import check_count


@dataclass(frozen=True, eq=False)
class Report:
    """A page that is ready to be written.

    Parameters
    ----------
    facts : dict
        All that the page says, as plain numbers and texts.
    """

    facts: dict[str, Any]

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
        page = self.html.encode()
        with atomic_write(Path(path)) as file:
            file.write(page)
        return Path(path)


def build(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    title: str | None = None,
    diversities: Any = None,
    image_shape: Any = "auto",
    n_samples: int = 3000,
    n_jobs: int | None = None,
    random_state: int = 0,
) -> Report:
    """Measure a fitted model on data, at every diversity, and make a page of it.

    The page has one slider for diversity, which moves everything: error curves, which share of the
    modules looks at which component, reconstructions, densities of classes, distance correlations,
    a confusion matrix, and what each module looks at.

    Errors are cross-validated on X: the steps, modules and members are fitted again without the rows
    that they are judged on, so X may be the data that the model was fitted to. All else is about the
    model as it is.

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
    n_samples : int, default=3000
        Most rows to look at, drawn at random. Time grows with it.
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
    >>> report = modae.report.build(vote, X, y, diversities=[0.0, 0.4])
    >>> report.facts["live"][2]
    'Diversity 0.8 (this model): ensemble error 4.3%, one member 26.9%.'
    """
    from modae import __version__

    require_plotly()
    check_count("n_samples", n_samples, minimum=3)
    if title is not None and not isinstance(title, str):
        raise TypeError(f"title must be a string or None, got {title!r}.")
    subject = make_subject(
        model, X, y, diversities=diversities, n_samples=int(n_samples), random_state=random_state
    )
    shape = resolved_shape(image_shape, subject)
    trials = run_trials(subject, n_jobs, random_state)
    task = {"features": "features without labels"}.get(subject.parts.task, subject.parts.task)
    errors = "" if trials is None else "Errors come from cross-validation on these rows. "
    path = "" if len(subject.diversities) == 1 else ", and from its diversity path"
    return Report(
        {
            "title": "Report on a modular model" if title is None else title,
            "subtitle": f"{task.capitalize()}, {subject.n_rows:,} rows",
            "summary": summary_text(subject, trials),
            "numbers": summary_numbers(subject, trials),
            "diversities": subject.diversities,
            "start": subject.start,
            "live": live_text(subject, trials),
            "overview": [],
            "studies": [{"name": "", "text": "", "sections": sections(subject, trials, shape, n_jobs)}],
            "footer": [
                f"Made by modae {__version__}. Everything is in this file: nothing is loaded from "
                "elsewhere.",
                f"{errors}Pictures of modules come from the model as it was fitted{path}.",
            ],
        }
    )


def sections(
    subject: Subject, trials: Trials | None, shape: tuple[int, int] | None, n_jobs: int | None
) -> list[Section]:
    """All sections that this model and these data have, most important first."""
    found = [
        None if trials is None else error_section(subject, trials),
        allocation_section(subject),
        reconstruction_section(subject, shape),
        explained_section(subject, shape),
        likeness_section(subject, n_jobs),
        density_section(subject),
        None if trials is None else prediction_section(trials),
        loss_section(subject),
    ]
    return [each for each in found if each is not None]
