"""Requests for metadata (``set_fit_request`` and its kin) in plain form, and back."""

from __future__ import annotations

from typing import Any

from sklearn import config_context
from sklearn.utils.metadata_routing import MetadataRequest

METHODS = (
    "fit", "partial_fit", "predict", "predict_proba", "predict_log_proba", "decision_function", "score",
    "split", "transform", "inverse_transform",
)  # fmt: skip


def requests_of(stored: Any) -> dict[str, dict[str, Any]]:
    """What each method asks for: ``{"fit": {"sample_weight": True}}``."""
    asked = {method: dict(getattr(stored, method).requests) for method in METHODS}
    return {method: request for method, request in asked.items() if request}


def set_requests(estimator: Any, asked: dict[str, dict[str, Any]]) -> None:
    """Ask again for the same, through the public methods."""
    with config_context(enable_metadata_routing=True):
        for method, request in asked.items():
            getattr(estimator, f"set_{method}_request")(**request)


def request_from(owner: str, asked: dict[str, dict[str, Any]]) -> MetadataRequest:
    """The request of an estimator that cannot be asked itself; its name stands for it in messages."""
    request = MetadataRequest(owner=owner)
    for method, wanted in asked.items():
        for name, alias in wanted.items():
            getattr(request, method).add_request(param=name, alias=alias)
    return request
