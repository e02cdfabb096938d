"""Modular autoencoders and regression networks of any depth, on PyTorch.

Needs the extra ``deep``: ``pip install "modae[deep]"``. The files, in the order in which they build on
each other:

* ``loss``, ``layers``, ``copies``, ``networks``, ``shortcut``: modules as tensors and their loss;
* ``scaling``, ``model``: rows as tensors, the state of a training, and what a trained network says;
* ``training``: its parameters and the loop;
* ``base``, ``autoencoder``, ``supervised`` (and the regressor), ``classifier``: the estimators;
  ``layouts``: their files.

It may import from ``utils``, ``data``, ``files``, ``linear`` and ``ensembles``.
"""

try:
    import torch  # noqa: F401
except ImportError as missing:
    raise ImportError('modae.deep needs PyTorch: pip install "modae[deep]"') from missing

from modae.deep.autoencoder import ModularAutoencoder
from modae.deep.classifier import ModularNetworkClassifier
from modae.deep.loss import modular_loss
from modae.deep.regressor import ModularNetworkRegressor
from modae.deep.training import DivergedError

__all__ = [
    "DivergedError",
    "ModularAutoencoder",
    "ModularNetworkClassifier",
    "ModularNetworkRegressor",
    "modular_loss",
]
