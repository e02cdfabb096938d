"""Rules for constructor parameters, and messages that give name, rule and value."""

from collections.abc import Iterable
from math import isfinite
from numbers import Integral, Real
from typing import Any

import numpy as np


def check_count(name: str, value: Any, *, minimum: int = 1, optional: bool = False) -> None:
    """A whole number, of a type that says so; or None, if that is allowed."""
    if optional and value is None:
        return
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise ValueError(f"{name} must be an integer of at least {minimum}, got {value!r}.")
    if value < minimum:
        raise ValueError(f"{name} must be at least {minimum}, got {value!r}.")


def check_non_negative(name: str, value: Any) -> None:
    """A finite number that is not below 0."""
    if not is_number(value) or value < 0.0:
        raise ValueError(f"{name} must be a finite number of at least 0, got {value!r}.")


def check_positive(name: str, value: Any) -> None:
    """A finite number above 0."""
    if not is_number(value) or value <= 0.0:
        raise ValueError(f"{name} must be a finite number above 0, got {value!r}.")


def check_fraction(name: str, value: Any) -> None:
    """A number strictly between 0 and 1."""
    if not (is_number(value) and 0.0 < value < 1.0):
        raise ValueError(f"{name} must be a number strictly between 0 and 1, got {value!r}.")


def check_choice(name: str, value: Any, choices: Iterable[object]) -> None:
    """One of a few words."""
    if value not in tuple(choices):
        listed = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name} must be one of {listed}, got {value!r}.")


def check_flag(name: str, value: Any) -> None:
    """Yes or no."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be True or False, got {value!r}.")


def check_diversity(value: Any) -> None:
    """The theorem that bounds the diversity is in the message."""
    if is_number(value) and 0.0 <= value <= 1.0:
        return
    reason = ""
    if is_number(value) and value > 1.0:
        reason = (
            " Above 1 the loss has no minimum: modules can move apart without end while it falls "
            "(Theorem 1)."
        )
    raise ValueError(f"diversity must be a number in [0, 1], got {value!r}.{reason}")


def check_components(value: Any) -> None:
    """None, a whole number of at least 1, or a fraction of the variance."""
    if value is None:
        return
    if isinstance(value, Integral):
        check_count("n_components", value)
    elif not (is_number(value) and 0.0 < value < 1.0):
        raise ValueError(
            "n_components must be None, an integer of at least 1, or a float strictly between 0 and 1 "
            f"(the fraction of variance that one module at diversity 0 keeps), got {value!r}."
        )


def is_number(value: Any) -> bool:
    """Whether it is a finite number, and no truth value."""
    return not isinstance(value, bool) and isinstance(value, Real) and isfinite(value)
