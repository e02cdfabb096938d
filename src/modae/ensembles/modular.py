"""What classifiers and regressors on modules share: extract, train the members, ask them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from modae.data import columns_of, lazy_rows
from modae.ensembles.composition import Composition, seeded, two_generators
from modae.ensembles.members import (
    Member,
    ask_members,
    fit_members,
    module_features,
    new_members,
)
from modae.ensembles.routing import Routed
from modae.utils.arrays import Array


class Parts(NamedTuple):
    """What a fit gives: the extractor, the members, and their names."""

    extractor: Any
    estimators: list[Any]
    names: list[str]

    def members(self) -> list[Member]:
        """The members with their modules and names."""
        named = enumerate(zip(self.names, self.estimators, strict=True))
        return [Member(module, name, estimator) for module, (name, estimator) in named]


class ModularEnsemble(Composition):
    """An extractor with modules, and one member for each.

    Abstract: a subclass says what its default member is, and puts the members' answers together.
    """

    n_jobs: int | None
    random_state: Any

    def _fit_parts(self, X: Any, y: Any, routed: Routed) -> Parts:
        """Fit a copy of the extractor, then a member to the features of each module."""
        for_extractor, for_members = two_generators(self.random_state)
        extractor = seeded(clone(self._part("extractor")), for_extractor)
        extractor = extractor.fit(X, y, **routed["extractor"].fit)
        features = module_features(extractor, X)
        check_consistent_length(features[0], y)
        members = new_members(self._part("estimator"), len(features), for_members)
        self._check_members(members)
        fitted = fit_members(members, features, y, routed, self.n_jobs)
        return Parts(extractor, fitted, [member.name for member in members])

    def _publish(self, parts: Parts) -> None:
        """All at once, when nothing can fail any more: an earlier fit stays whole until then."""
        self.extractor_, self.estimators_, self._member_names = parts
        self.n_modules_ = len(parts.estimators)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimators_")

    def _key_figures(self) -> dict[str, str]:
        kinds = Counter(type(member).__name__ for member in self.estimators_)
        members = ", ".join(f"{count} x {kind}" for kind, count in kinds.items())
        # Somebody else's extractor has no figures; a frozen one passes on those of what it holds.
        of_extractor = getattr(self.extractor_, "_key_figures", dict)
        return {"Members": members, "Extractor": type(self.extractor_).__name__} | of_extractor()

    def _ask(self, method: str, features: Sequence[Array]) -> list[Any]:
        """What each fitted member says of the features of its module."""
        return ask_members(self._members(), method, features, self.n_jobs)

    def _features(self, X: Any) -> Sequence[Array]:
        """Features of each module for new rows."""
        check_is_fitted(self)
        # The extractor first: it knows best what is wrong with X.
        features = module_features(self.extractor_, X)
        validate_data(self, columns_of(X), reset=False, skip_check_array=True)
        return features

    def _members(self) -> list[Member]:
        return Parts(self.extractor_, self.estimators_, self._member_names).members()

    def _check_members(self, members: Sequence[Member]) -> None:
        """Whether these members can do what the ensemble needs of them."""


def require_in_memory(X: Any, what: str) -> None:
    """Refuse lazy data where rows are picked one by one: scikit-learn would gather them in silence."""
    if lazy_rows(X) is not None:
        method = "to_array" if hasattr(X, "to_array") else "compute"
        raise TypeError(
            f"{what} picks single rows, so X must be in memory, got a lazy {type(X).__name__}: use a "
            f"sample of the rows that fits, or X.{method}() if all of them do."
        )


def stacked(answers: Sequence[Any]) -> np.ndarray:
    """Answers of the members as one array, the member first."""
    return np.stack([np.asarray(answer) for answer in answers])
