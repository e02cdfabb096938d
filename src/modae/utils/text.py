"""Fitted models in words, the same in a notebook, in a report and on the terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def counted(number: int, word: str) -> str:
    """A number and its noun.

    Examples
    --------
    >>> from modae.utils.text import counted
    >>> counted(1, "class"), counted(1200, "row")
    ('1 class', '1,200 rows')
    """
    plural = {"class": "classes"}.get(word, f"{word}s")
    return f"{number:,} {word if number == 1 else plural}"


def percent(value: float) -> str:
    """A share in percent, one digit.

    Examples
    --------
    >>> from modae.utils.text import percent
    >>> percent(0.1234)
    '12.3%'
    """
    return f"{100 * value:.1f}%"


def listed(names: Iterable[object], most: int = 5) -> str:
    """The first few names, and how many more there are.

    Examples
    --------
    >>> from modae.utils.text import listed
    >>> listed("abcdefg", most=2)
    "'a', 'b' and 5 more"
    """
    quoted = [repr(str(name)) for name in names]
    rest = len(quoted) - most
    return ", ".join(quoted[:most]) + (f" and {rest} more" if rest > 0 else "")


def bounded_loss(model: Any) -> tuple[str, str]:
    """What a certified model minimised, and what no modules of its size reach less than."""
    smallest = 1e-12 * float(model.total_variance_)  # below it digits are round-off
    reached = getattr(model, "objective_", model.loss_)  # with a penalty the bound is for both together
    loss, bound = (0.0 if value < smallest else value for value in (reached, model.lower_bound_))
    same = model.attainment_ == "attained" and f"{loss:.6g}" != f"{bound:.6g}"
    return f"{loss:.6g}", f"{bound:.6g}{' (equal within round-off)' if same else ''}"


def closeness(model: Any) -> str:
    """How far the loss of a certified model is from its bound."""
    if model.attainment_ == "attained":
        return "the optimum"
    return f"gap {max(float(model.optimality_gap_), 0.0):.1e} of the variance"
