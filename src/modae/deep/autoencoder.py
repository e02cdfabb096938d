"""ModularAutoencoder: autoencoders with any layers, trained together."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self
from warnings import warn

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from torch.nn import Module

from modae.data.rows import Rows, on_host
from modae.data.validation import rows_of
from modae.deep.base import DeepModules, Task
from modae.deep.model import Data, TrainedModel
from modae.deep.scaling import Scaling
from modae.linear.model import resolved_components
from modae.linear.modules import ModularTransformer
from modae.utils.arrays import Array
from modae.utils.parameters import check_count

#: Ranges of columns that differ more than this are taken for different units. Pixels differ less.
MOST_UNLIKE = 1e3


@dataclass(eq=False, repr=False)
class ModularAutoencoder(ModularTransformer, DeepModules):
    r"""A set of autoencoders, of any depth, trained together to be good and different.

    ``n_modules`` autoencoders with decoders :math:`g_i` and encoders :math:`f_i` are trained by
    stochastic gradient descent on the mean over the data of

    .. math:: \frac1M\sum_i\|g_i(f_i(x))-x\|^2
              -\lambda\,\frac1M\sum_i\Big\|g_i(f_i(x))-\frac1M\sum_jg_j(f_j(x))\Big\|^2 ,

    the loss of :class:`modae.LinearModularAutoencoder` with functions in place of matrices. At
    ``diversity=0`` each module trains on its own, at ``diversity=1`` only their mean counts, so that
    they are one large autoencoder. The codes of each module are the features for one member of an
    ensemble, for example of :class:`modae.ModularClassifier`.

    All modules are computed together, as one batched product for each layer.

    Parameters
    ----------
    n_modules : int, default=10
        Number of modules, M.
    n_components : int or None, default=None
        Size of the code of each module, H. None means 0.4 of the columns, 20 at most.
    diversity : float, default=0.5
        Weight of the disagreement of the modules, in [0, 1]; above 1 the loss has no minimum. Choose it
        by what the features are for, not by ``score``.
    hidden_layer_sizes : tuple of int, default=(64,)
        Layers between input and code, mirrored between code and output. ``()`` has none: with it each
        module is linear.
    activation : str or callable, default="relu"
        After each hidden layer: "identity", "relu", "tanh", "sigmoid", "gelu", "elu", "leaky_relu",
        "silu", "softplus", or a class or function that returns a ``torch.nn.Module``.
    encoder, decoder : callable or None, default=None
        Your own modules in place of hidden layers: classes or functions called as
        ``encoder(n_features, n_components)`` and ``decoder(n_components, n_features)`` for each of the
        modules. Both or none.
    equal_start : bool, default=False
        Start all modules from the same weights. They then stay equal, unless they draw random numbers of
        their own (dropout).
    optimizer : {"adam", "adamw", "sgd"} or torch.optim.Optimizer class, default="adam"
    learning_rate : float, default=1e-3
    schedule : {"constant", "cosine", "exponential"} or callable, default="constant"
        What the learning rate is multiplied with in each epoch: 1; half a cosine wave from 1 to 0; from
        1 to 0.01 geometrically; or ``schedule(epoch, max_epochs)``, with epochs counted from 0.
    weight_decay : float, default=0.0
        Given to the optimiser.
    max_gradient_norm : float or None, default=None
        Longer gradients, of all weights together, are shortened to this length.
    dropout : float, default=0.0
        Part of the hidden units that is left out in training, drawn anew for each row and module. Your
        own modules have their own.
    batch_size : int or "all", default=128
    max_epochs : int, default=50
    early_stopping : bool, default=False
        Hold out ``validation_fraction`` of the rows, stop when their loss has not improved for
        ``patience`` epochs, and keep the weights of the best epoch; a ``ConvergenceWarning`` says if
        ``max_epochs`` came first. Of fewer than 40 rows none is held out.
    validation_fraction : float, default=0.1
    patience : int, default=10
    refit : bool, default=False
        After early stopping, train again on all rows, for as many epochs as were best.
    normalize : bool, default=True
        Centre the rows, and divide them by *one* number, the root mean square deviation of all entries:
        the geometry of the data stays. All losses are in units of the data in any case. A warning says
        if columns differ 1000-fold in their range: where units differ, standardise them first.
    dtype : {"float32", "float64"}, default="float32"
        Of the computation. What comes out has the precision of X.
    device : {"auto", "cpu", "cuda", "mps"}, default="auto"
    compile : bool, default=False
        Whether to train with ``torch.compile``.
    verbose : bool, default=False
        Whether to show a progress bar (on stderr).
    checkpoint : path or None, default=None
        File in which the model is saved after each epoch. After a crash,
        ``modae.load(path).resume(X)`` goes on from there.
    random_state : int, RandomState instance or None, default=None
        Pass an int for the same model in every call. torch's global generators are not touched.

    Attributes
    ----------
    history_ : dict of ndarray of shape (n_epochs,)
        Means over the batches of each epoch: "loss", "members" (mean loss of the modules), "of_mean"
        (loss of their mean), "diversity" (the difference), "learning_rate" and, with early stopping,
        "valid_loss".
    loss_ : float
        Mean loss over the training rows after training:
        ``reconstruction_error_ - diversity * diversity_term_``. If training was interrupted: during the
        last whole epoch.
    reconstruction_error_ : float
        Mean squared error of the modules.
    diversity_term_ : float
        Mean squared distance of the modules from their mean.
    n_epochs_ : int
        Whole epochs done.
    best_epoch_ : int
        The epoch, from 1, whose weights are used.
    validation_indices_ : ndarray of int, or None
        The rows that were held out.
    diversity_ : float
        The diversity of the training, whatever the parameter is now.
    mean_ : ndarray of shape (n_features,)
    scale_ : float
        What rows are shifted and divided by.
    n_components_ : int
        Size of the code of each module.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only if the columns of X have names.

    See Also
    --------
    modae.LinearModularAutoencoder : The linear case, solved exactly.

    References
    ----------
    H. Reeve and G. Brown, "Modular Autoencoders for Ensemble Feature Extraction", 2015.

    Examples
    --------
    >>> from modae.deep import ModularAutoencoder
    >>> from sklearn.datasets import load_digits
    >>> X, _ = load_digits(return_X_y=True)
    >>> model = ModularAutoencoder(n_modules=5, n_components=4, max_epochs=5, random_state=0).fit(X)
    >>> model.transform(X).shape, model.transform_modules(X).shape
    ((1797, 20), (5, 1797, 4))
    >>> bool(model.history_["loss"][-1] < model.history_["loss"][0])
    True
    """

    n_modules: int = 10
    n_components: int | None = None
    diversity: float = 0.5
    _: KW_ONLY
    hidden_layer_sizes: Sequence[int] = (64,)
    encoder: Callable[..., Module] | None = None
    decoder: Callable[..., Module] | None = None

    _network_kind = "autoencoder"

    reconstruction_error_ = property(lambda self: self._model().terms["members"])
    n_components_ = property(lambda self: int(self._model().arguments["n_components"]))

    def fit(self, X: Any, y: Any = None) -> Self:
        """Train the modules from a fresh start.

        Ctrl-C stops it after all: the last whole epoch is kept, and ``resume`` goes on from there.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        return self._train(X, y)

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """One epoch over these rows, from where training is now, at a constant learning rate.

        The first call starts training, and its rows set what all later ones are shifted and divided by.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        return self._train(X, y, stream=True)

    def resume(self, X: Any, y: Any = None) -> Self:
        """Go on with a training that was interrupted, or that is to be longer.

        With the same data and parameters the result equals, on the CPU bit for bit, that of a training
        that was not interrupted. Raise ``max_epochs`` (or ``patience``) first to train longer than
        planned.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            As in ``fit``.
        y : ignored

        Returns
        -------
        self
        """
        return self._train(X, y, self._model())

    def fit_path(self, X: Any, params: Iterable[dict[str, Any]]) -> list[Self]:
        """Models with other parameters: each is trained on from the one before, if it has its size.

        Such a warm start takes a fifth of ``max_epochs``, so that a search over ``diversity`` is short.
        This is how :class:`modae.ModularClassifierCV` tries diversities of deep modules.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        params : iterable of dict
            What to change in each, such as ``{"diversity": 0.3}``.

        Returns
        -------
        models : list of ModularAutoencoder
            Fitted; this one stays as it is.
        """
        models: list[Self] = []
        for changes in params:
            model = clone(self).set_params(**changes)
            last = models[-1] if models else model
            sizes = [(each.n_modules, each.n_components) for each in (last, model)]
            if last is model or sizes[0] != sizes[1]:
                model.fit(X)
            else:
                vars(model).update({**vars(last), **vars(model)})
                until = last.n_epochs_ + max(1, self.max_epochs // 5)
                model.set_params(early_stopping=False, max_epochs=until).resume(X)
            models.append(model)
        return models

    def transform(self, X: Any) -> Array:
        """Codes of all modules side by side.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        codes : ndarray of shape (n_samples, n_modules * n_components)
        """
        return np.hstack(list(self.transform_modules(X)))

    def transform_modules(self, X: Any) -> Array:
        """Codes of each module: the features for one member of an ensemble.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        codes : ndarray of shape (n_modules, n_samples, n_components)
        """
        return self._model().outputs(rows_of(X, self), "encoder")

    def inverse_transform(self, X: Any) -> Array:
        """Mean reconstruction from the codes of all modules.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_modules * n_components)
            What ``transform`` returns.

        Returns
        -------
        reconstruction : ndarray of shape (n_samples, n_features)
        """
        model, codes = self._model(), on_host(self._codes(X))
        return model.scaling.undo(model.decode(np.stack(np.hsplit(codes, model.n_modules))), codes.dtype)

    def reconstruct_modules(self, X: Any) -> Array:
        """Reconstruction of X by each module alone.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        reconstructions : ndarray of shape (n_modules, n_samples, n_features)
        """
        model, rows = self._model(), rows_of(X, self)
        return model.scaling.undo(model.outputs(rows), rows.dtype)

    def score_samples(self, X: Any) -> Array:
        """Minus the loss of each row, at this model's diversity: low for rows unlike the training data.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        scores : ndarray of shape (n_samples,)
        """
        model, rows = self._model(), rows_of(X, self)
        return -model.loss(*model.losses(Data(rows)))

    def _task(self, rows: Rows, y: Any, start: TrainedModel | None, classes: Any) -> Task:
        check_count("n_components", self.n_components, optional=True)
        n_components = int(resolved_components(self.n_components, rows.shape[1]))
        arguments = {"n_components": n_components, "encoder": self.encoder, "decoder": self.decoder}
        return None, arguments, {"loss": "squared_error", "average": "probability"}

    def _scalings(self, data: Data) -> tuple[Scaling, Scaling | None]:
        """One scale for all columns, by which the loss keeps its meaning."""
        ends = data.rows.max(axis=0), data.rows.min(axis=0)
        largest, least = (np.ravel(end.toarray() if issparse(end) else end) for end in ends)
        with np.errstate(over="ignore"):
            ranges = largest.astype(np.float64) - least
        # A column that is constant is not narrow.
        wide, narrow = ranges.argmax(), np.where(ranges > 0.0, ranges, np.inf).argmin()
        if ranges[wide] > MOST_UNLIKE * ranges[narrow]:
            warn(
                f"X has columns of very different size: column {wide} has a range of "
                f"{ranges[wide]:.1e}, column {narrow} one of {ranges[narrow]:.1e}. One scale for all of "
                "them leaves the small ones out of the loss: standardise the columns first if their "
                "units differ (StandardScaler).",
                UserWarning,
                stacklevel=4,
            )
        return Scaling.of(data.rows, "X", self.normalize), None

    def _shape(self) -> tuple[int, ...]:
        return self._model().n_modules, self.n_components_
