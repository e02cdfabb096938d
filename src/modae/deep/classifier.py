"""ModularNetworkClassifier: the modular loss with cross-entropy."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import torch
from sklearn.base import ClassifierMixin
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from modae.data import rows_of
from modae.data.rows import Rows
from modae.deep.base import SupervisedModules
from modae.deep.loss import AVERAGES
from modae.deep.model import TrainedModel
from modae.utils.arrays import Array
from modae.utils.parameters import check_choice


class ModularNetworkClassifier(ClassifierMixin, SupervisedModules):
    r"""A set of networks for classification, trained together to be good and different.

    Negative correlation learning for the cross-entropy :math:`\ell`: ``n_modules`` networks :math:`F_i`
    minimise the mean over the data of

    .. math:: (1-\lambda)\,\frac1M\sum_i\ell(F_i(x),y)+\lambda\,\ell(\bar F(x),y) ,

    where :math:`\bar F` is the mean of their probabilities, or of their logits. ``predict_proba`` gives
    that same mean.

    Parameters
    ----------
    n_modules : int, default=10
        Number of modules, M.
    diversity : float, default=0.5
        Weight of the loss of the mean, in [0, 1]; the rest is for the modules each on its own.
    hidden_layer_sizes : tuple of int, default=(64,)
        Layers between the input and the linear top layer.
    activation : str or callable, default="relu"
        After each hidden layer, see :class:`ModularAutoencoder`.
    module : callable or None, default=None
        Your own network in place of hidden layers: a class or function called as
        ``module(n_features, n_classes)`` for each of the modules; it returns logits.
    shared_body : bool, default=False
        One set of hidden layers for all modules, which then differ only in their top layer.
    average : {"probability", "logit"}, default="probability"
        What is averaged over modules, in the loss and in ``predict_proba``: the probabilities, as a vote
        does, or the logits.
    equal_start, optimizer, learning_rate, schedule, weight_decay, batch_size, max_epochs
        How to train: see :class:`ModularAutoencoder`.
    early_stopping, validation_fraction, patience, dtype, device, compile, verbose, checkpoint
        As there.
    random_state : int, RandomState instance or None, default=None
    normalize : bool, default=True
        Centre X, and divide it by one number, the root mean square deviation of its entries.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    history_ : dict of ndarray of shape (n_epochs,)
        See :class:`ModularAutoencoder`.
    loss_ : float
        Mean loss over the training rows, ``member_loss_ - diversity * diversity_term_``.
    member_loss_ : float
        Mean cross-entropy of the modules.
    diversity_term_ : float
        How much less the cross-entropy of their mean is.
    n_epochs_, best_epoch_ : int
    diversity_ : float
        The diversity of the training, whatever the parameter is now.
    mean_ : ndarray of shape (n_features,)
    scale_ : float
        What X is shifted and divided by.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only if the columns of X have names.

    See Also
    --------
    modae.ModularClassifier : Any classifiers on the codes of modules.

    Examples
    --------
    >>> from modae.deep import ModularNetworkClassifier
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = ModularNetworkClassifier(n_modules=5, max_epochs=30, random_state=0).fit(X[::2], y[::2])
    >>> model.predict_proba(X).shape, model.predict_members(X).shape
    ((1797, 10), (5, 1797))
    >>> model.score(X[1::2], y[1::2]) > 0.9
    True
    """

    member_loss_ = property(lambda self: self._model().terms["members"])

    def __init__(
        self,
        n_modules: int = 10,
        diversity: float = 0.5,
        hidden_layer_sizes: Any = (64,),
        *,
        activation: Any = "relu",
        module: Any = None,
        shared_body: bool = False,
        average: str = "probability",
        equal_start: bool = False,
        optimizer: Any = "adam",
        learning_rate: float = 1e-3,
        schedule: Any = "constant",
        weight_decay: float = 0.0,
        batch_size: Any = 128,
        max_epochs: int = 50,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        patience: int = 10,
        normalize: bool = True,
        dtype: str = "float32",
        device: str = "auto",
        compile: bool = False,  # noqa: A002 - the name that torch uses
        verbose: bool = False,
        checkpoint: Any = None,
        random_state: Any = None,
    ) -> None:
        self._store(locals())

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None) -> Self:
        """One epoch over these rows, from where training is now, at a constant learning rate.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Those of the first call set what all rows are shifted and divided by.
        y : array-like of shape (n_samples,)
        classes : array-like of shape (n_classes,), optional
            All labels that will ever come, in the first call; by default, those of its y.

        Returns
        -------
        self
        """
        return self._train_one_epoch(X, y, classes)

    def predict(self, X: Any) -> np.ndarray:
        """The class with the largest probability.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        return self._labels(self.predict_proba(X))

    def predict_proba(self, X: Any) -> Array:
        """What the modules say together: mean probabilities, or the softmax of mean logits.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
        """
        logits = self._logits(X)
        if self._model().objective["average"] == "logit":
            return logits.mean(dim=0).softmax(dim=-1).numpy()
        return logits.softmax(dim=-1).mean(dim=0).numpy()

    def predict_members(self, X: Any) -> np.ndarray:
        """The label that each module alone would give.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_modules, n_samples)
        """
        return self._labels(self._logits(X).numpy())

    def predict_proba_members(self, X: Any) -> Array:
        """The probabilities of each module alone.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_modules, n_samples, n_classes)
        """
        return self._logits(X).softmax(dim=-1).numpy()

    def member_spread(self, X: Any) -> Array:
        """Standard deviation over the modules of the probability of each class.

        It is **not** calibrated, and ``diversity`` moves it up and down as such: compare it between rows
        of one model only.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        spread : ndarray of shape (n_samples, n_classes)
        """
        return self.predict_proba_members(X).std(axis=0)

    def _logits(self, X: Any) -> torch.Tensor:
        return torch.from_numpy(self._model().outputs(rows_of(X, self)))

    def _labels(self, scores: Array) -> np.ndarray:
        return self.classes_[scores.argmax(axis=-1)]

    def _objective(self) -> dict[str, Any]:
        check_choice("average", self.average, AVERAGES)
        return {"diversity": float(self.diversity), "loss": "cross_entropy", "average": self.average}

    def _validated_targets(
        self, y: Any, rows: Rows, start: TrainedModel | None, classes: Any
    ) -> np.ndarray:
        """Where each label is in ``classes_``."""
        self._check_target(y, rows)
        labels = column_or_1d(y, warn=True)
        assert_all_finite(labels, input_name="y")
        check_classification_targets(labels)
        if start is None:
            self.classes_ = np.unique(labels if classes is None else column_or_1d(classes))
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(
                f"classes must be those of the first call, {self.classes_.tolist()}, got {classes!r}."
            )
        known = np.isin(labels, self.classes_)
        if not known.all():
            raise ValueError(
                f"y must hold labels that were announced, {self.classes_.tolist()}, got "
                f"{labels[~known][0]!r}: give all of them as `classes` in the first partial_fit."
            )
        return np.searchsorted(self.classes_, labels)
