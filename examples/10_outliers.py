"""
Outlier detection
=================

Modules fitted to usual rows reconstruct unusual ones badly. ``score_samples`` is minus the loss of each
row, so the rows with the lowest scores are the most unusual. Two tests: pixels that we damage, and
digits of other classes.

Takes about 5 seconds.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest
from sklearn.metrics import RocCurveDisplay, roc_auc_score

from modae import LinearModularAutoencoder
from modae.display.style import PALETTE, open_frame

X, y = load_digits(return_X_y=True)
rng = np.random.default_rng(0)


def pca_scores(size):
    """Minus the squared error of reconstruction by so many principal components."""

    def scores(A, B):
        pca = PCA(size, random_state=0).fit(A)
        return -np.sum((B - pca.inverse_transform(pca.transform(B))) ** 2, axis=1)

    return scores


def modular_scores(A, B):
    """Ten modules of five components."""
    return LinearModularAutoencoder(10, 5, diversity=0.7, random_state=0).fit(A).score_samples(B)


METHODS = {
    "modules 10 x 5": modular_scores,
    "PCA, 5": pca_scores(5),
    "PCA, 20": pca_scores(20),
    "isolation forest": lambda A, B: IsolationForest(random_state=0).fit(A).score_samples(B),
}
LINES = ("-", "--", ":", "-.")

# %%
# Damaged pixels
# --------------
# All ten digits are usual. In 100 of the new rows two pixels are turned from black to white or back.

order = rng.permutation(len(X))
usual, new = X[order[:1000]], X[order[1000:]].copy()
for row in new[:100]:
    broken = rng.choice(64, size=2, replace=False)
    row[broken] = 16 - row[broken]
planted = usual, new, np.arange(len(new)) < 100

# %%
# Digits of other classes
# -----------------------
# Only eights are usual, and other digits are among the new rows.

eights, others = X[y == 8], X[y != 8][::10]
new = np.vstack([others, eights[100:]])
real = eights[:100], new, np.arange(len(new)) < len(others)

# %%
# Comparison
# ----------
# The area under the curve is the chance that an outlier scores below a usual row. No method is told
# which rows are unusual. For your data, tune by rows that you know to be unusual, if you have any; a
# larger ``diversity`` lets the modules see finer detail, as more components do for PCA.

figure, axes = plt.subplots(1, 2, figsize=(7.6, 4), layout="constrained")
tasks = {"damaged pixels": planted, "other classes": real}
for ax, (title, (A, B, odd)) in zip(axes, tasks.items(), strict=True):
    print(f"{title}: {odd.sum()} of {len(odd)} new rows")
    for place, (name, method) in enumerate(METHODS.items()):
        scores = method(A, B)
        print(f"    {name:18s} area {roc_auc_score(odd, -scores):.3f}")
        style = {"color": PALETTE[place], "linestyle": LINES[place], "linewidth": 2}
        RocCurveDisplay.from_predictions(odd, -scores, name=name, curve_kwargs=style, ax=ax)
    ax.set(title=title, xlabel="share of usual rows flagged", ylabel="share of outliers found")
    ax.legend(loc="lower right", frameon=False, fontsize="small")
    open_frame(ax)

# %%
# What to look at: the left end of the curves, because only few rows can be checked by hand. A plain PCA
# with the right number of components is better here: compare before you decide.
