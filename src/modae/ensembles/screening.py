"""From many cheap trials to few costly ones: the order in which a search tries its candidates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils import get_tags

from modae.ensembles.families import Family
from modae.ensembles.search import Candidate, Trials

#: Of each family so many sizes race, the best ones of the screening.
FINALISTS = 2

#: Sizes and diversity are screened with few modules.
FEW_MODULES = 5


def screen(
    trials: Trials,
    families: Mapping[str, Family],
    sizes: Mapping[str, list[dict[str, Any]]],
    scales: list[bool],
) -> None:
    """Own parameters and scale, then sizes and diversity, then a race of the best."""
    finalists: list[Candidate] = []
    for name, family in families.items():
        own_scales = scales
        if family.rotation and finalists:  # trees do not see the scale, but their modules do
            own_scales = [min(finalists, key=trials.cost).scaled]
        variants = _variants(trials, name, family, sizes[name], own_scales)
        if len(variants) > 1:
            trials.run(variants, trials.few_folds)
        best = min(variants, key=trials.cost)
        if best.sizes is None:
            finalists.append(best)
        on_modules = replace(best, estimator=family.with_params(family.member, best.params))
        made = [replace(on_modules, sizes=each) for each in sizes[name]]
        if name:
            counts = [min(each["n_modules"], FEW_MODULES) for each in sizes[name]]
            small = [
                replace(on_modules, sizes={**each, "n_modules": few})
                for each, few in zip(sizes[name], counts, strict=True)
            ]
            trials.run(small, trials.few_folds)
            order = np.argsort([trials.cost(each) for each in small], kind="stable")
            made = [made[place] for place in order[:FINALISTS]]
        finalists += made
    trials.finalists = finalists
    if "" in families:
        trials.run(finalists, range(len(trials.folds)))
    else:
        trials.race(finalists)


def _variants(
    trials: Trials, name: str, family: Family, sizes: list[dict[str, Any]], scales: list[bool]
) -> list[Candidate]:
    """The own parameters of a family on X itself; on modules where it does not take such rows."""
    learner = family.member if family.plain is None else family.plain
    fits = not trials.data.is_sparse or get_tags(learner).input_tags.sparse
    on_columns = bool(name) and fits
    return [
        Candidate(
            name,
            family.with_params(learner if on_columns else family.member, own),
            own,
            None if on_columns else sizes[0],
            gamma,
            scaled,
        )
        for own, gamma in family.variants()
        for scaled in (scales[-1:] if family.wants_scale else scales)
    ]


def most_trials(
    trials: Trials,
    families: Mapping[str, Family],
    sizes: Mapping[str, list[dict[str, Any]]],
    scales: list[bool],
) -> int:
    """How many trials there will be if no candidate is dropped: for the time left."""
    few, n_folds, most = len(trials.few_folds), len(trials.folds), 0
    for name, family in families.items():
        n_variants, n_sizes = len(family.variants()) * len(scales), len(sizes[name])
        raced = 1 + min(n_sizes, FINALISTS) if name else n_sizes
        most += few * n_variants + few * n_sizes * bool(name) + n_folds * raced
    return most
