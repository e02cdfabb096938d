"""Modular autoencoders and regression networks of any depth, on PyTorch and skorch.

Needs the extra ``deep``: ``pip install "modae[deep]"``. The files, in the order in which they build on
each other:

* ``loss``, ``activations``, ``networks``, ``copies``: modules as tensors, and what they minimise;
* ``options``, ``randomness``, ``batches``: what to train with, on what, in which order;
* ``callbacks``, ``net``, ``trained``, ``training``: the loop, and its state as plain arrays;
* ``base``, ``coding``, ``autoencoder``, ``supervised``, ``regressor``, ``classifier``: the estimators.
"""

try:
    import skorch  # noqa: F401
    import torch  # noqa: F401
except ImportError as missing:
    raise ImportError('modae.deep needs PyTorch and skorch: pip install "modae[deep]"') from missing

from modae.deep.autoencoder import ModularAutoencoder
from modae.deep.callbacks import DivergedError
from modae.deep.classifier import ModularNetworkClassifier
from modae.deep.loss import modular_loss
from modae.deep.regressor import ModularNetworkRegressor

__all__ = [
    "DivergedError",
    "ModularAutoencoder",
    "ModularNetworkClassifier",
    "ModularNetworkRegressor",
    "modular_loss",
]
