"""ModularClassifier: a vote of classifiers, each on the features of one module."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin, is_classifier
from sklearn.metrics import accuracy_score
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.metaestimators import available_if

from modae.data.placed_parts import Parts
from modae.data.validation import by_rows, gather, labels_of
from modae.ensembles.conformal import HeldOut
from modae.ensembles.members import (
    Member,
    MemberError,
    Routed,
    all_have,
    call_members,
    for_known,
    stacked,
    votes_for_pairs,
)
from modae.ensembles.neighbors import NearestNeighborClassifier
from modae.ensembles.uncertainty import VotingEnsemble
from modae.ensembles.votes import (
    TIE_BREAKS,
    VOTINGS,
    Scores,
    best_temperature,
    by_pairs,
    decide,
    for_all_classes,
    smallest_margins,
    softmax_shares,
    vote_shares,
)
from modae.utils.arrays import Array, Indices
from modae.utils.parameters import check_positive

#: The method that members need for a vote; in the order in which "auto" asks for it.
NEEDED = {"soft": "predict_proba", "decision": "decision_function"}


def _resolved_voting(voting: str, members: Sequence[Any]) -> str:
    """What "auto" stands for with these members."""
    if voting != "auto":
        return voting
    able = [name for name, method in NEEDED.items() if all_have(method, members)]
    return able[0] if able and not votes_for_pairs(members) else "hard"


def _decides(ensemble: ModularClassifier) -> bool:
    """Whether it votes by decision functions, or will."""
    if hasattr(ensemble, "voting_"):
        return ensemble.voting_ == "decision"
    return _resolved_voting(ensemble.voting, [part for _, part in ensemble._named_parts()]) == "decision"


@dataclass(eq=False, repr=False, kw_only=True)
class ModularClassifier(ClassifierMixin, VotingEnsemble):
    """A vote of classifiers, each trained on the features of one module.

    A modular extractor turns each row into M sets of features that complement each other. Each set
    trains a classifier of its own, and the M classifiers vote. Where modules differ, so do the errors of
    the members, and the vote removes those that are not shared.

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
    n_modules, n_components, diversity : int, int or float, float; default=None
        Number and size of the modules, and how much they differ. None leaves it to the extractor; a
        value overrides that of a copy of it.
    voting : {"auto", "hard", "soft", "decision"}, default="auto"
        "hard": the class that most members predict; probabilities are shares of the votes.
        "soft": the class with the largest mean of the members' probabilities.
        "decision": the class with the largest mean of the members' decision functions, for SVMs;
        probabilities are their softmax. An SVC for several classes gives each its margin over its
        strongest rival: scikit-learn's count of won pairs cannot tell a close call from a clear one.
        "auto": "soft" if all members have probabilities, else "decision" if all have decision functions,
        else "hard"; ``voting_`` says which.
    tie_break : {"probability", "prior", "first"}, default="probability"
        Between classes that tie: "probability" takes the one with the larger mean of the members'
        probabilities (if all have them), then the one that is more frequent in the training data;
        "prior" starts with the latter. With "first", or if all ties, the first in order wins.
    calibration : {None, "cv"} or float, default=None
        The temperature of "decision": mean decision functions are divided by it before the softmax.
        "cv" finds the one with the smallest log loss, on rows held out in three folds, and fits the
        members three times more for it; None means 1. It changes probabilities and never labels.
    calibrate : float or None, default=None
        Share of the training rows to hold out, in (0, 1), for ``predict_set`` and ``abstain``; the
        members are then trained on the rest; not with weights. None holds out nothing.
    missing_label : scalar, default=None
        What stands in y where the label of a row is not known: ``np.nan`` (which is None and ``pd.NA``
        too), -1, "" or whatever is given. Such rows train the extractor, and nothing else: the members,
        and the rows held out, are those with a label. None means that every row has one. Only for rows
        in memory; an extractor that wants labels gets none then.
    stream : bool, default=False
        Whether members learn chunk by chunk, by their ``partial_fit``, from data that are read in chunks
        (Dask, :func:`open_batches`): then not even the features of one module are ever in one place.
    n_jobs : int or None, default=None
        Members that are trained, or asked, at the same time, in threads that share the cores. The
        results do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Gives a seed to every ``random_state`` that the extractor and the members leave at None, and
        draws the rows held out.

    Attributes
    ----------
    extractor_ : estimator
        The fitted extractor.
    estimators_ : list of classifiers
        The fitted members, in the order of the modules.
    classes_ : ndarray of shape (n_classes,)
    class_prior_ : ndarray of shape (n_classes,)
        Share of each class in the training data, weighted if ``sample_weight`` was given.
    voting_ : {"hard", "soft", "decision"}
        What ``voting`` stands for.
    temperature_ : float
        By which mean decision functions are divided; only with ``voting_="decision"``.
    held_out_ : HeldOut
        What the vote said of the rows held out, and ``held_out_.risk(coverage)``; only with
        ``calibrate``.
    n_modules_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only if the columns of X have names.

    See Also
    --------
    ModularClassifierCV : Chooses the diversity by cross-validation.

    Examples
    --------
    >>> from modae import ModularClassifier
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.model_selection import train_test_split
    >>> A, B, a, b = train_test_split(*load_digits(return_X_y=True), test_size=0.5, random_state=0)
    >>> vote = ModularClassifier(n_components=5, random_state=0).fit(A, a)
    >>> print(f"{vote.member_scores(B, b).mean():.2f} alone, {vote.score(B, b):.2f} together")
    0.74 alone, 0.96 together
    """

    voting: str = "auto"
    tie_break: str = "probability"
    calibration: str | float | None = None

    _kind = ("classifier", is_classifier)
    _choices: ClassVar[dict[str, Any]] = {"voting": VOTINGS, "tie_break": TIE_BREAKS}
    _read_targets = staticmethod(labels_of)

    def _check_parts(self, kind: str, is_kind: Callable[[Any], bool]) -> None:
        super()._check_parts(kind, is_kind)
        if self.calibration not in (None, "cv"):
            check_positive("calibration", self.calibration)

    def _publish(self, extractor: Any, members: list[Member], y: Any, weights: Array | None) -> None:
        """Members, classes with their shares in the training data, and how the members vote."""
        classes, labels = np.unique(y, return_inverse=True)
        for member in members:  # one that was fitted elsewhere may know other classes
            known = getattr(member.estimator, "classes_", classes)
            if not np.isin(known, classes).all():
                raise ValueError(
                    f"{member} knows classes {list(known)}, some of which are not in y, which has "
                    f"{list(classes)}: fit it to the same labels."
                )
        totals = np.bincount(labels, weights=weights, minlength=len(classes))
        super()._publish(extractor, members, y, weights)
        self.classes_, self.class_prior_ = classes, totals / (totals.sum() or 1.0)
        self.voting_ = _resolved_voting(self.voting, self.estimators_)
        for name in ("temperature_", "held_out_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        if self.voting_ == "decision":
            self.temperature_ = 1.0 if self.calibration in (None, "cv") else float(self.calibration)

    def _calibrate_vote(self, features: Any, y: Any, weights: Array | None, routed: Routed) -> None:
        """The temperature with the smallest log loss on rows held out in three folds, if wanted."""
        if self.voting_ != "decision" or self.calibration != "cv":
            return
        if self.stream or isinstance(features, Parts):
            raise ValueError(
                "calibration='cv' holds rows out, which needs the features in memory: give a "
                "temperature, or None, with dask data and with stream=True."
            )
        trained, scores, tested = copy(self), [], []
        for train, test in StratifiedKFold(3).split(y, y):
            own = None if weights is None else weights[train]
            part = for_known(routed, train)
            trained._fit_to_features([each[train] for each in features], y[train], own, part)
            scores.append(np.asarray(trained._tally([each[test] for each in features])[2]))
            tested.append(test)
        order = np.argsort(np.concatenate(tested))
        labels = np.searchsorted(self.classes_, y)
        self.temperature_ = best_temperature(np.concatenate(scores)[order], labels, weights)

    def _keep_held_out(self, model: Any, X: Any, y: Any) -> None:
        self.held_out_ = HeldOut.of(model, X, y)

    @by_rows()
    def predict(self, X: Any) -> np.ndarray:
        """Label that wins the vote: one with the largest ``predict_proba``, to round-off.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        features = self._features(X)
        return np.asarray(self.classes_[self._winner(features, self._tally(features)[0])])

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
        return self._tally(self._features(X))[0]

    @available_if(_decides)
    @by_rows()
    def decision_function(self, X: Any) -> Array:
        """Mean of the members' decision functions; only if they decide the vote (``voting``).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        scores : ndarray of shape (n_samples,) for two classes, else (n_samples, n_classes)
        """
        return np.mean(self._decisions(self._features(X)), axis=0)

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
        votes = self._member_classes(self._features(X))
        return np.asarray(self.classes_[votes])

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
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

    def member_scores(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Array:
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
        members, y, weights = gather(self.predict_members(X)), gather(y), gather(sample_weight)
        return np.array([accuracy_score(y, each, sample_weight=weights) for each in members])

    def _check_members(self, members: Sequence[Member]) -> None:
        for member in members:
            needed = NEEDED.get(self.voting, "predict")
            if not hasattr(member.estimator, needed):
                raise ValueError(
                    f"voting={self.voting!r} needs members with {needed}, and {member} has none: use "
                    "voting='auto'."
                )
            if self.voting == "decision" and votes_for_pairs([member.estimator]):
                raise ValueError(
                    f"voting='decision' needs one number for each class, and {member} gives one for "
                    "each pair of them: use decision_function_shape='ovr'."
                )

    def _losses(self, features: Sequence[Array], y: np.ndarray) -> tuple[Array, Array, Array | None]:
        """Whether the vote errs on each row, the share of members that do, and decision functions."""
        shares, votes, decisions = self._tally(features)
        wrong = self.classes_[self._winner(features, shares)] != y
        return wrong.astype(float), (self.classes_[votes] != y).mean(axis=0), decisions

    def _winner(self, features: Sequence[Array] | Array, shares: Array) -> Indices:
        """Index of the class that wins."""

        def probability(rows: Indices) -> Array:
            if self.voting_ != "hard" or not all_have("predict_proba", self.estimators_):
                return np.zeros((len(rows), len(self.classes_)))
            some = features[:, rows] if isinstance(features, np.ndarray) else [f[rows] for f in features]
            answers = for_all_classes(self._ask("predict_proba", some), self.estimators_, self.classes_)
            return np.mean(answers, axis=0)

        def prior(rows: Indices) -> Array:
            return np.tile(self.class_prior_, (len(rows), 1))

        breakers: dict[str, Scores] = {"probability": probability, "prior": prior}
        return decide(shares, [breakers[name] for name in TIE_BREAKS[self.tie_break]])

    def _tally(self, features: Sequence[Array]) -> tuple[Array, Indices, Array | None]:
        """Probabilities (n, n_classes), classes of the members (M, n), and mean decision functions."""
        if self.voting_ == "hard":
            votes = self._member_classes(features)
            return vote_shares(votes, len(self.classes_)), votes, None
        soft = self.voting_ == "soft"
        answers = self._member_probabilities(features) if soft else self._decisions(features)
        votes = np.stack([each.argmax(axis=1) if each.ndim == 2 else each > 0.0 for each in answers])
        mean: Any = sum(answers) / len(answers)
        if soft:
            return mean, votes, None
        return softmax_shares(mean, self.temperature_), votes.astype(np.intp), mean

    def _member_probabilities(self, features: Sequence[Array]) -> list[Array]:
        """Probabilities of each member, (n, n_classes) each, in one pass."""
        if self.voting_ == "decision":
            return [softmax_shares(each, self.temperature_) for each in self._decisions(features)]
        if all_have("predict_proba", self.estimators_):
            answers = self._ask("predict_proba", features)
            return for_all_classes(answers, self.estimators_, self.classes_)
        return list(np.eye(len(self.classes_))[self._member_classes(features)])

    def _decisions(self, features: Sequence[Array]) -> list[Array]:
        """Decision functions of the members, (n,) for two classes, else (n, n_classes) each."""
        asked = [replace(each, estimator=by_pairs(each.estimator)) for each in self._members()]
        answers = call_members(asked, "decision_function", features, self.n_jobs)
        return [
            answer if each.estimator is own else smallest_margins(answer, len(self.classes_))
            for own, each, answer in zip(self.estimators_, asked, answers, strict=True)
        ]

    def _member_classes(self, features: Sequence[Array]) -> Indices:
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

    def _key_figures(self) -> dict[str, str]:
        held = {"Held out": str(self.held_out_)} if hasattr(self, "held_out_") else {}
        return {"Classes": f"{len(self.classes_)}"} | super()._key_figures() | held

    @staticmethod
    def _default_member() -> NearestNeighborClassifier:
        return NearestNeighborClassifier()
