"""Fit and query one estimator per module; errors name the module."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from joblib.parallel import get_active_backend
from sklearn import get_config
from sklearn.base import clone, is_classifier
from sklearn.utils import Bunch, check_random_state

from modae.data.placed_parts import Parts
from modae.data.validation import LazyRows, RowwiseCall, gather
from modae.utils.arrays import Array, Indices
from modae.utils.parallel import run_parallel

Generator = np.random.RandomState | None

Named = list[tuple[str, Any]]

#: For the extractor and each member, by name: ``.fit`` is what its ``fit`` gets.
Routed = Mapping[str, Any]


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
            shown = method.removeprefix("_").removesuffix("_checked")
            raise MemberError(f"{self} failed in {shown}: {reason}") from error


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
    members = [Member(module, name, clone(member)) for module, (name, member) in enumerate(named)]
    for member in members:
        seeds = seeds_for(member.estimator, rng)
        if seeds:
            member.estimator.set_params(**seeds)
    return members


def call_members(
    members: Sequence[Member],
    method: str,
    features: Sequence[Array] | Array,
    n_jobs: int | None,
    *args: Any,
    params: dict[str, Any] | None = None,
) -> list[Any]:
    """What a method of each member gives for the features of its module, several at a time.

    ``params`` are keyword arguments for each member by its name. Finite floats in one array, as our own
    extractors make them, need no validation again in each of our own members: those have methods for
    them, ``_..._checked``.
    """
    stack = isinstance(features, np.ndarray) and features.ndim == 3 and features.dtype.kind == "f"
    checked = stack and bool(np.isfinite(np.sum(features)))

    def call(member: Member) -> Any:
        own = f"_{method}_checked"
        name = own if checked and hasattr(type(member.estimator), own) else method
        given = {} if params is None else params[member.name]
        return member.call(name, features[member.module], *args, **given)

    # Keeping rows, all that our own members do in a fit, is sooner done than a thread is started.
    kept = (
        checked and method == "fit" and all(hasattr(type(m.estimator), "_fit_checked") for m in members)
    )
    jobs = get_active_backend()[1] if n_jobs is None else n_jobs
    if kept or jobs == 1:
        return [call(member) for member in members]
    return run_parallel(call, [(member,) for member in members], n_jobs)


def fit_member(features: Array, member: Member, y: Any, params: dict[str, dict[str, Any]]) -> Any:
    """A fitted member, where its features are."""
    return member.call("fit", features, y, **params[member.name])


def for_known(routed: Mapping[str, Any], known: Indices) -> dict[str, Any]:
    """What the members get, for some rows only; what the extractor gets stays."""
    some = {
        name: Bunch(fit={key: np.asarray(value)[known] for key, value in part.fit.items()})
        for name, part in routed.items()
    }
    return some | {"extractor": routed["extractor"]}


def learn_piece(
    state: tuple[Member, int],
    piece: Array,
    y: Any,
    params: dict[str, dict[str, Any]],
    first: dict[str, Any],
) -> tuple[Member, int]:
    """A copy of a member that learned some more rows, by ``partial_fit``, and how many it knows."""
    member, start = state
    if not len(piece):
        return state
    rows, known = slice(start, start + len(piece)), deepcopy(member)
    own = {name: values[rows] for name, values in params[member.name].items()}
    known.call("partial_fit", piece, y[rows], **(first if start == 0 else {}), **own)
    return known, rows.stop


def stream_members(
    ensemble: Any, extractor: Any, X: Any, lazy: LazyRows | None, y: Any, routed: Any, rng: Generator
) -> list[Member]:
    """Members of an ensemble that learn chunk by chunk; rows in memory are one chunk."""
    call = RowwiseCall(extractor, "transform_modules", axis=1)
    features: Any = module_features(extractor, X) if lazy is None else None
    n_modules = extractor.n_modules if lazy is not None else len(features)
    members = new_members(ensemble._part("estimator"), n_modules, rng)
    ensemble._check_members(members)
    for member in members:
        if not hasattr(member.estimator, "partial_fit"):
            raise ValueError(
                f"stream=True needs members with partial_fit, and {member} has none: use stream=False."
            )
    params = {member.name: routed[member.name].fit for member in members}
    first = {"classes": np.unique(y)} if is_classifier(ensemble) else {}
    states = [(member, 0) for member in members]
    shared = {"y": y, "params": params, "first": first}
    if lazy is not None:
        ended = lazy.fold(call, states, learn_piece, **shared)
    else:
        ended = [learn_piece(*pair, **shared) for pair in zip(states, features, strict=True)]
    if ended[0][1] != len(y):
        raise ValueError(f"y must have one entry for each of the {ended[0][1]} rows, got {len(y)}.")
    return [member for member, _ in ended]


def features_of(extractor: Any, X: Any, lazy: LazyRows | None) -> Any:
    """Features of each module: arrays, or Parts for rows that lie elsewhere."""
    if lazy is None:
        return module_features(extractor, X)
    parts = lazy.parts(RowwiseCall(extractor, "transform_modules", axis=1))
    return parts.arrays if type(parts) is Parts else parts


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


def seeds_for(estimator: Any, rng: Generator) -> dict[str, int]:
    """A seed for each ``random_state`` of an estimator, its own or nested, that is None."""
    if rng is None:
        return {}
    params = estimator.get_params(deep=True)
    free = sorted(name for name in params if name.split("__")[-1] == "random_state")
    return {name: rng.randint(2**31 - 1) for name in free if params[name] is None}


def votes_for_pairs(members: Sequence[Any]) -> bool:
    """Whether one is an SVC that decides between pairs of classes, and not for each of them."""
    return any(getattr(each, "decision_function_shape", "") == "ovo" for each in members)


def all_have(method: str, members: Sequence[Any]) -> bool:
    """Whether every member has a method."""
    return all(hasattr(member, method) for member in members)


def stacked(answers: Sequence[Any]) -> np.ndarray:
    """Answers of the members as one array, the member first."""
    return np.stack([np.asarray(answer) for answer in answers])


def routing_is_on() -> bool:
    """Whether metadata go to whoever requests them."""
    return bool(get_config()["enable_metadata_routing"])


def is_named(member: Any) -> bool:
    """Whether it is a pair (name, estimator)."""
    pair = isinstance(member, tuple) and len(member) == 2
    return pair and isinstance(member[0], str) and hasattr(member[1], "get_params")


def nested_params(part: str, estimator: Any) -> dict[str, Any]:
    """Parameters of a part, as those of the whole."""
    return {f"{part}__{name}": value for name, value in estimator.get_params(deep=True).items()}


def check_names(names: Sequence[str], taken: set[str]) -> None:
    """Names of members must not be mistaken for each other, or for parameters."""
    bad = [name for name in names if "__" in name or name in taken or names.count(name) > 1]
    if bad:
        raise ValueError(
            "names of members must differ from each other and from the parameters "
            f"{sorted(taken)}, and must not contain '__', got {bad[0]!r}."
        )
