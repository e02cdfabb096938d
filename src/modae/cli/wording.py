"""Fitted modules in words and in numbers, for reports."""

from __future__ import annotations

from typing import Any

from modae.cli.talk import counted


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
    gap = max(float(extractor.optimality_gap_), 0.0)
    close = "the optimum" if extractor.attainment_ == "attained" else f"gap {gap:.1e} of the variance"
    smallest = 1e-12 * float(extractor.total_variance_)  # below it digits are round-off
    loss, bound = (0.0 if x < smallest else x for x in (extractor.loss_, extractor.lower_bound_))
    return f"loss {loss:.6g}, no modules reach less than {bound:.6g}: {close}."
