"""How sure a vote is: uncertainty, sets of classes, rows for a person."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from modae.data.validation import by_rows
from modae.ensembles.base import ModularEnsemble
from modae.ensembles.conformal import HeldOut, doubts_of, mass_above, require_held_out
from modae.ensembles.members import stacked
from modae.ensembles.votes import SAME, row_disagreement, split_uncertainty, vote_shares
from modae.utils.arrays import Array, Indices
from modae.utils.parameters import check_flag, check_fraction


class VotingEnsemble(ModularEnsemble):
    """What the members of a vote say of a row, and how sure they are together.

    Abstract: a subclass asks the members, and counts their votes.
    """

    classes_: np.ndarray

    @by_rows(axis=1)
    def predict_proba_members(self, X: Any) -> Array:
        """Probabilities of each member.

        Members without probabilities have the softmax of their decision functions, at the temperature of
        the vote, if they vote by these; else 1 for the class that they predict, and 0 for others.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_modules, n_samples, n_classes)
        """
        return stacked(self._member_probabilities(self._features(X)))

    @by_rows()
    def uncertainty(self, X: Any) -> Array:
        r"""Total, aleatoric and epistemic uncertainty of each row, in nats.

        From the members' probabilities :math:`p_i(x)`, :math:`i=1..M`, with the entropy H:

        .. math:: H\Big(\tfrac1M\sum_ip_i\Big)=\tfrac1M\sum_iH(p_i)+\text{epistemic} .

        *Total* finds errors about as well as one minus the largest probability. *Aleatoric* is the doubt
        that the members have each on its own: classes overlap here. *Epistemic*, never negative, is how
        much they differ: other features, or more rows, would tell. Members without graded probabilities,
        such as 1-NN, have no aleatoric part: all their doubt counts as epistemic. A single member (a
        search that chose a learner on X itself) has no epistemic part.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        uncertainty : ndarray of shape (n_samples, 3)
            Each from 0 to the logarithm of the number of classes.
        """
        return split_uncertainty(self._member_probabilities(self._features(X)))

    @by_rows()
    def disagreement(self, X: Any) -> Array:
        """Chance that two members, drawn at random, predict different labels.

        It compares labels, not probabilities: do not use it to find errors where members have graded
        probabilities (logistic regression, forests, SVMs, several neighbours). Members that all lean to
        one class by a hair agree; ``uncertainty`` sees that.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        disagreement : ndarray of shape (n_samples,)
        """
        votes = self._member_classes(self._features(X))
        return row_disagreement(vote_shares(votes, len(self.classes_)), len(votes))

    @by_rows()
    def predict_set(self, X: Any, coverage: float = 0.9, per_class: bool = False) -> np.ndarray:
        """Sets of classes that hold the true one for a share of new rows, by split-conformal prediction.

        A set has the likeliest classes, as many as the row needs, and always at least one: where errors
        are rarer than the coverage asks for, the sets have one class and hold the true one more often.
        Needs ``calibrate``. See :mod:`modae.ensembles.conformal` for the scores and the promise.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        coverage : float, default=0.9
            Share of new rows, in (0, 1).
        per_class : bool, default=False
            Whether the promise holds within each class, and not only on average over all rows. Sets
            are larger then; a class of which too few rows were held out, fewer than
            coverage / (1 - coverage), is in every set.

        Returns
        -------
        sets : ndarray of bool of shape (n_samples, n_classes)
        """
        held: HeldOut = require_held_out(self, "held_out_", "predict_set")
        check_fraction("coverage", coverage)
        check_flag("per_class", per_class)
        most = held.thresholds(float(coverage), bool(per_class), len(self.classes_))
        return np.asarray(mass_above(self.predict_proba(X)) <= most + SAME)

    @by_rows()
    def abstain(self, X: Any, coverage: float = 0.9) -> np.ndarray:
        """Rows to leave to a person: their largest probability is below that of most rows held out.

        Of new rows like those of ``fit``, at least the share ``coverage`` is answered, on average;
        ``held_out_.risk(coverage)`` is the share of wrong answers that is then to be expected. Needs
        ``calibrate``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        coverage : float, default=0.9
            Share of the rows to answer, in (0, 1).

        Returns
        -------
        mask : ndarray of bool of shape (n_samples,)
            True where a person should decide.
        """
        held: HeldOut = require_held_out(self, "held_out_", "abstain")
        check_fraction("coverage", coverage)
        return np.asarray(doubts_of(self.predict_proba(X)) > held.most_doubt(float(coverage)) + SAME)

    @abstractmethod
    def _member_probabilities(self, features: Sequence[Array]) -> list[Array]:
        """Probabilities of each member, (n, n_classes) each."""

    @abstractmethod
    def _member_classes(self, features: Sequence[Array]) -> Indices:
        """Index of the class that each member predicts, (M, n)."""

    @abstractmethod
    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the vote, (n, n_classes)."""
