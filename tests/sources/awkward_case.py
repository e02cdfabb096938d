"""One awkward input: what it is called, how to make it, and what it gives."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from modae import LinearModularAutoencoder

SETTINGS = {"n_modules": 3, "n_components": 2, "diversity": 0.5, "random_state": 0}
"""Constructor parameters of a case, where it does not name its own."""

HEIGHTS = np.array([250, 160, 100, 60, 35, 20, 12, 7])

BASE = np.floor(np.random.default_rng(0).random((30, 8)) * HEIGHTS)
"""Plain data: 30 rows, 8 columns of different spread, whole numbers that fit in a byte."""

SAME = "the same model as a plain float64 array"


@dataclass(frozen=True)
class Case:
    """An input and its outcome.

    Parameters
    ----------
    name, gives : str
        In plain words: the two columns of the table in the documentation.
    make : function of no arguments
        Returns X, the sample weights or None, and constructor parameters.
    error : exception type, or None for an input that gives a model
    message : str
        Regular expression that the message of the error matches.
    plain : function of no arguments, optional
        For data in disguise: the float64 array, and weights or None, with the same model.
    scale : float
        The data are the plain ones times this.
    holds : function of the fitted model, optional
        Whether what ``gives`` says beyond the general promises is true.
    new : function of no arguments, optional
        Rows for ``transform``, if they are not those of ``fit``; an error is then expected there.
    """

    name: str
    make: Callable[[], tuple[Any, Any, dict]]
    gives: str
    error: type[Exception] | None = None
    message: str = ""
    plain: Callable[[], tuple[np.ndarray, Any]] | None = None
    scale: float = 1.0
    holds: Callable[[LinearModularAutoencoder], bool] = field(default=lambda model: True)
    new: Callable[[], Any] | None = None

    def input(self) -> tuple[Any, Any, dict]:
        """X, the sample weights and all constructor parameters."""
        X, weights, params = self.make()
        return X, weights, {**SETTINGS, **params}


def right(name, rows, gives, *, weights=None, **more):
    """An input that gives a model. ``rows`` and ``weights`` are functions of no arguments."""
    settings = more.pop("settings", {})
    return Case(name, lambda: (rows(), weights and weights(), settings), gives, **more)


def same(name, rows, plain=lambda: BASE, *, gives=SAME, **more):
    """Plain data in disguise."""
    return right(name, rows, gives, plain=lambda: (plain(), None), **more)


def wrong(name, rows, gives, error, message, **more):
    """An input that is refused."""
    return right(name, rows, f"error: {gives}", error=error, message=message, **more)
