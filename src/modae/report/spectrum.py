"""Sections on the modules themselves: who looks at which component, and what they keep of the data."""

from __future__ import annotations

from typing import Any

import numpy as np

from modae.report.charts import Section, chart, curves, line, section
from modae.report.subject import Subject
from modae.utils.text import bounded_loss, format_number, percent

MOST_COMPONENTS = 40

_NOBODY = 1e-6
"""Smaller shares are round-off."""


def allocation_section(subject: Subject) -> Section | None:
    """Share of the modules on each principal component, against diversity and at one diversity."""
    if not hasattr(subject.parts.extractor, "allocation_"):
        return None
    shares = np.array([model.allocation_ for model in subject.models])
    used = 1 + int(np.flatnonzero(shares.max(axis=0) > _NOBODY).max(initial=0))
    table = shares[:, : min(max(used, 2), MOST_COMPONENTS)]
    names = [str(number) for number in range(1, table.shape[1] + 1)]
    summary = [
        f"{np.sum(each > _NOBODY)} principal components are looked at by some module, "
        f"{np.sum(each > 1 - _NOBODY)} of them by all modules."
        for each in shares
    ]
    text = (
        "Principal components are the directions in which the data vary most, the first most of all. At "
        "diversity 0 all modules look at the same few; with diversity they spread over more of them."
    )
    axis, unit = "principal component", {"unit": "%", "range": [0.0, 1.0], "summary": summary}
    charts = [
        chart(
            "map", "At every diversity", y_label=axis, rows=names, values=table.T, reverse=True, **unit
        ),
        chart(
            "bars",
            "At this diversity",
            x_label=axis,
            y_label="modules that look at it",
            names=names,
            values=table,
            **unit,
        ),
    ]
    return section("allocation", "Which share of the modules looks at which component", text, charts)


def loss_section(subject: Subject) -> Section | None:
    """What one module and the mean of all keep of the variance; how much they differ."""
    if not hasattr(subject.parts.extractor, "explained_variance_ratio_of_mean_"):
        return None
    alone = [1.0 - float(np.mean(model.explained_variance_ratio_)) for model in subject.models]
    mean = [1.0 - float(model.explained_variance_ratio_of_mean_) for model in subject.models]
    top = max(1.0, *(value for value in alone if value < 2.0), 0.0)
    lost = curves(
        "Variance that is lost",
        [line("the mean of all modules", mean), line("one module, on average", alone)],
        y_label="share of the variance lost",
        unit="%",
        y_range=[0.0, 1.05 * top],
        mark=subject.start,
        summary=[
            f"At diversity {diversity:g} the mean of all modules loses {percent(both)} of the "
            f"variance, one module on average {percent(single)}."
            for diversity, both, single in zip(subject.diversities, mean, alone, strict=True)
        ],
    )
    text = (
        "Each module reconstructs the data from its few features. With diversity a single module loses "
        "more, and may overshoot (more than 100%), while the mean of all loses less: together they see "
        "more. What lies above the frame is in the numbers."
    )
    return section("loss", "What the modules keep of the data", text, [lost])


def certificate_number(extractor: Any) -> list[dict[str, str]]:
    """Loss, bound and gap as a number of the summary; none for modules without a certificate."""
    if not hasattr(extractor, "attainment_"):
        return []
    loss, bound = bounded_loss(extractor)
    proofs = {
        "attained": "no modules of this size can be better",
        "not attainable": "it is proven that no modules reach the bound",
        "undecided": "whether better modules exist is not decided",
    }
    attained = extractor.attainment_ == "attained"
    gap = 0.0 if attained else max(float(extractor.optimality_gap_), 0.0)
    text = f"loss {loss}, lower bound {bound}: {proofs[extractor.attainment_]}."
    value = format_number(gap, "%", digits=2)
    return [{"value": value, "label": "gap to the best possible loss", "text": text}]
