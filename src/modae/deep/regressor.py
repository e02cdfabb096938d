"""ModularNetworkRegressor: networks trained together by negative correlation learning."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils import check_array

from modae.data import rows_of
from modae.data.rows import Rows
from modae.deep.base import SupervisedModules
from modae.deep.model import TrainedModel
from modae.utils.arrays import Array
from modae.utils.parameters import check_choice


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

    reconstruction_error_ = property(lambda self: self._model().terms["members"])
    target_mean_ = property(lambda self: self._model().target_scaling.mean.copy())
    target_scale_ = property(lambda self: self._model().target_scaling.scale)

    def __init__(
        self,
        n_modules: int = 10,
        diversity: float = 0.5,
        hidden_layer_sizes: Any = (64,),
        *,
        activation: Any = "relu",
        module: Any = None,
        shared_body: bool = False,
        loss: str = "squared_error",
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

    def _objective(self) -> dict[str, Any]:
        check_choice("loss", self.loss, ("squared_error", "huber"))
        return {"diversity": float(self.diversity), "loss": self.loss, "average": "probability"}

    def _validated_targets(
        self, y: Any, rows: Rows, start: TrainedModel | None, classes: Any
    ) -> np.ndarray:
        self._check_target(y, rows)
        values: np.ndarray = check_array(y, dtype=np.float64, ensure_2d=False, input_name="y")
        if start is not None:
            width = start.arguments["n_outputs"]
            if (values.ndim == 1, values[0].size) != (start.flat, width):
                raise ValueError(
                    f"y must have its {width} columns of fit, got the shape {values.shape}."
                )
        return values
