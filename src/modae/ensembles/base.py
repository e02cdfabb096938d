"""What all ensembles on modules share: nested parameters, metadata, fitting and asking the members."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.utils import Bunch, get_tags
from sklearn.utils.metadata_routing import UNUSED, MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    has_fit_parameter,
    validate_data,
)

from modae.data.placed_parts import Parts
from modae.data.validation import LazyRows, RowwiseCall, columns_of, lazy_rows
from modae.ensembles.members import (
    Generator,
    Member,
    Named,
    call_members,
    features_of,
    fit_member,
    learn_piece,
    module_features,
    new_members,
    seeds_for,
    two_generators,
)
from modae.ensembles.neighbors import NearestNeighbor
from modae.linear.autoencoder import LinearModularAutoencoder
from modae.linear.notebook import KeyFigures
from modae.utils.arrays import Array

SIZES = ("n_modules", "n_components", "diversity")

#: For the extractor and each member, by name: ``.fit`` is what its ``fit`` gets.
Routed = Mapping[str, Any]


class EnsembleParameters(KeyFigures, BaseEstimator):
    """Parameters ``extractor__...``, ``estimator__...`` and ``name__...`` of members in a list.

    A part left at None has the parameters of its default, and becomes one when they are set: so
    ``set_params(extractor__diversity=0.7)`` works without naming an extractor.

    Abstract: a subclass has ``extractor`` and ``estimator``, and says what its default member is.
    """

    # With routing on, weights of a fit are for the parts.
    __metadata_request__fit = {"sample_weight": UNUSED}  # noqa: RUF012

    extractor: Any
    estimator: Any

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters of this estimator and, if ``deep``, of its parts.

        Parameters
        ----------
        deep : bool, default=True

        Returns
        -------
        params : dict
        """
        params: dict[str, Any] = super().get_params(deep=deep)
        if deep:
            for part, default in self._defaults().items():
                if getattr(self, part) is None:
                    params.update(_nested(part, default()))
            for name, member in self._named_members():
                params[name] = member
                params.update(_nested(name, member))
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters of this estimator or of its parts.

        Parameters
        ----------
        **params : dict

        Returns
        -------
        self
        """
        for whole in ("extractor", "estimator"):
            if whole in params:
                setattr(self, whole, params.pop(whole))
        for part, default in self._defaults().items():
            nested = any(name.startswith(f"{part}__") for name in params)
            if getattr(self, part) is None and nested:
                setattr(self, part, default())
        names = [name for name, _ in self._named_members()]
        for name in [name for name in names if name in params]:
            replaced = params.pop(name)
            self.estimator = [
                (known, replaced if known == name else member) for known, member in self.estimator
            ]
        super().set_params(**params)
        return self

    def _named_members(self) -> Named:
        listed = isinstance(self.estimator, (list, tuple))
        return [pair for pair in self.estimator if _is_pair(pair)] if listed else []

    def _check_parts(self, kind: str, is_kind: Callable[[Any], bool]) -> None:
        """The extractor has modules; members are of the right kind, with names of their own."""
        extractor = self._part("extractor")
        if isinstance(extractor, type) or not hasattr(extractor, "transform_modules"):
            raise TypeError(
                "extractor must have a method transform_modules that returns one array of features for "
                "each module, as LinearModularAutoencoder and BaggingAutoencoder do, got "
                f"{extractor!r}."
            )
        members = self._named_members()
        listed = isinstance(self.estimator, (list, tuple))
        if listed and len(members) < len(self.estimator):
            raise ValueError(
                "estimator must be one estimator or a list of (name, estimator) pairs, got "
                f"{self.estimator!r}."
            )
        names = [name for name, _ in members]
        taken = set(type(self)._get_param_names())
        bad = [name for name in names if "__" in name or name in taken or names.count(name) > 1]
        if bad:
            raise ValueError(
                "names of members must differ from each other and from the parameters "
                f"{sorted(taken)}, and must not contain '__', got {bad[0]!r}."
            )
        for name, member in self._named_parts():
            if isinstance(member, type) or not hasattr(member, "get_params") or not is_kind(member):
                which = "" if name == "estimator" else f" (member {name!r})"
                raise ValueError(f"estimator must be a {kind} or a list of them, got {member!r}{which}.")
            if isinstance(member, NearestNeighbor):
                member.check_parameters()  # once here, and not for each copy of it

    def _part(self, name: str) -> Any:
        """A part, or its default, which asks for weights: nobody else could ask on its behalf."""
        part = getattr(self, name)
        if part is not None:
            return part
        default = self._defaults()[name]()
        return default.set_fit_request(sample_weight=True) if _routing_is_on() else default

    def _named_parts(self) -> Named:
        return self._named_members() or [("estimator", self._part("estimator"))]

    def _defaults(self) -> dict[str, Callable[[], Any]]:
        return {"extractor": LinearModularAutoencoder, "estimator": self._default_member}

    @staticmethod
    @abstractmethod
    def _default_member() -> Any:
        """A member where none is given."""

    def _route(self, sample_weight: Any, params: dict[str, Any]) -> Routed:
        """Who gets which metadata: by request, or, with routing off, weights for all that take them."""
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        if _routing_is_on():
            return process_routing(self, "fit", **params, **weights)
        if params:
            raise TypeError(
                f"fit got unexpected metadata {sorted(params)}: turn metadata routing on "
                "(sklearn.set_config(enable_metadata_routing=True)) and request them."
            )
        members = self._named_parts()
        for name, member in members if weights else ():
            if not has_fit_parameter(member, "sample_weight"):
                raise ValueError(
                    f"sample_weight was given, but the member {name!r} ({type(member).__name__}) cannot "
                    "take it: use a member whose fit has sample_weight, or leave it out."
                )
        takes = has_fit_parameter(self._part("extractor"), "sample_weight")
        routed = {"extractor": Bunch(fit=weights if takes else {})}
        return routed | {name: Bunch(fit=weights) for name, _ in members}

    def _keep_columns(self, X: Any, extractor: Any) -> None:
        """Number and names of the columns, as the extractor found them if it is one that tells."""
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)  # of an earlier fit
            if hasattr(extractor, name):
                setattr(self, name, getattr(extractor, name))
        if not hasattr(extractor, "n_features_in_"):
            validate_data(self, columns_of(X), skip_check_array=True)

    def get_metadata_routing(self) -> MetadataRouter:
        """Metadata of ``fit`` go to ``fit`` of the extractor and of the members that request them.

        Weights for ``score`` are for the ensemble itself, if it requests them.

        Returns
        -------
        routing : MetadataRouter
        """
        router = MetadataRouter(owner=self).add_self_request(self)
        fitting = MethodMapping().add(caller="fit", callee="fit")
        for name, part in [("extractor", self._part("extractor")), *self._named_parts()]:
            router.add(**{name: part}, method_mapping=fitting)
        return router

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        extractor = self._part("extractor")
        if hasattr(extractor, "__sklearn_tags__"):
            tags.input_tags.sparse = get_tags(extractor).input_tags.sparse
        return tags


class ModularEnsemble(EnsembleParameters):
    """An extractor with modules, and one member for each.

    Abstract: a subclass says what its default member is, and puts the members' answers together.
    """

    n_modules: int | None
    n_components: int | float | None
    diversity: float | None
    stream: bool
    n_jobs: int | None
    random_state: Any

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

    def _fit_parts(
        self, X: Any, lazy: LazyRows | None, y: Any, routed: Routed
    ) -> tuple[Any, Any, list[Member]]:
        """Fit a copy of the extractor, then a member to the features of each module."""
        for_extractor, for_members = two_generators(self.random_state)
        extractor, features = self._new_extractor(for_extractor), None
        linear = type(extractor) is LinearModularAutoencoder  # others may change what fit does
        if linear and lazy is None:
            features = extractor.fit_transform_modules(X, y, **routed["extractor"].fit)
        else:
            extractor = extractor.fit(X, y, **routed["extractor"].fit)
        if self.stream:
            members = self._stream_members(extractor, X, lazy, y, routed, for_members)
            return extractor, features, members
        if features is None:
            features = features_of(extractor, X, lazy)
        if not isinstance(features, Parts):
            check_consistent_length(features[0], y)
        return extractor, features, self._fit_members(features, y, routed, for_members)

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

    def _stream_members(
        self, extractor: Any, X: Any, lazy: LazyRows | None, y: Any, routed: Routed, rng: Any
    ) -> list[Member]:
        """Members that learn chunk by chunk; rows in memory are one chunk."""
        call = RowwiseCall(extractor, "transform_modules", axis=1)
        features: Any = module_features(extractor, X) if lazy is None else None
        n_modules = extractor.n_modules if lazy is not None else len(features)
        members = new_members(self._part("estimator"), n_modules, rng)
        self._check_members(members)
        for member in members:
            if not hasattr(member.estimator, "partial_fit"):
                raise ValueError(
                    f"stream=True needs members with partial_fit, and {member} has none: use "
                    "stream=False."
                )
        params = {member.name: routed[member.name].fit for member in members}
        first = {"classes": np.unique(y)} if is_classifier(self) else {}
        states = [(member, 0) for member in members]
        shared = {"y": y, "params": params, "first": first}
        if lazy is not None:
            ended = lazy.fold(call, states, learn_piece, **shared)
        else:
            ended = [learn_piece(*pair, **shared) for pair in zip(states, features, strict=True)]
        if ended[0][1] != len(y):
            raise ValueError(f"y must have one entry for each of the {ended[0][1]} rows, got {len(y)}.")
        return [member for member, _ in ended]

    def _publish(self, extractor: Any, members: list[Member]) -> None:
        """All at once, when nothing can fail any more: an earlier fit stays whole until then."""
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


def _routing_is_on() -> bool:
    return bool(get_config()["enable_metadata_routing"])


def _is_pair(member: Any) -> bool:
    pair = isinstance(member, tuple) and len(member) == 2
    return pair and isinstance(member[0], str) and hasattr(member[1], "get_params")


def _nested(part: str, estimator: Any) -> dict[str, Any]:
    return {f"{part}__{name}": value for name, value in estimator.get_params(deep=True).items()}
