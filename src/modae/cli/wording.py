"""Fitted modules in words and in numbers, for reports."""

from __future__ import annotations

from typing import Any

from modae.utils.text import bounded_loss, closeness, counted


def sizes_text(model: Any) -> str:
    """In words: how many modules of what size, and what votes on them."""
    extractor = getattr(model, "extractor_", model)
    text = f"{extractor.n_modules} modules of {counted(extractor.n_components_, 'component')}"
    text += f", diversity {extractor.diversity:g}"
    members = getattr(model, "estimators_", None)
    return f"{text}, a {type(members[0]).__name__} on each." if members else f"{text}."


def certificate(extractor: Any) -> dict[str, Any]:
    """The numbers that say how good the modules are among all possible ones."""
    return {
        "modules": int(extractor.n_modules),
        "components": int(extractor.n_components_),
        "diversity": float(extractor.diversity),
        "loss": float(extractor.loss_),
        "lower_bound": float(extractor.lower_bound_),
        "optimality_gap": float(extractor.optimality_gap_),
    }


def certificate_text(extractor: Any) -> str:
    """The same in words."""
    loss, bound = bounded_loss(extractor)
    return f"loss {loss}, no modules reach less than {bound}: {closeness(extractor)}."
