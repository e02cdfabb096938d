"""
Images with convolutional modules
=================================

A module can be any network. Here each is a small convolutional autoencoder for images of 8 x 8 pixels,
and all are trained together with the modular loss. Needs ``pip install "modae[deep]"``.

Takes about 10 seconds.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn

from modae import LinearModularAutoencoder, ModularClassifier
from modae.deep import ModularAutoencoder
from modae.display import ReconstructionDisplay

X, y = load_digits(return_X_y=True)
A, B, a, b = train_test_split((X / 16).astype("float32"), y, test_size=0.5, stratify=y, random_state=0)

# %%
# One encoder, one decoder
# ------------------------
# Write functions that make *one* network each; modae makes the copies. Rows arrive flat, so the encoder
# begins with ``Unflatten`` and the decoder ends with ``Flatten``. For images of yours, change the sizes
# there, and add a layer with stride 2 each time that the side doubles.


def encoder(n_features, n_components):
    """1 x 8 x 8 pixels, 8 maps of 4 x 4, then the code."""
    return nn.Sequential(
        nn.Unflatten(-1, (1, 8, 8)),
        nn.Conv2d(1, 8, kernel_size=4, stride=2, padding=1),
        nn.ReLU(),
        nn.Flatten(-3),
        nn.Linear(8 * 4 * 4, n_components),
    )


def decoder(n_components, n_features):
    """The way back."""
    return nn.Sequential(
        nn.Linear(n_components, 8 * 4 * 4),
        nn.ReLU(),
        nn.Unflatten(-1, (8, 4, 4)),
        nn.ConvTranspose2d(8, 1, kernel_size=4, stride=2, padding=1),
        nn.Flatten(-3),
    )


# %%
# Train, vote, compare
# --------------------
# The same number of modules and of components for all. ``max_epochs`` is small, so that this page builds
# in seconds: train longer, with ``early_stopping=True``, when it matters.

training = {"max_epochs": 15, "learning_rate": 3e-3, "batch_size": 64, "random_state": 0}
extractors = {
    "linear": LinearModularAutoencoder(6, 6, diversity=0.5, random_state=0),
    "dense layers": ModularAutoencoder(6, 6, diversity=0.5, **training),
    "convolutions": ModularAutoencoder(
        6, 6, diversity=0.5, encoder=encoder, decoder=decoder, **training
    ),
}
votes = {name: ModularClassifier(each, random_state=0).fit(A, a) for name, each in extractors.items()}
print("modules         alone   vote   loss on new rows")
for name, vote in votes.items():
    alone, together = vote.member_scores(B, b).mean(), vote.score(B, b)
    print(f"{name:14s}  {alone:.3f}  {together:.3f}  {-vote.extractor_.score(B):.3f}")

# %%
# What to look at: the vote compared with its members, and with linear modules, which are solved exactly
# in a moment. On small images like these a network may not be worth its training time: see
# :doc:`the measurements </deep>`.
#
# Single modules give rough and different reconstructions. For squared errors their mean is never farther
# from the original than they are on average.

ReconstructionDisplay.from_estimator(votes["convolutions"], B, n_rows=4)
plt.show()
