"""Who gets which metadata of a fit, sample weights above all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sklearn.utils import Bunch
from sklearn.utils.metadata_routing import MethodMapping, process_routing
from sklearn.utils.validation import has_fit_parameter

Routed = Mapping[str, Any]
"""For the extractor and each member, by name: ``.fit`` is what its ``fit`` gets."""

FITTING = MethodMapping().add(caller="fit", callee="fit")
"""Metadata of the ensemble's ``fit`` go to ``fit`` of the extractor and of the members."""


def route_by_request(ensemble: Any, params: dict[str, Any]) -> Routed:
    """Metadata as the parts requested them: scikit-learn's metadata routing is on."""
    return process_routing(ensemble, "fit", **params)


def route_weights(
    extractor: Any, members: Sequence[tuple[str, Any]], sample_weight: Any, params: dict[str, Any]
) -> Routed:
    """Metadata with routing off: weights for everybody who takes them, nothing else for anybody."""
    if params:
        raise TypeError(
            f"fit got unexpected metadata {sorted(params)}: turn metadata routing on "
            "(sklearn.set_config(enable_metadata_routing=True)) and request them."
        )
    weights = {} if sample_weight is None else {"sample_weight": sample_weight}
    unable = [name for name, member in members if not has_fit_parameter(member, "sample_weight")]
    if weights and unable:
        kind = type(dict(members)[unable[0]]).__name__
        raise ValueError(
            f"sample_weight was given, but the member {unable[0]!r} ({kind}) cannot take it: use a "
            "member whose fit has sample_weight, or leave it out."
        )
    takes = has_fit_parameter(extractor, "sample_weight")
    routed = {"extractor": Bunch(fit=weights if takes else {})}
    return routed | {name: Bunch(fit=weights) for name, _ in members}
