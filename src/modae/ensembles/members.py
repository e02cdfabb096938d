"""One member for each module: who they are, what they are trained with, and whose fault it was."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from warnings import warn

import numpy as np
from sklearn.base import clone

from modae.data import gather
from modae.ensembles.composition import Generator, Named, seeded
from modae.ensembles.routing import Routed
from modae.utils.arrays import Array
from modae.utils.parallel import in_threads

EQUAL = 1e-9
"""Modules whose outputs spread by less than this share of the variance are equal."""


class MemberError(ValueError):
    """A member of an ensemble failed: the message says which module, and why."""


@dataclass(frozen=True)
class Member:
    """One estimator and the module that it is for."""

    module: int
    name: str
    estimator: Any

    def __str__(self) -> str:
        kind = type(self.estimator).__name__
        named = kind if self.name == "estimator" else f"{self.name!r}, {kind}"
        return f"module {self.module} ({named})"

    def call(self, method: str, *args: Any, **params: Any) -> Any:
        """Call a method of the estimator; a failure names the module."""
        try:
            return getattr(self.estimator, method)(*args, **params)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            raise MemberError(f"{self} failed in {method}: {reason}") from error


def new_members(estimator: Any, n_modules: int, rng: Generator = None) -> list[Member]:
    """An unfitted copy for each module; the caller's objects stay as they are."""
    if isinstance(estimator, (list, tuple)):
        if len(estimator) != n_modules:
            raise ValueError(
                f"estimator must list one member for each of the {n_modules} modules of the extractor, "
                f"got {len(estimator)}: change the list, or n_modules of the extractor."
            )
        named = list(estimator)
    else:
        named = [("estimator", estimator)] * n_modules
    return [
        Member(module, name, seeded(clone(member), rng)) for module, (name, member) in enumerate(named)
    ]


def fit_members(
    members: Sequence[Member], features: Sequence[Array], y: Any, routed: Routed, n_jobs: int | None
) -> list[Any]:
    """Fit each member to the features of its module, several at a time."""

    def fit(member: Member) -> Any:
        return member.call("fit", features[member.module], y, **routed[member.name].fit)

    return in_threads(fit, [(member,) for member in members], n_jobs)


def require_members(members: Named, kind: str, is_kind: Callable[[Any], bool]) -> None:
    """Members of the right kind, or an error that names the one that is not."""
    for name, member in members:
        if isinstance(member, type) or not hasattr(member, "get_params") or not is_kind(member):
            which = "" if name == "estimator" else f" (member {name!r})"
            raise ValueError(f"estimator must be a {kind} or a list of them, got {member!r}{which}.")


def ask_members(
    members: Sequence[Member], method: str, features: Sequence[Array], n_jobs: int | None
) -> list[Any]:
    """What a method of each member says of the features of its module."""

    def ask(member: Member) -> Any:
        return member.call(method, features[member.module])

    return in_threads(ask, [(member,) for member in members], n_jobs)


def module_features(extractor: Any, X: Any) -> Sequence[Array]:
    """Features of each module, checked: one 2-d array of as many rows for each."""
    features: Sequence[Array] = gather(extractor.transform_modules(X))
    heights = {np.shape(each)[0] if np.ndim(each) == 2 else None for each in features}
    if len(heights) != 1 or None in heights:
        shapes = [np.shape(each) for each in features]
        raise ValueError(
            f"transform_modules of {type(extractor).__name__} must return one 2-d array for each "
            f"module, all with the same number of rows, got shapes {shapes}."
        )
    return features


def warn_if_equal(extractor: Any) -> None:
    """Say that modules which see everything cannot differ, whatever the diversity."""
    spread, variance = (
        getattr(extractor, name, None) for name in ("diversity_term_", "total_variance_")
    )
    if spread is None or variance is None or extractor.n_modules == 1 or extractor.diversity == 0.0:
        return
    if spread <= EQUAL * variance:
        warn(
            "All modules are equal, so the ensemble gains nothing over one member: n_components is "
            f"{extractor.n_components_} for {extractor.n_features_in_} columns; lower it, or raise the "
            "diversity.",
            UserWarning,
            stacklevel=3,
        )


def require_modules(extractor: Any) -> None:
    """An extractor that has modules, or an error that says what one is."""
    if isinstance(extractor, type) or not hasattr(extractor, "transform_modules"):
        raise TypeError(
            "extractor must have a method transform_modules that returns one array of features for each "
            f"module, as LinearModularAutoencoder and BaggingAutoencoder do, got {extractor!r}."
        )
