"""What ensembles and searches share: nested parameters, metadata, targets, members."""

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
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
from modae.data.rows import weights_of
from modae.data.validation import columns_of, copy_columns, known_targets, split_weights, take_rows
from modae.ensembles.conformal import hold_out
from modae.ensembles.members import (
    Generator,
    Member,
    Named,
    Routed,
    call_members,
    check_names,
    features_of,
    fit_member,
    for_known,
    is_named,
    module_features,
    nested_params,
    new_members,
    routing_is_on,
    seeds_for,
    stream_members,
    two_generators,
)
from modae.ensembles.neighbors import NearestNeighbor
from modae.linear.autoencoder import LinearModularAutoencoder
from modae.linear.notebook import KeyFigures
from modae.utils.arrays import Array, Indices
from modae.utils.parameters import check_choice, check_flag

SIZES = ("n_modules", "n_components", "diversity")


@dataclass(eq=False, repr=False)
class EnsembleParameters(KeyFigures, BaseEstimator):
    """Parameters ``extractor__...``, ``estimator__...`` and ``name__...`` of members in a list.

    A part left at None has the parameters of its default, and becomes one when they are set: so
    ``set_params(extractor__diversity=0.7)`` works without naming an extractor.

    Abstract: a subclass has ``extractor`` and ``estimator``, and says what its default member is.
    """

    # With routing on, weights of a fit are for the parts.
    __metadata_request__fit = {"sample_weight": UNUSED}  # noqa: RUF012

    extractor: BaseEstimator | None = None
    estimator: Any = None
    _: KW_ONLY
    calibrate: float | None = None
    missing_label: Any = None
    n_jobs: int | None = None
    random_state: int | np.random.RandomState | None = None

    _read_targets: ClassVar[Any]  # labels_of or targets_of

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
                    params.update(nested_params(part, default()))
            for name, member in self._named_members():
                params[name] = member
                params.update(nested_params(name, member))
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
        if dict(self._named_members()).keys() & params.keys():
            self.estimator = [(name, params.pop(name, member)) for name, member in self.estimator]
        super().set_params(**params)
        return self

    def _named_members(self) -> Named:
        listed = isinstance(self.estimator, (list, tuple))
        return [pair for pair in self.estimator if is_named(pair)] if listed else []

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
        if isinstance(self.estimator, (list, tuple)) and len(members) < len(self.estimator):
            raise ValueError(
                "estimator must be one estimator or a list of (name, estimator) pairs, got "
                f"{self.estimator!r}."
            )
        check_names([name for name, _ in members], set(type(self)._get_param_names()))
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
        return default.set_fit_request(sample_weight=True) if routing_is_on() else default

    def _named_parts(self) -> Named:
        return self._named_members() or [("estimator", self._part("estimator"))]

    def _defaults(self) -> dict[str, Callable[[], Any]]:
        return {"extractor": LinearModularAutoencoder, "estimator": self._default_member}

    @staticmethod
    @abstractmethod
    def _default_member() -> Any:
        """A member where none is given."""

    @abstractmethod
    def _check(self) -> None:
        """Refuse parameters that cannot work."""

    def _read(self, X: Any, y: Any, sample_weight: Any, *metadata: Any) -> tuple[Any, ...]:
        """Check the parameters, then read the data.

        Rows to train on, what they are if lazy, targets, where these are known, and weights; and rows
        with targets that are held out, if ``calibrate`` says so.
        """
        self._check()
        X, lazy, sample_weight = split_weights(X, sample_weight)  # in memory: the members need them
        y, known = known_targets(X, y, self.missing_label, partial(self._read_targets, estimator=self))
        weights, held = weights_of(sample_weight, len(y)), None
        if self.calibrate is not None:
            X, y, known, *held = hold_out(self, X, y, known, sample_weight, *metadata)
        return X, lazy, y, known, weights, held

    def _route(self, sample_weight: Any, params: dict[str, Any]) -> Routed:
        """Who gets which metadata: by request, or, with routing off, weights for all that take them."""
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        if routing_is_on():
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


@dataclass(eq=False, repr=False, kw_only=True)
class ModularEnsemble(EnsembleParameters):
    """An extractor with modules, and one member for each.

    Abstract: a subclass says what its default member is, and puts the members' answers together.
    """

    n_modules: int | None = None
    n_components: int | float | None = None
    diversity: float | None = None
    stream: bool = False

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
        X, lazy, y, known, weights, held = self._read(X, y, sample_weight, params or None)
        fresh = self._fitted(X, lazy, y, known, weights, self._route(weights, params))
        if held is not None:
            fresh._keep_held_out(fresh, *held)
        self.__dict__ = fresh.__dict__
        return self

    def _check(self) -> None:
        self._check_parts(*self._kind)
        for name, choices in self._choices.items():
            check_choice(name, getattr(self, name), choices)
        check_flag("stream", self.stream)

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
        return [replace(member, estimator=own) for member, own in zip(members, fitted, strict=True)]

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

    def _calibrate_vote(self, features: Any, y: Any, weights: Array | None, routed: Routed) -> None:
        """Set what needs rows held out, such as the temperature of a vote."""

    def _check_members(self, members: Sequence[Member]) -> None:
        """Whether these members can do what the ensemble needs of them."""
