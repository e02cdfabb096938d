"""Sections on the modules themselves: who looks at which component, and what they keep of the data."""

from __future__ import annotations

from typing import Any

import numpy as np

from modae.report.charts import Section, bars, curves, line, path_map, section
from modae.report.subject import Subject
from modae.utils.text import bounded_loss

MOST_COMPONENTS = 40

_NOBODY = 1e-6
"""Smaller shares are round-off."""


def allocation_section(subject: Subject) -> Section | None:
    """Share of the modules on each principal component, against diversity and at one diversity."""
    if not hasattr(subject.extractor, "allocation_"):
        return None
    shares = np.array([model.allocation_ for model in subject.models])
    shown = min(
        max(2, 1 + int(np.flatnonzero(shares.max(axis=0) > _NOBODY).max(initial=0))), shares.shape[1]
    )
    shown = min(shown, MOST_COMPONENTS)
    names = [str(number) for number in range(1, shown + 1)]
    summary = [_reach(each, subject) for each in shares]
    words = (
        "Principal components are the directions in which the data vary most, the first most of all. At "
        "diversity 0 all modules look at the same few; with diversity they spread over more of them."
    )
    table, axis = shares[:, :shown], "principal component"
    charts = [
        path_map("At every diversity", table.T, names, y_label=axis, unit="%", summary=summary),
        bars(
            "At this diversity",
            table,
            names,
            x_label=axis,
            y_label="modules that look at it",
            summary=summary,
        ),
    ]
    return section("allocation", "Which share of the modules looks at which component", words, charts)


def _reach(shares: np.ndarray, subject: Subject) -> str:
    every, some = int(np.sum(shares > 1 - _NOBODY)), int(np.sum(shares > _NOBODY))
    return f"{some} principal components are looked at by some module, {every} of them by all modules."


def loss_section(subject: Subject) -> Section | None:
    """What one module and the mean of all keep of the variance; how much they differ."""
    if not hasattr(subject.extractor, "explained_variance_ratio_of_mean_"):
        return None
    alone = [1.0 - float(np.mean(model.explained_variance_ratio_)) for model in subject.models]
    mean = [1.0 - float(model.explained_variance_ratio_of_mean_) for model in subject.models]
    top = max(1.0, *(value for value in alone if value < 2.0), 0.0)
    chart = curves(
        "Variance that is lost",
        [line("the mean of all modules", mean), line("one module, on average", alone)],
        y_label="share of the variance lost",
        unit="%",
        y_range=[0.0, 1.05 * min(top, 2.0)],
        mark=subject.start,
        summary=[
            f"At diversity {diversity:g} the mean of all modules loses {100 * both:.1f}% of the "
            f"variance, one module on average {100 * single:.1f}%."
            for diversity, both, single in zip(subject.diversities, mean, alone, strict=True)
        ],
    )
    words = (
        "Each module reconstructs the data from its few features. With diversity a single module loses "
        "more, and may overshoot (more than 100%), while the mean of all loses less: together they see "
        "more. What lies above the frame is in the numbers."
    )
    return section("loss", "What the modules keep of the data", words, [chart])


def certificate_numbers(extractor: Any) -> dict[str, str] | None:
    """Loss, bound and gap as a number of the summary."""
    if not hasattr(extractor, "attainment_"):
        return None
    gap = max(float(extractor.optimality_gap_), 0.0)
    loss, bound = bounded_loss(extractor)
    proofs = {
        "attained": "no modules of this size can be better",
        "not attainable": "it is proven that no modules reach the bound",
        "undecided": "whether better modules exist is not decided",
    }
    words = f"loss {loss}, lower bound {bound}: {proofs[extractor.attainment_]}."
    shown = "0%" if extractor.attainment_ == "attained" else f"{100 * gap:.2g}%"
    return {"value": shown, "label": "gap to the best possible loss", "words": words}
