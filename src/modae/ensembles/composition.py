"""Nested parameters of an ensemble: parts that are None (a default) or a list of named members."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.metadata_routing import UNUSED, MetadataRouter

from modae.ensembles.routing import FITTING, Routed, route_by_request, route_weights
from modae.linear.autoencoder import LinearModularAutoencoder
from modae.linear.notebook import KeyFigures

Generator = np.random.RandomState | None

Named = list[tuple[str, Any]]


class Composition(KeyFigures, BaseEstimator):
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

    def _check_names(self) -> None:
        """Members of a list are pairs with different names that are not parameters."""
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
        """Who gets which metadata."""
        if _routing_is_on():
            given = {} if sample_weight is None else {"sample_weight": sample_weight}
            return route_by_request(self, params | given)
        return route_weights(self._part("extractor"), self._named_parts(), sample_weight, params)

    def get_metadata_routing(self) -> MetadataRouter:
        """Metadata of ``fit`` go to ``fit`` of the extractor and of the members that request them.

        Weights for ``score`` are for the ensemble itself, if it requests them.

        Returns
        -------
        routing : MetadataRouter
        """
        router = MetadataRouter(owner=self).add_self_request(self)
        for name, part in [("extractor", self._part("extractor")), *self._named_parts()]:
            router.add(**{name: part}, method_mapping=FITTING)
        return router

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        extractor = self._part("extractor")
        if hasattr(extractor, "__sklearn_tags__"):
            tags.input_tags.sparse = get_tags(extractor).input_tags.sparse
        return tags


def _routing_is_on() -> bool:
    return bool(get_config()["enable_metadata_routing"])


def two_generators(random_state: Any) -> tuple[Generator, Generator]:
    """One for the extractor and one for the members, so that neither depends on what the other draws."""
    if random_state is None:
        return None, None
    first, second = check_random_state(random_state).randint(2**31 - 1, size=2)
    return np.random.RandomState(first), np.random.RandomState(second)


def as_seed(random_state: Any) -> int | None:
    """A number that gives the same generators each time; None stays None."""
    if random_state is None:
        return None
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def seeded(estimator: Any, rng: Generator) -> Any:
    """The estimator with a seed for each ``random_state``, its own or nested, that is None."""
    if rng is not None:
        params = estimator.get_params(deep=True)
        free = sorted(name for name in params if name.split("__")[-1] == "random_state")
        seeds = {name: rng.randint(2**31 - 1) for name in free if params[name] is None}
        if seeds:
            estimator.set_params(**seeds)
    return estimator


def _is_pair(member: Any) -> bool:
    pair = isinstance(member, tuple) and len(member) == 2
    return pair and isinstance(member[0], str) and hasattr(member[1], "get_params")


def _nested(part: str, estimator: Any) -> dict[str, Any]:
    return {f"{part}__{name}": value for name, value in estimator.get_params(deep=True).items()}
