"""Requests for metadata (``set_fit_request`` and its kin) in plain form, and back."""

from __future__ import annotations

from typing import Any

from sklearn.utils.metadata_routing import MetadataRequest


def requests_of(request: Any) -> dict[str, dict[str, Any]]:
    """What each method asks for: ``{"fit": {"sample_weight": True}}``."""
    asked = {method: getattr(each, "requests", None) for method, each in vars(request).items()}
    return {method: dict(wanted) for method, wanted in asked.items() if wanted}


def request_from(owner: Any, asked: dict[str, dict[str, Any]]) -> MetadataRequest:
    """The same request again; its owner, or the name of it, stands for it in messages."""
    request = MetadataRequest(owner=owner)
    for method, wanted in asked.items():
        for name, alias in wanted.items():
            getattr(request, method).add_request(param=name, alias=alias)
    return request
