"""Models for other diversities from one fit: the spectrum is all that they need."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from modae.utils.parameters import check_diversity


class DiversityPath:
    """The diversity path of an estimator. Abstract: a subclass says how another model is made."""

    def with_diversity(self, diversity: float) -> Self:
        """A new fitted estimator for another diversity, from the stored spectrum alone.

        It equals a fresh ``fit`` at that diversity with the same ``random_state``.

        Parameters
        ----------
        diversity : float

        Returns
        -------
        estimator : of the same class
        """
        check_is_fitted(self)
        check_diversity(diversity)
        return self._derived(diversity=diversity)

    def path(self, diversities: Iterable[float]) -> Iterator[Self]:
        """One fitted estimator for each diversity, in the order given, as ``with_diversity`` makes them.

        Parameters
        ----------
        diversities : iterable of float

        Returns
        -------
        estimators : iterator
            Each is solved when it is asked for.
        """
        check_is_fitted(self)
        if not isinstance(diversities, Iterable):
            raise ValueError(
                f"diversities must be a sequence of numbers, got {diversities!r}; for a single one use "
                "with_diversity."
            )
        values = list(diversities)
        for diversity in values:
            check_diversity(diversity)
        return (self.with_diversity(diversity) for diversity in values)

    @abstractmethod
    def _derived(self, **changes: Any) -> Self:
        """A fitted estimator with other settings on the same spectrum."""
