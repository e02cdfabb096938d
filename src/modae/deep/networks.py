r"""Modules of one architecture as one network: every layer of all modules is one batched product.

A Python loop over M small networks starts M small products for each layer. Here the first layer, which
reads the same rows in every module, is one product :math:`(n,D)\times(D,Mh)`, and each later one is a
batched product :math:`(M,n,h)\times(M,h,h')`. The numbers are the same (to rounding), the time is not.

A user's own architecture is run by ``torch.func.vmap`` instead, see :mod:`modae.deep.copies`. That would
serve our own layers too, but training ten modules 784-64-10-64-784 in batches of 256 then takes 1.8
times as long on one core: :func:`modae.deep.shortcut.linear_output_terms` needs the stacked weights,
and the first layer is no longer one product.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from modae.deep.copies import Copies, OneForAll
from modae.deep.layers import AdapterLayer, Dropout, MemberLayer, PeriodicEmbedding
from modae.deep.loss import check_name
from modae.utils.parameters import check_choice, check_count

Activation = str | Callable[[], nn.Module]

#: Names and what they stand for, with torch's default settings.
_LOWER_CASE = (nn.Identity, nn.ReLU, nn.Tanh, nn.Sigmoid, nn.GELU, nn.ELU, nn.SiLU, nn.Softplus)
ACTIVATIONS: dict[str, type[nn.Module]] = {kind.__name__.lower(): kind for kind in _LOWER_CASE}
ACTIVATIONS["leaky_relu"] = nn.LeakyReLU


class ModularAutoencoderNetwork(nn.Module):
    """M autoencoders D - hidden - H - hidden reversed - D, computed together.

    The activation is between layers; the code and the reconstruction are linear, so with
    ``hidden_layer_sizes=()`` each module is the linear autoencoder of the paper plus biases.

    Parameters
    ----------
    n_features : int
    n_modules : int
    n_components : int
        Size of the code of each module.
    hidden_layer_sizes : tuple of int, default=()
        Between input and code; mirrored between code and output.
    activation : str or callable, default="relu"
        See :func:`make_activation`.
    equal_start : bool, default=False
        Start all modules from the same numbers. They then stay equal under any training that treats them
        alike; the default draws each module on its own, from torch's global generator.
    dropout : float, default=0.0
        Part of the hidden units that is left out, drawn anew for each row of each module in training.
    encoder, decoder : callable, optional
        A user's own architecture in place of hidden layers: classes or functions, called as
        ``encoder(n_features, n_components)`` and ``decoder(n_components, n_features)``, that return a
        new ``torch.nn.Module``, see :class:`modae.deep.copies.Copies`.

    Attributes
    ----------
    encoder : torch.nn.Module
        Rows (n, D) to codes (M, n, H).
    decoder : torch.nn.Module
        Codes (M, n, H) to reconstructions (M, n, D).

    Examples
    --------
    >>> import torch
    >>> from modae.deep.networks import ModularAutoencoderNetwork
    >>> network = ModularAutoencoderNetwork(20, n_modules=5, n_components=3, hidden_layer_sizes=(8,))
    >>> rows = torch.zeros(7, 20)
    >>> tuple(network.encoder(rows).shape), tuple(network(rows).shape)
    ((5, 7, 3), (5, 7, 20))
    """

    def __init__(
        self,
        n_features: int,
        n_modules: int,
        n_components: int,
        hidden_layer_sizes: Sequence[int] = (),
        activation: Activation = "relu",
        equal_start: bool = False,
        dropout: float = 0.0,
        encoder: Callable[..., nn.Module] | None = None,
        decoder: Callable[..., nn.Module] | None = None,
    ) -> None:
        super().__init__()
        if (encoder is None) != (decoder is None):
            raise ValueError("encoder and decoder must be given both, or none of them.")
        hidden = checked_sizes(hidden_layer_sizes) if encoder is None else ()
        widths = [n_features, *hidden, n_components]
        settings = activation, n_modules, equal_start, dropout
        self.encoder = build_members("encoder", encoder, widths, *settings)
        self.decoder = build_members("decoder", decoder, widths[::-1], *settings)

    def forward(self, x: Tensor) -> Tensor:
        """Rows (n, D) to reconstructions (M, n, D)."""
        return self.decoder(self.encoder(x))


class ModularRegressionNetwork(nn.Module):
    """M networks D - hidden - T with a linear top layer, computed together.

    The Modular Regression Network of the paper's appendix. For a classifier, the T outputs are logits.

    Parameters
    ----------
    n_features : int
    n_outputs : int
    n_modules : int
    hidden_layer_sizes : tuple of int, default=(64,)
    activation : str or callable, default="relu"
        After each hidden layer, see :func:`make_activation`.
    body : {"separate", "shared", "adapters"}, default="separate"
        What modules have in common: nothing; all hidden layers, so that they differ only in their top
        layer; or the weights of all hidden layers, which each of them scales, see
        :class:`modae.deep.layers.AdapterLayer`.
    equal_start : bool, default=False
        Start all modules from the same numbers.
    dropout : float, default=0.0
        Part of the hidden units that is left out in training.
    module : callable, optional
        A user's own architecture in place of hidden layers: a class or function, called as
        ``module(n_features, n_outputs)``, that returns a new ``torch.nn.Module``, see
        :class:`modae.deep.copies.Copies`, and :class:`modae.deep.copies.OneForAll` for a shared body.
    n_missing : int, default=0
        Columns after the features which say what is missing.
    embedding : {None, "periodic"}, default=None
        What columns pass through first: :class:`modae.deep.layers.PeriodicEmbedding`.

    Examples
    --------
    >>> import torch
    >>> from modae.deep.networks import ModularRegressionNetwork
    >>> network = ModularRegressionNetwork(4, n_outputs=2, n_modules=3, body="adapters")
    >>> tuple(network(torch.zeros(5, 4)).shape)
    (3, 5, 2)
    """

    def __init__(
        self,
        n_features: int,
        n_outputs: int,
        n_modules: int,
        hidden_layer_sizes: Sequence[int] = (64,),
        activation: Activation = "relu",
        body: str = "separate",
        equal_start: bool = False,
        dropout: float = 0.0,
        module: Callable[..., nn.Module] | None = None,
        n_missing: int = 0,
        embedding: str | None = None,
    ) -> None:
        super().__init__()
        check_choice("body", body, ("separate", "shared", "adapters"))
        check_choice("embedding", embedding, (None, "periodic"))
        hidden = checked_sizes(hidden_layer_sizes) if module is None else ()
        widths = [n_features + n_missing, *hidden, n_outputs]
        n_shared = len(hidden) if body == "shared" else 0
        self.body = nn.Sequential()  # without layers it returns what it is given
        if embedding is not None:
            self.body.append(PeriodicEmbedding(widths[0]))
            widths[0] *= PeriodicEmbedding.width
        for pair in pairwise(widths[: n_shared + 1]):
            self.body.extend([nn.Linear(*pair), make_activation(activation)])
            self.body.extend([Dropout(dropout)] if dropout else [])
        settings = activation, n_modules, equal_start, dropout, body
        self.members = build_members("module", module, widths[n_shared:], *settings)

    def forward(self, x: Tensor) -> Tensor:
        """Rows (n, D) to the outputs of each module, (M, n, T)."""
        return self.members(self.body(x))


#: The names by which trained models know their network.
NETWORKS = {"autoencoder": ModularAutoencoderNetwork, "regression": ModularRegressionNetwork}


def build_members(
    name: str,
    factory: Callable[..., nn.Module] | None,
    widths: Sequence[int],
    activation: Activation,
    n_modules: int,
    equal_start: bool,
    dropout: float,
    body: str = "separate",
) -> nn.Module:
    """All members as one network: layers with an activation between them, or copies of a user's module.

    Parameters
    ----------
    name : str
        What messages call the factory.
    factory : callable or None
        Makes a user's module, see :class:`modae.deep.copies.Copies`; None for our own layers.
    widths : sequence of int
        Number of inputs, sizes of the hidden layers, number of outputs.
    activation, n_modules, equal_start, dropout
        See :class:`ModularAutoencoderNetwork`.
    body : str, default="separate"
        See :class:`ModularRegressionNetwork`.

    Returns
    -------
    members : torch.nn.Module
        From rows (n, n_inputs) for all members, or rows of each (M, n, n_inputs), to outputs
        (M, n, n_outputs).
    """
    if factory is not None:
        if body == "separate":
            return Copies(name, factory, widths[0], widths[-1], n_modules, equal_start)
        scaled = body == "adapters"
        return OneForAll(name, factory, widths[0], widths[-1], n_modules, scaled, equal_start)
    layers: list[nn.Module] = []
    for place, pair in enumerate(pairwise(widths[:-1])):
        if body == "adapters":
            layers.append(AdapterLayer(n_modules, *pair, random_signs=place == 0 and not equal_start))
        else:
            layers.append(MemberLayer(n_modules, *pair, equal_start))
        layers.append(make_activation(activation))
        layers += [Dropout(dropout)] if dropout else []
    make_activation(activation)  # a wrong one is refused also where no hidden layer needs it
    return nn.Sequential(*layers, MemberLayer(n_modules, widths[-2], widths[-1], equal_start))


def checked_sizes(hidden_layer_sizes: Any) -> Sequence[int]:
    """Sizes of hidden layers, in a sequence of positive integers."""
    if isinstance(hidden_layer_sizes, str) or not isinstance(hidden_layer_sizes, Sequence):
        raise ValueError(
            "hidden_layer_sizes must be a tuple of integers, such as (64,) or () for no hidden layer, "
            f"got {hidden_layer_sizes!r}."
        )
    for size in hidden_layer_sizes:
        check_count("each of hidden_layer_sizes", size)
    return hidden_layer_sizes


def make_activation(activation: Activation) -> nn.Module:
    """A new activation module.

    One module serves all members of an ensemble at once, so it must work element by element (or along
    the last axis) and have no parameters: members would share them, and no longer be separate.

    Parameters
    ----------
    activation : str or callable
        A name in :data:`ACTIVATIONS`, or a factory: a class or function that gives a ``torch.nn.Module``
        when called without arguments.

    Returns
    -------
    module : torch.nn.Module

    Examples
    --------
    >>> from functools import partial
    >>> from torch import nn
    >>> from modae.deep.networks import make_activation
    >>> make_activation("tanh"), make_activation(nn.Hardswish), make_activation(partial(nn.ELU, 0.5))
    (Tanh(), Hardswish(), ELU(alpha=0.5))
    """
    if isinstance(activation, nn.Module):
        raise ValueError(
            "activation must be a class or function that returns a torch.nn.Module, got "
            f"{activation!r}. Give the class {type(activation).__name__} or a function that makes it."
        )
    if not callable(activation):
        other = "a class or function without arguments that returns a torch.nn.Module"
        check_name("activation", activation, ACTIVATIONS, other)
        return ACTIVATIONS[activation]()
    module = activation()
    if not isinstance(module, nn.Module):
        raise ValueError(
            f"activation must return a torch.nn.Module, got {type(module).__name__}: give a class such "
            "as torch.nn.ReLU."
        )
    if [*module.parameters(), *module.buffers()]:
        raise ValueError(
            f"activation must have no parameters or buffers, as all members would share them, got "
            f"{module!r}. Write such an encoder and decoder as modules of your own."
        )
    rows, changed = torch.zeros(2, 3, 4), torch.eye(1, 24).view(2, 3, 4)
    module.eval()
    with torch.no_grad():
        before, after = module(rows), module(changed)
    module.train()
    if before.shape != rows.shape:
        raise ValueError(
            f"activation must keep the shape of its input, got {module!r}, which makes "
            f"{tuple(before.shape)} of {tuple(rows.shape)}."
        )
    # A change of the first row of the first module must reach no other: softmax over modules would.
    if not torch.equal(before.flatten(0, 1)[1:], after.flatten(0, 1)[1:]):
        raise ValueError(
            f"activation must treat every row of every module on its own, got {module!r}, which mixes "
            "them: let it work along the last axis (dim=-1)."
        )
    return module
