"""ModularNetworkRegressor: networks for regression, by negative correlation learning."""

from copy import copy
from dataclasses import dataclass
from typing import Any, Self

from sklearn.base import MultiOutputMixin, RegressorMixin

from modae.data.rows import Rows
from modae.data.validation import rows_of, targets_of
from modae.deep.base import Task
from modae.deep.model import TrainedModel
from modae.deep.supervised import SupervisedModules
from modae.utils.arrays import Array
from modae.utils.parameters import check_choice


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
    n_modules : int, default=16
        Number of modules, M.
    diversity : float, default=0.0
        Weight of the disagreement of the modules, in [0, 1]; above 1 the loss has no minimum. 0 trains
        each on its own: other values change the error of the mean little (see the page on deep modules).
    hidden_layer_sizes : tuple of int, default=(128, 128)
        Layers between the input and the linear top layer.
    activation : str or callable, default="relu"
        After each hidden layer, see :class:`ModularAutoencoder`.
    module : callable or None, default=None
        Your own network in place of hidden layers: a class or function called as
        ``module(n_features, n_targets)`` for each of the modules. With ``body="shared"`` it is called
        once, for the outputs of all modules side by side, and with ``"adapters"`` once.
    body : {"separate", "shared", "adapters"}, default="adapters"
        What modules have in common: nothing; all hidden layers, so that they differ only in their top
        layer; or the weights of the hidden layers, whose inputs and outputs each module scales, as in
        BatchEnsemble and TabM.
    embedding : {None, "periodic"}, default=None
        What columns become before the first layer: "periodic" adds 7 numbers to each, made of waves with
        frequencies that are trained. They learn what turns often along a column, such as a checkerboard,
        and mostly harm elsewhere (see the page on deep modules).
    loss : {"squared_error", "huber"}, default="squared_error"
        "huber" is half the squared error up to an error of 1 (of ``target_scale_`` in units of y), and
        linear beyond.
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
        Hold out ``validation_fraction`` of the rows, stop when the loss of the *mean* of the
        modules on them has not improved for ``patience`` epochs, and keep the weights of the best
        epoch. Of fewer than 40 rows none is held out. ``fit(X, y, eval_set=(X_valid, y_valid))``
        takes rows of your own.
    validation_fraction : float, default=0.15
    patience : int, default=20
    refit : bool, default=False
        Then train again on all rows, for as many epochs as were best.
    normalize : bool, default=True
        Centre each column of X, and each target, and divide it by its standard deviation; constant
        columns are left out. Entries z far from the mean are bent towards 2 deviations,
        ``z / sqrt(1 + (z / 2)**2)``. Missing entries (NaN) are allowed: they are read as the mean of
        their column, and columns that have some in ``fit`` get a second one which says where. Losses and
        predictions are in units of y. Several targets count by their own scale: the loss is the sum of
        their standardised errors, times their mean variance.
    random_state : int, RandomState instance or None, default=None

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
    validation_indices_ : ndarray of int, or None
        The rows that were held out.
    mean_, scale_ : ndarray of shape (n_features,)
    target_mean_, target_scale_ : ndarray of shape (n_targets,)
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
    >>> model = ModularNetworkRegressor(random_state=0).fit(X, y)
    >>> model.predict(X).shape, model.predict_members(X).shape
    ((300,), (16, 300))
    >>> model.score(X, y) > 0.8
    True
    """

    loss: str = "squared_error"

    reconstruction_error_ = property(lambda self: self._model().terms["members"])
    target_mean_ = property(lambda self: self._model().target_scaling.mean.copy())
    target_scale_ = property(lambda self: copy(self._model().target_scaling.scale))

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """One epoch over these rows, from where training is now, at a constant learning rate.

        The first call starts training, and its rows set what all later ones are shifted and divided by.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array-like of shape (n_samples,), optional
            How much each of these rows counts.

        Returns
        -------
        self
        """
        return self._train(X, y, stream=True, sample_weight=sample_weight)

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

    def _validation_targets(self, rows: Rows, y: Any, targets: Any) -> Any:
        values = targets_of(rows, y, self, copy=False)
        if values.shape[1:] != targets.shape[1:]:
            raise ValueError(
                f"eval_set must have targets of the shape of y, {targets.shape}, but for the number of "
                f"rows, got {values.shape}."
            )
        return values.reshape(len(values), -1)
