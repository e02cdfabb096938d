"""Networks for regression and classification, trained together by negative correlation learning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
import torch
from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.utils import column_or_1d
from torch.nn import Module

from modae.data.rows import Rows
from modae.data.validation import labels_of, rows_of, targets_of
from modae.deep.base import DeepModules, Task
from modae.deep.loss import AVERAGES
from modae.deep.model import TrainedModel
from modae.utils.arrays import Array
from modae.utils.parameters import check_choice


@dataclass(eq=False, repr=False)
class SupervisedModules(DeepModules):
    """Modules that learn targets y from rows X. Abstract: a subclass says what targets are."""

    n_modules: int = 10
    diversity: float = 0.5
    hidden_layer_sizes: Sequence[int] = (64,)
    _: KW_ONLY
    module: Callable[..., Module] | None = None
    shared_body: bool = False

    def _arguments(self, n_outputs: int) -> dict[str, Any]:
        return {"n_outputs": n_outputs, "shared_body": self.shared_body, "module": self.module}


@dataclass(eq=False, repr=False, kw_only=True)
class ModularNetworkRegressor(MultiOutputMixin, RegressorMixin, SupervisedModules):
    r"""A set of networks for regression, trained together to be good and different.

    The Modular Regression Network of the paper's appendix. The prediction is the mean :math:`\bar F` of
    ``n_modules`` networks :math:`F_i`, which minimise the mean over the data of

    .. math:: \frac1M\sum_i\|F_i(x)-y\|^2-\lambda\,\frac1M\sum_i\|F_i(x)-\bar F(x)\|^2 .

    ``diversity=0`` trains each on its own, as an ordinary ensemble does; ``diversity=1`` trains their
    mean as one large network. The gradient is that of negative correlation learning (Liu and Yao, 1999).

    Parameters
    ----------
    n_modules : int, default=10
        Number of modules, M.
    diversity : float, default=0.5
        Weight of the disagreement of the modules, in [0, 1]; above 1 the loss has no minimum.
    hidden_layer_sizes : tuple of int, default=(64,)
        Layers between the input and the linear top layer.
    activation : str or callable, default="relu"
        After each hidden layer, see :class:`ModularAutoencoder`.
    module : callable or None, default=None
        Your own network in place of hidden layers: a class or function called as
        ``module(n_features, n_targets)`` for each of the modules.
    shared_body : bool, default=False
        One set of hidden layers for all modules, which then differ only in their top layer.
    loss : {"squared_error", "huber"}, default="squared_error"
        "huber" is half the squared error up to an error of 1 (of ``target_scale_`` in units of y), and
        linear beyond.
    equal_start, optimizer, learning_rate, schedule, weight_decay, batch_size, max_epochs
        How to train: see :class:`ModularAutoencoder`.
    early_stopping, validation_fraction, patience, dtype, device, compile, verbose, checkpoint
        As there.
    random_state : int, RandomState instance or None, default=None
    normalize : bool, default=True
        Centre X, and y, and divide each by one number, the root mean square deviation of its entries.
        Losses and predictions are in units of y in any case. The loss adds the targets up as they are:
        where they have different units, scale them first (``TransformedTargetRegressor``).

    Attributes
    ----------
    history_ : dict of ndarray of shape (n_epochs,)
        See :class:`ModularAutoencoder`.
    loss_ : float
        Mean loss over the training rows, ``reconstruction_error_ - diversity * diversity_term_``.
    reconstruction_error_ : float
        Mean loss of the modules.
    diversity_term_ : float
        How much less the loss of their mean is.
    n_epochs_, best_epoch_ : int
    diversity_ : float
        The diversity of the training, whatever the parameter is now.
    mean_, target_mean_ : ndarray
    scale_, target_scale_ : float
        What X and y are shifted and divided by.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only if the columns of X have names.

    See Also
    --------
    modae.LinearModularRegressor : The linear case, solved exactly.

    Examples
    --------
    >>> from modae.deep import ModularNetworkRegressor
    >>> from sklearn.datasets import make_friedman1
    >>> X, y = make_friedman1(300, random_state=0)
    >>> model = ModularNetworkRegressor(n_modules=5, batch_size=32, random_state=0).fit(X, y)
    >>> model.predict(X).shape, model.predict_members(X).shape
    ((300,), (5, 300))
    >>> model.score(X, y) > 0.8
    True
    """

    loss: str = "squared_error"

    reconstruction_error_ = property(lambda self: self._model().terms["members"])
    target_mean_ = property(lambda self: self._model().target_scaling.mean.copy())
    target_scale_ = property(lambda self: self._model().target_scaling.scale)

    def predict(self, X: Any) -> Array:
        """Mean of the predictions of the modules.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets), as y was in ``fit``
        """
        return self.predict_members(X).mean(axis=0)

    def predict_members(self, X: Any) -> Array:
        """Prediction of each module alone.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_modules, n_samples) or (n_modules, n_samples, n_targets)
        """
        model, rows = self._model(), rows_of(X, self)
        assert model.target_scaling is not None
        members = model.target_scaling.undo(model.outputs(rows), rows.dtype)
        return members[..., 0] if model.flat else members

    def member_spread(self, X: Any) -> Array:
        """Standard deviation over the modules of their predictions.

        It is **not** calibrated: it is no interval that holds the truth with some probability.
        ``diversity`` moves it up and down as such, so compare it between rows of one model only. For
        intervals that hold, see ``calibrate`` of :class:`modae.ModularRegressor`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        spread : ndarray of the shape of ``predict``
        """
        return self.predict_members(X).std(axis=0)

    def _task(self, rows: Rows, y: Any, start: TrainedModel | None, classes: Any) -> Task:
        check_choice("loss", self.loss, ("squared_error", "huber"))
        # As they lie in memory: a copy in another order would be summed with other round-off.
        values = targets_of(rows, y, self, copy=False)
        n_outputs = values[0].size
        if start is not None:
            width = start.arguments["n_outputs"]
            if (values.ndim == 1, n_outputs) != (start.flat, width):
                raise ValueError(f"y must have its {width} columns of fit, got shape {values.shape}.")
        return values, self._arguments(n_outputs), {"loss": self.loss, "average": "probability"}


@dataclass(eq=False, repr=False, kw_only=True)
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

    average: str = "probability"

    member_loss_ = property(lambda self: self._model().terms["members"])

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
        return self._train(X, y, vars(self).get("_fitted"), classes, stream=True)

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

    def _task(self, rows: Rows, y: Any, start: TrainedModel | None, classes: Any) -> Task:
        check_choice("average", self.average, AVERAGES)
        labels = labels_of(rows, y, self)
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
        objective = {"loss": "cross_entropy", "average": self.average}
        return np.searchsorted(self.classes_, labels), self._arguments(len(self.classes_)), objective
