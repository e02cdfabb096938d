"""ModularClassifier: a vote of classifiers, each on the features of one module."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, is_classifier
from sklearn.metrics import accuracy_score
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_consistent_length, column_or_1d, validate_data

from modae.data import by_rows, columns_of, gather, split_weights, weights_of
from modae.ensembles.base import ModularEnsemble, Routed, stacked
from modae.ensembles.labels import TIE_BREAKS, VOTINGS, check_classes, check_labels
from modae.ensembles.members import (
    Member,
    MemberError,
    require_members,
    require_modules,
    two_generators,
    warn_if_equal,
)
from modae.ensembles.neighbors import NearestNeighborClassifier
from modae.ensembles.votes import Scores, decide, row_disagreement, vote_shares
from modae.utils.arrays import Array, Indices
from modae.utils.parameters import check_choice


def _all_members_have(method: str, ensemble: Any) -> bool:
    parts = getattr(ensemble, "estimators_", None) or [part for _, part in ensemble._named_parts()]
    return all(hasattr(part, method) for part in parts)


class ModularClassifier(ClassifierMixin, ModularEnsemble):
    """A vote of classifiers, each trained on the features of one module.

    A modular extractor turns each row into M sets of features that complement each other. Each set
    trains a classifier of its own, and the M classifiers vote. Where modules differ, so do the errors of
    the members, and the vote removes those that are not shared: with ``extractor__diversity`` well
    chosen the ensemble is far better than its members.

    Like PCA it depends on the scale of the columns: put a ``StandardScaler`` before it where units
    differ. And modules can differ only if each has clearly fewer components than there are columns.

    Parameters
    ----------
    extractor : estimator with ``transform_modules``, default=None
        None means :class:`LinearModularAutoencoder` as it comes. A copy is fitted; an extractor that was
        fitted elsewhere, for example to many more rows without labels, is used as it is when wrapped:
        ``FrozenEstimator(extractor)`` (in ``sklearn.frozen``).
    estimator : classifier or list of (name, classifier), default=None
        A copy is trained for each module; or one classifier for each module, with names by which their
        parameters are set. None means :class:`NearestNeighborClassifier`.
    voting : {"hard", "soft"}, default="hard"
        "hard": the class that most members predict; probabilities are shares of the votes.
        "soft": the class with the largest mean of the members' probabilities.
    tie_break : {"probability", "prior", "first"}, default="probability"
        Between classes that tie: "probability" takes the one with the larger mean of the members'
        probabilities (if all members have them), then the one that is more frequent in the training
        data; "prior" starts with the latter. If that ties too, the first class in sorted order wins,
        which is all that "first" does.
    n_jobs : int or None, default=None
        Members that are trained, or asked, at the same time, in threads that share the cores. The
        results do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Gives a seed to every ``random_state`` that the extractor and the members leave at None.

    Attributes
    ----------
    extractor_ : estimator
        The fitted extractor.
    estimators_ : list of classifiers
        The fitted members, in the order of the modules.
    classes_ : ndarray of shape (n_classes,)
    class_prior_ : ndarray of shape (n_classes,)
        Share of each class in the training data, weighted if ``sample_weight`` was given.
    n_modules_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only if the columns of X have names.

    See Also
    --------
    ModularClassifierCV : Chooses the diversity by cross-validation.

    Notes
    -----
    ``predict`` always returns one of the classes with the largest ``predict_proba``, to round-off.

    Examples
    --------
    >>> from modae import ModularClassifier
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.model_selection import train_test_split
    >>> A, B, a, b = train_test_split(*load_digits(return_X_y=True), test_size=0.5, random_state=0)
    >>> model = ModularClassifier(random_state=0).set_params(extractor__n_components=5)
    >>> vote = model.set_params(extractor__diversity=0.75).fit(A, a)
    >>> print(f"{vote.member_scores(B, b).mean():.2f} alone, {vote.score(B, b):.2f} together")
    0.77 alone, 0.95 together
    """

    def __init__(
        self,
        extractor: Any = None,
        estimator: Any = None,
        *,
        voting: str = "hard",
        tie_break: str = "probability",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.extractor = extractor
        self.estimator = estimator
        self.voting = voting
        self.tie_break = tie_break
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Self:
        """Fit the extractor to X, and a member to the features of each module and y.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Whatever the extractor takes.
        y : array-like of shape (n_samples,)
            Labels: numbers or strings.
        sample_weight : array-like of shape (n_samples,), optional
            With metadata routing off it goes to the extractor, if that takes weights, and to all
            members, which must; with routing on, to whoever requests it.
            Batches that were opened with ``weight=`` bring their own.
        **params : dict
            Other metadata, only with metadata routing on.

        Returns
        -------
        self
        """
        check_choice("voting", self.voting, VOTINGS)
        check_choice("tie_break", self.tie_break, TIE_BREAKS)
        self._check_names()
        require_modules(self._part("extractor"))
        require_members(self._named_parts(), "classifier", is_classifier)
        X, sample_weight = split_weights(X, sample_weight)  # in memory: the members need them
        routed = self._route(sample_weight, params)
        fresh = copy(self)  # a fit that fails leaves this model as it was
        validate_data(fresh, columns_of(X), skip_check_array=True)
        y = check_labels(self, X, y)
        classes, prior = self._classes_and_prior(y, weights_of(sample_weight, len(y)))
        extractor, members = self._fit_parts(X, y, routed)
        check_classes(members, classes)
        fresh._publish(extractor, members)
        fresh.classes_, fresh.class_prior_ = classes, prior
        warn_if_equal(extractor)
        self.__dict__ = fresh.__dict__
        return self

    def _fit_to_features(
        self, features: Sequence[Array], y: np.ndarray, weights: Array | None, routed: Routed
    ) -> Self:
        """Fit members to features that are there already: what a search does with each candidate."""
        members = self._fit_members(features, y, routed, two_generators(self.random_state)[1])
        classes, prior = self._classes_and_prior(y, weights)
        check_classes(members, classes)
        self._publish(self.extractor, members)
        self.classes_, self.class_prior_ = classes, prior
        return self

    @staticmethod
    def _classes_and_prior(y: np.ndarray, weights: Array | None) -> tuple[np.ndarray, Array]:
        """The classes, and the share of each in the training data."""
        classes, labels = np.unique(y, return_inverse=True)
        totals = np.bincount(labels, weights=weights, minlength=len(classes))
        return classes, totals / (totals.sum() or 1.0)

    @by_rows()
    def predict(self, X: Any) -> np.ndarray:
        """Label that wins the vote.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        features = self._features(X)
        return np.asarray(self.classes_[self._decision(features, self._shares(features))])

    @by_rows()
    def predict_proba(self, X: Any) -> Array:
        """Shares of the votes, or, with ``voting="soft"``, mean of the members' probabilities.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
        """
        return self._shares(self._features(X))

    @available_if(partial(_all_members_have, "decision_function"))
    @by_rows()
    def decision_function(self, X: Any) -> Array:
        """Mean of the members' decision functions; only if all members have one.

        It ranks rows more finely than shares of votes do. Its largest entry need not be the class that
        wins the vote.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        scores : ndarray of shape (n_samples,) for two classes, else (n_samples, n_classes)
        """
        scores: Array = stacked(self._ask("decision_function", self._features(X))).mean(axis=0)
        return scores

    @by_rows(axis=1)
    def predict_members(self, X: Any) -> np.ndarray:
        """Label that each member predicts.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_modules, n_samples)
        """
        votes = self._votes(self._features(X))
        return np.asarray(self.classes_[votes])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy of the vote.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        score : float
        """
        labels, weights = gather(self.predict(X)), gather(sample_weight)
        return float(accuracy_score(gather(y), labels, sample_weight=weights))

    def member_scores(self, X: Any, y: Any, sample_weight: Any = None) -> Array:
        """Accuracy of each member alone.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        scores : ndarray of shape (n_modules,)
        """
        labels = gather(self.predict_members(X))
        y = column_or_1d(gather(y))
        check_consistent_length(labels[0], y)
        weights = weights_of(gather(sample_weight), len(y))
        scores: Array = np.average(labels == y, axis=1, weights=weights)
        return scores

    @by_rows()
    def disagreement(self, X: Any) -> Array:
        """Chance that two members, drawn at random, predict different labels: high where in doubt.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        disagreement : ndarray of shape (n_samples,)
        """
        votes = self._votes(self._features(X))
        return row_disagreement(vote_shares(votes, len(self.classes_)), len(votes))

    def _check_members(self, members: Sequence[Member]) -> None:
        for member in members:
            if self.voting == "soft" and not hasattr(member.estimator, "predict_proba"):
                raise ValueError(
                    f"voting='soft' needs members with predict_proba, and {member} has none: use "
                    "voting='hard', or wrap it in CalibratedClassifierCV."
                )

    def _accuracies(
        self, features: Sequence[Array], y: np.ndarray, weights: Array | None
    ) -> tuple[float, float]:
        """Accuracy of the vote and mean accuracy of the members, from one round of predictions."""
        votes = self._votes(features)
        decision = self._decision(features, self._shares(features, votes))
        right = self.classes_[np.vstack([decision, votes])] == y
        shares = np.average(right, axis=1, weights=weights)
        return float(shares[0]), float(shares[1:].mean())

    def _decision(self, features: Sequence[Array], shares: Array) -> Indices:
        """Index of the class that wins."""
        breakers = self._breakers(features)
        return decide(shares, [breakers[name] for name in TIE_BREAKS[self.tie_break]])

    def _shares(self, features: Sequence[Array], votes: Indices | None = None) -> Array:
        if self.voting == "soft":
            return self._mean_probabilities(features)
        votes = self._votes(features) if votes is None else votes
        return vote_shares(votes, len(self.classes_))

    def _votes(self, features: Sequence[Array]) -> Indices:
        """Index of the class that each member predicts, (M, n)."""
        labels = stacked(self._ask("predict", features))
        votes = np.searchsorted(self.classes_, labels).clip(max=len(self.classes_) - 1)
        strange = np.argwhere(self.classes_[votes] != labels)
        if len(strange):
            module, row = strange[0]
            raise MemberError(
                f"{self._members()[module]} predicted {labels[module, row]!r}, which is not one of the "
                f"classes {self.classes_.tolist()}."
            )
        return votes

    def _mean_probabilities(self, features: Sequence[Array]) -> Array:
        total = np.zeros((len(features[0]), len(self.classes_)))
        for estimator, answer in zip(
            self.estimators_, self._ask("predict_proba", features), strict=True
        ):
            total[:, np.searchsorted(self.classes_, estimator.classes_)] += answer
        return total / len(self.estimators_)

    def _breakers(self, features: Sequence[Array]) -> dict[str, Scores]:
        def probability(rows: Indices) -> Array:
            if self.voting == "soft" or not _all_members_have("predict_proba", self):
                return np.zeros((len(rows), len(self.classes_)))
            if all(type(each) is NearestNeighborClassifier for each in self.estimators_):
                return np.zeros((len(rows), len(self.classes_)))  # they are the votes, which tie
            if isinstance(features, np.ndarray):
                return self._mean_probabilities(features[:, rows])
            return self._mean_probabilities([each[rows] for each in features])

        def prior(rows: Indices) -> Array:
            return np.tile(self.class_prior_, (len(rows), 1))

        return {"probability": probability, "prior": prior}

    def _key_figures(self) -> dict[str, str]:
        return {"Classes": f"{len(self.classes_)}"} | super()._key_figures()

    @staticmethod
    def _default_member() -> NearestNeighborClassifier:
        return NearestNeighborClassifier()
