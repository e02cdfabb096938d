"""ModularNetworkClassifier: networks for classification, trained together."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from sklearn.base import ClassifierMixin
from sklearn.utils import column_or_1d
from sklearn.utils.class_weight import compute_sample_weight

from modae.data.rows import Rows, weights_of
from modae.data.validation import labels_of, rows_of
from modae.deep.base import Task
from modae.deep.loss import AVERAGES
from modae.deep.model import TrainedModel
from modae.deep.supervised import SupervisedModules
from modae.ensembles.votes import split_uncertainty
from modae.utils.arrays import Array
from modae.utils.parameters import check_choice


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
    n_modules : int, default=16
        Number of modules, M.
    diversity : float, default=0.0
        Weight of the loss of the mean, in [0, 1]; the rest is for the modules each on its own. 0 trains
        each on its own: other values change the error of the mean little (see the page on deep modules).
    hidden_layer_sizes : tuple of int, default=(128, 128)
        Layers between the input and the linear top layer.
    activation : str or callable, default="relu"
        After each hidden layer, see :class:`ModularAutoencoder`.
    module : callable or None, default=None
        Your own network in place of hidden layers: a class or function called as
        ``module(n_features, n_classes)`` for each of the modules; it returns logits. With
        ``body="shared"`` it is called once, for the outputs of all modules side by side, and with
        ``"adapters"`` once.
    body : {"separate", "shared", "adapters"}, default="adapters"
        What modules have in common: nothing; all hidden layers, so that they differ only in their top
        layer; or the weights of the hidden layers, whose inputs and outputs each module scales, as in
        BatchEnsemble and TabM.
    embedding : {None, "periodic"}, default=None
        What columns become before the first layer: "periodic" adds 7 numbers to each, made of waves with
        frequencies that are trained. They learn what turns often along a column, such as a checkerboard,
        and mostly harm elsewhere (see the page on deep modules).
    average : {"probability", "logit"}, default="probability"
        What is averaged over modules, in the loss and in ``predict_proba``: the probabilities, as a vote
        does, or the logits.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes, which multiply those of their rows; "balanced" makes all classes count alike.
    optimizer : {"adam", "adamw", "sgd"} or torch.optim.Optimizer class, default="adamw"
    learning_rate : float, default=4e-3
    weight_decay : float, default=3e-4
    max_gradient_norm : float or None, default=1.0
    dropout : float, default=0.1
    batch_size : int or "all", default=256
    equal_start, schedule, dtype, device, compile, verbose, checkpoint
        How to train: see :class:`ModularAutoencoder`.
    max_epochs : int, default=500
        A ceiling: early stopping ends training long before, or a ``ConvergenceWarning`` says so.
    early_stopping : bool, default=True
        Hold out ``validation_fraction`` of the rows, with its share of
        each class, stop when the loss of the *mean* of the
        modules on them has not improved for ``patience`` epochs, and keep the weights of the best
        epoch. Of fewer than 40 rows none is held out. ``fit(X, y, eval_set=(X_valid, y_valid))``
        takes rows of your own.
    validation_fraction : float, default=0.15
    patience : int, default=20
    refit : bool, default=False
        Then train again on all rows, for as many epochs as were best.
    normalize : bool, default=True
        Centre each column of X, and divide it by its standard deviation; constant columns are left
        out. Entries z far from the mean are bent towards 2 deviations, ``z / sqrt(1 + (z / 2)**2)``.
        Missing entries (NaN) are allowed: they are read as the mean of their column, and columns that
        have some in ``fit`` get a second one which says where.
    random_state : int, RandomState instance or None, default=None

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
    validation_indices_ : ndarray of int, or None
        The rows that were held out.
    mean_, scale_ : ndarray of shape (n_features,)
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
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = ModularNetworkClassifier(random_state=0).fit(X[::2], y[::2])
    >>> model.predict_proba(X).shape, model.predict_members(X).shape
    ((569, 2), (16, 569))
    >>> model.score(X[1::2], y[1::2]) > 0.9
    True
    """

    average: str = "probability"
    class_weight: Any = None

    member_loss_ = property(lambda self: self._model().terms["members"])

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """One epoch over these rows, from where training is now, at a constant learning rate.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Those of the first call set what all rows are shifted and divided by.
        y : array-like of shape (n_samples,)
        classes : array-like of shape (n_classes,), optional
            All labels that will ever come, in the first call; by default, those of its y.
        sample_weight : array-like of shape (n_samples,), optional
            How much each of these rows counts.

        Returns
        -------
        self
        """
        return self._train(X, y, classes=classes, stream=True, sample_weight=sample_weight)

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

    def uncertainty(self, X: Any) -> Array:
        """Total, aleatoric and epistemic uncertainty: see :meth:`modae.ModularClassifier.uncertainty`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        uncertainty : ndarray of shape (n_samples, 3)
        """
        return split_uncertainty(list(self.predict_proba_members(X)))

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
        indices = self._indices(labels, "y", "give all of them as `classes` in the first partial_fit")
        objective = {"loss": "cross_entropy", "average": self.average}
        return indices, self._arguments(len(self.classes_)), objective

    def _indices(self, labels: np.ndarray, name: str, remedy: str) -> np.ndarray:
        """The place of each label among the classes."""
        known = np.isin(labels, self.classes_)
        if not known.all():
            raise ValueError(
                f"{name} must hold labels that were announced, {self.classes_.tolist()}, got "
                f"{labels[~known][0]!r}: {remedy}."
            )
        return np.searchsorted(self.classes_, labels)

    def _validation_targets(self, rows: Rows, y: Any, targets: Any) -> Any:
        return self._indices(labels_of(rows, y, self), "eval_set", "leave rows of other classes out")

    def _weights(self, targets: Any, sample_weight: Any, n_rows: int, stream: bool) -> Array | None:
        if self.class_weight is not None:
            if stream and isinstance(self.class_weight, str):
                raise ValueError(
                    f"class_weight must be a dict for partial_fit, got {self.class_weight!r}: the "
                    "classes of a stream cannot be counted."
                )
            of_classes = compute_sample_weight(self.class_weight, self.classes_[targets])
            given = weights_of(sample_weight, n_rows)
            sample_weight = of_classes if given is None else given * of_classes
        return super()._weights(targets, sample_weight, n_rows, stream)
