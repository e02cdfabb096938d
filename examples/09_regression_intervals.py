"""
Regression with intervals
=========================

``calibrate`` holds out some training rows and takes the width of the prediction intervals from their
errors. Whatever the model, the share of new rows that you asked for is then inside the intervals, on
average over rows like those of the training.

Takes about 10 seconds.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsRegressor

from modae import LinearModularAutoencoder, ModularRegressor
from modae.display.style import BLUE, GREY, RED, open_frame

X, y = load_diabetes(return_X_y=True)
COVERAGE = 0.9

# %%
# Two kinds of intervals
# ----------------------
# Ours: a mean of neighbours on ten modules, calibrated. For comparison: gradient boosting for the 5 %
# and the 95 % quantile, which aims at the same coverage but has no held-out rows to check it.


def modular_interval(A, a, B):
    """Calibrated on a third of the training rows; small data need that many for a share of 90 %."""
    extractor = LinearModularAutoencoder(10, 3, diversity=0.5)
    model = ModularRegressor(extractor, KNeighborsRegressor(15), calibrate=0.33, random_state=0)
    model.fit(A, a)
    return model.predict(B), model.predict_interval(B, coverage=COVERAGE)


def boosted_interval(A, a, B):
    """Two quantiles, each a model of its own, and the median for the prediction."""
    quantiles = ((1 - COVERAGE) / 2, 0.5, (1 + COVERAGE) / 2)
    options = {"loss": "quantile", "n_estimators": 60, "max_depth": 2, "random_state": 0}
    models = [GradientBoostingRegressor(alpha=q, **options).fit(A, a) for q in quantiles]
    low, middle, high = (model.predict(B) for model in models)
    return middle, np.column_stack([low, high])


# %%
# Coverage on new rows
# --------------------
# One split says little, so ten are drawn. Look at the share inside together with the width: wide
# intervals are easy to be inside of.

methods = {"modules, calibrated": modular_interval, "boosted quantiles": boosted_interval}
for name, method in methods.items():
    shares, widths, errors = [], [], []
    for seed in range(10):
        A, B, a, b = train_test_split(X, y, test_size=0.4, random_state=seed)
        prediction, intervals = method(A, a, B)
        low, high = intervals.T
        shares.append(np.mean((low <= b) & (b <= high)))
        widths.append(np.mean(high - low))
        errors.append(np.mean(np.abs(prediction - b)))
    spread = np.std(shares, ddof=1) / np.sqrt(len(shares))
    print(f"{name:20s} promised {COVERAGE:.0%}, inside {np.mean(shares):.1%} +- {spread:.1%},", end=" ")
    print(f"mean width {np.mean(widths):.0f}, mean error {np.mean(errors):.1f}")

# %%
# What to look at: the misses should be few, and on both sides. These intervals have one width for all
# rows: they are right on average, not for each kind of row. If the errors of your model grow with the
# target, predict its logarithm.

A, B, a, b = train_test_split(X, y, test_size=0.4, random_state=0)
prediction, intervals = modular_interval(A, a, B)
order = np.argsort(prediction)
low, high = intervals[order].T
inside = (low <= b[order]) & (b[order] <= high)
places = np.arange(len(b))
figure, ax = plt.subplots(figsize=(6.5, 4), layout="constrained")
ax.fill_between(places, low, high, color=BLUE, alpha=0.2, linewidth=0, label=f"{COVERAGE:.0%} interval")
ax.plot(places, prediction[order], color=BLUE, label="prediction")
ax.plot(places[inside], b[order][inside], "o", color=GREY, markersize=3.5, label="inside")
ax.plot(places[~inside], b[order][~inside], "X", color=RED, markersize=7, label="outside")
ax.set(xlabel="held-out rows, by their prediction", ylabel="progression of the disease")
ax.legend(frameon=False, ncols=2, fontsize="small")
open_frame(ax)
