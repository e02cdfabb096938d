"""What ensembles and searches share before any fit: nested parameters, metadata, reading targets."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Self

from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.utils import Bunch, get_tags
from sklearn.utils.metadata_routing import UNUSED, MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import has_fit_parameter

from modae.data.targets import known_targets
from modae.data.validation import split_weights, weights_of
from modae.ensembles.conformal import hold_out
from modae.ensembles.members import Named
from modae.ensembles.neighbors import NearestNeighbor
from modae.linear.autoencoder import LinearModularAutoencoder
from modae.linear.notebook import KeyFigures

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
    calibrate: float | None
    missing_label: Any
    _read_targets: Any  # labels_of or targets_of

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
        if dict(self._named_members()).keys() & params.keys():
            self.estimator = [(name, params.pop(name, member)) for name, member in self.estimator]
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

    def _read(self, X: Any, y: Any, sample_weight: Any, *metadata: Any) -> tuple[Any, ...]:
        """Rows to train on, what they are if lazy, targets, where these are known, and weights; and rows
        with targets that are held out, if ``calibrate`` says so.
        """
        X, lazy, sample_weight = split_weights(X, sample_weight)  # in memory: the members need them
        y, known = known_targets(X, y, self.missing_label, partial(self._read_targets, estimator=self))
        weights, held = weights_of(sample_weight, len(y)), None
        if self.calibrate is not None:
            X, y, known, *held = hold_out(self, X, y, known, sample_weight, *metadata)
        return X, lazy, y, known, weights, held

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


def _routing_is_on() -> bool:
    return bool(get_config()["enable_metadata_routing"])


def _is_pair(member: Any) -> bool:
    pair = isinstance(member, tuple) and len(member) == 2
    return pair and isinstance(member[0], str) and hasattr(member[1], "get_params")


def _nested(part: str, estimator: Any) -> dict[str, Any]:
    return {f"{part}__{name}": value for name, value in estimator.get_params(deep=True).items()}
