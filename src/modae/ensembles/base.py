"""What all ensembles on modules share: fitting and asking the members."""

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from copy import copy
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from modae.data.placed_parts import Parts
from modae.data.validation import columns_of, copy_columns, take_rows
from modae.ensembles.composition import SIZES, EnsembleParameters, Routed
from modae.ensembles.members import (
    Generator,
    Member,
    call_members,
    features_of,
    fit_member,
    for_known,
    module_features,
    new_members,
    seeds_for,
    stream_members,
    two_generators,
)
from modae.linear.autoencoder import LinearModularAutoencoder
from modae.utils.arrays import Array, Indices
from modae.utils.parameters import check_choice, check_flag


class ModularEnsemble(EnsembleParameters):
    """An extractor with modules, and one member for each.

    Abstract: a subclass says what its default member is, and puts the members' answers together.
    """

    stream: bool
    n_jobs: int | None
    random_state: Any
    _kind: ClassVar[tuple[str, Callable[[Any], bool]]]  # what members are, and the question
    _choices: ClassVar[dict[str, Any]]  # of the parameters that only this ensemble has

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None, **params: Any) -> Self:
        """Fit the extractor to X, and a member to the features of each module and y.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Whatever the extractor takes.
        y : array-like of shape (n_samples,), or (n_samples, n_targets) for numbers
            Labels (numbers or strings), or the numbers to predict.
        sample_weight : array-like of shape (n_samples,), optional
            With metadata routing off it goes to the extractor, if that takes weights, and to all
            members, which must; with routing on, to whoever requests it. Not with ``calibrate``.
            Batches that were opened with ``weight=`` bring their own.
        **params : dict
            Other metadata, only with metadata routing on, and not with ``calibrate``.

        Returns
        -------
        self
        """
        self._check_parts(*self._kind)
        for name, choices in self._choices.items():
            check_choice(name, getattr(self, name), choices)
        check_flag("stream", self.stream)
        X, lazy, y, known, weights, held = self._read(X, y, sample_weight, params or None)
        fresh = self._fitted(X, lazy, y, known, weights, self._route(weights, params))
        if held is not None:
            fresh._keep_held_out(fresh, *held)
        self.__dict__ = fresh.__dict__
        return self

    def _fitted(
        self, X: Any, lazy: Any, y: Any, known: Indices, weights: Array | None, routed: Routed
    ) -> Self:
        """A copy, fitted: the extractor to all rows, then a member to the features of each module.

        So a fit that fails leaves this model as it was. If only some targets are ``known``, the members,
        and the features, are for these rows, and the extractor sees all rows and no targets.
        """
        for_extractor, for_members = two_generators(self.random_state)
        extractor, features = self._new_extractor(for_extractor), None
        linear = type(extractor) is LinearModularAutoencoder  # others may change what fit does
        if len(known) < len(y):
            extractor = extractor.fit(X, **routed["extractor"].fit)
            X, y, routed = take_rows(X, known), y[known], for_known(routed, known)
            weights = None if weights is None else weights[known]
        elif linear and lazy is None:
            features = extractor.fit_transform_modules(X, y, **routed["extractor"].fit)
        else:
            extractor = extractor.fit(X, y, **routed["extractor"].fit)
        fresh = copy(self)
        copy_columns(fresh, extractor)
        if not hasattr(extractor, "n_features_in_"):
            validate_data(fresh, columns_of(X), skip_check_array=True)
        if self.stream:
            members = stream_members(self, extractor, X, lazy, y, routed, for_members)
        else:
            if features is None:
                features = features_of(extractor, X, lazy)
            if not isinstance(features, Parts):
                check_consistent_length(features[0], y)
            members = self._fit_members(features, y, routed, for_members)
        fresh._publish(extractor, members, y, weights)
        fresh._calibrate_vote(features, y, weights, routed)
        return fresh

    def _fit_to_features(
        self, features: Sequence[Array], y: np.ndarray, weights: Array | None, routed: Routed
    ) -> Self:
        """Fit members to features that are there already: what a search does with each candidate."""
        members = self._fit_members(features, y, routed, two_generators(self.random_state)[1])
        self._publish(self.extractor, members, y, weights)
        return self

    def _new_extractor(self, rng: Generator) -> Any:
        """A copy of the extractor to be fitted, with seeds, sizes and diversity that were given here."""
        extractor = self._part("extractor")
        given = {name: getattr(self, name) for name in SIZES if getattr(self, name) is not None}
        frozen = isinstance(extractor, FrozenEstimator)
        known = set() if frozen else set(extractor.get_params(deep=False))
        strange = sorted(set(given) - known)
        if strange:
            raise ValueError(
                f"{' and '.join(strange)} cannot be set on {type(extractor).__name__}, which is fitted "
                "already or has no such parameter: leave it at None here."
            )
        if frozen:
            return extractor
        seeds = seeds_for(extractor, rng)
        return clone(extractor).set_params(**seeds, **given)

    def _fit_members(self, features: Any, y: Any, routed: Routed, rng: Any) -> list[Member]:
        """A fitted member for the features of each module, trained where these are."""
        members = new_members(self._part("estimator"), len(features), rng)
        self._check_members(members)
        params = {member.name: routed[member.name].fit for member in members}
        if isinstance(features, Parts):
            tasks = [(member.module, partial(fit_member, member=member)) for member in members]
            fitted = features.run(tasks, y=y, params=params)
        else:
            fitted = call_members(members, "fit", features, self.n_jobs, y, params=params)
        pairs = zip(members, fitted, strict=True)
        return [Member(member.module, member.name, estimator) for member, estimator in pairs]

    def _publish(self, extractor: Any, members: list[Member], y: Any, weights: Array | None) -> None:
        """What is known after a fit, of rows with these targets and weights."""
        self.extractor_ = extractor
        self.estimators_ = [member.estimator for member in members]
        self._member_names = [member.name for member in members]
        self.n_modules_ = len(members)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimators_")

    def _key_figures(self) -> dict[str, str]:
        kinds = Counter(type(member).__name__ for member in self.estimators_)
        members = ", ".join(f"{count} x {kind}" for kind, count in kinds.items())
        # Somebody else's extractor has no figures; a frozen one passes on those of what it holds.
        of_extractor = getattr(self.extractor_, "_key_figures", dict)
        return {"Members": members, "Extractor": type(self.extractor_).__name__} | of_extractor()

    def _ask(self, method: str, features: Sequence[Array] | Array) -> list[Any]:
        """What each fitted member says of the features of its module."""
        return call_members(self._members(), method, features, self.n_jobs)

    def _features(self, X: Any) -> Sequence[Array]:
        """Features of each module for new rows."""
        check_is_fitted(self)
        if not hasattr(self.extractor_, "n_features_in_"):  # others compare the columns themselves
            validate_data(self, columns_of(X), reset=False, skip_check_array=True)
        return module_features(self.extractor_, X)

    def _members(self) -> list[Member]:
        named = zip(self._member_names, self.estimators_, strict=True)
        return [Member(module, *pair) for module, pair in enumerate(named)]

    @abstractmethod
    def _keep_held_out(self, model: Any, X: Any, y: Any) -> None:
        """Remember what this model, or a search for it, says of rows that no member was trained on."""

    def _rows_held_out(self, name: str, method: str) -> Any:
        """What is known of rows held out, an attribute that only some fits leave behind."""
        check_is_fitted(self)
        if not hasattr(self, name):
            raise ValueError(
                f"{method} needs rows that no member was trained on: fit with calibrate, for example "
                "calibrate=0.25."
            )
        return getattr(self, name)

    def _calibrate_vote(self, features: Any, y: Any, weights: Array | None, routed: Routed) -> None:
        """Find what only rows held out can tell."""

    def _check_members(self, members: Sequence[Member]) -> None:
        """Whether these members can do what the ensemble needs of them."""


def stacked(answers: Sequence[Any]) -> np.ndarray:
    """Answers of the members as one array, the member first."""
    return np.stack([np.asarray(answer) for answer in answers])
