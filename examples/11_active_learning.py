"""
Active learning
===============

Choose which rows to label next: those on which the members of an ensemble differ. Twenty lines based on
``uncertainty`` and ``disagreement`` are enough. The modules are fitted once, to all rows, because they
need no labels.

Takes about 15 seconds.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split

from modae import LinearModularAutoencoder, ModularClassifier
from modae.display.style import PALETTE, open_frame

X, y = load_digits(return_X_y=True)
rng = np.random.default_rng(0)

# %%
# How rows are chosen
# -------------------
# *BALD* is the epistemic part of the uncertainty: what the members know together about which of them is
# right. *Disagreement* counts labels. *Margin* asks where the two best classes are close.


def margin(model, rows):
    """Minus the lead of the best class."""
    ranked = np.sort(model.predict_proba(rows), axis=1)
    return ranked[:, -2] - ranked[:, -1]


QUERIES = {
    "random": lambda model, rows: rng.random(len(rows)),
    "disagreement": lambda model, rows: model.disagreement(rows),
    "BALD": lambda model, rows: model.uncertainty(rows)[:, 2],
    "margin": margin,
}


def accuracies(query, A, a, B, b, seed, n_labels=200, batch=10):
    """Accuracy after each ten labels: two rows of each class, then what the committee asks for."""
    modules = FrozenEstimator(LinearModularAutoencoder(random_state=0).fit(A))
    order = np.random.default_rng(seed).permutation(len(A))
    known = np.concatenate([order[a[order] == label][:2] for label in np.unique(a)])
    found = []
    while len(known) <= n_labels:
        model = ModularClassifier(modules, random_state=0).fit(A[known], a[known])
        found.append(model.score(B, b))
        unknown = np.setdiff1d(np.arange(len(A)), known)
        wanted = np.argsort(-query(model, A[unknown]), kind="stable")[:batch]
        known = np.concatenate([known, unknown[wanted]])
    return found


# %%
# Comparison
# ----------
# The same pool, the same first rows, three random halves of the digits.

figure, ax = plt.subplots(figsize=(6.5, 4), layout="constrained")
for place, (name, query) in enumerate(QUERIES.items()):
    curves = []
    for seed in range(3):
        A, B, a, b = train_test_split(X, y, test_size=0.5, random_state=seed, stratify=y)
        curves.append(accuracies(query, A, a, B, b, seed))
    mean = np.mean(curves, axis=0)
    labels = 20 + 10 * np.arange(len(mean))
    print(f"{name:14s} with 100 labels {mean[8]:.1%}, with 200 labels {mean[-1]:.1%}")
    ax.plot(labels, mean, color=PALETTE[place], label=name)
ax.set(xlabel="labels", ylabel="accuracy on new rows")
ax.legend(frameon=False, loc="lower right")
open_frame(ax)

# %%
# What to look at: how many labels each needs for the same accuracy. Where classes overlap, margin and
# total uncertainty keep asking about rows that nobody can tell; the epistemic part does not, if members
# have graded probabilities. On some data random rows are as good: compare on labels that you have.
