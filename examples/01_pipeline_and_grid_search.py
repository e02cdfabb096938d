"""
Pipeline and grid search
========================

An ensemble on modules is a scikit-learn estimator like any other: it goes into a ``Pipeline``, and
``GridSearchCV`` tunes the diversity together with the parameters of its members. The data are 30
measurements of 569 tumours, in units that differ by factors of a thousand, so they are scaled first.

Takes about 15 seconds.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from modae import LinearModularAutoencoder, ModularClassifier
from modae.display.style import GREY, PALETTE, open_frame

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
A, B, a, b = train_test_split(X, y, test_size=0.4, stratify=y, random_state=0)

# %%
# The grid
# --------
# Names of parameters nest: step, then part of the ensemble, then parameter. For your data, keep
# ``n_components`` clearly below the number of columns, or the modules have no room to differ.

extractor = LinearModularAutoencoder(n_modules=10, n_components=4)
vote = ModularClassifier(extractor, KNeighborsClassifier(), random_state=0)
pipeline = make_pipeline(StandardScaler(), vote).set_output(transform="pandas")
diversities, neighbours = [0.2, 0.4, 0.6, 0.8, 0.95], [1, 5, 15]
grid = {
    "modularclassifier__estimator__n_neighbors": neighbours,
    "modularclassifier__extractor__diversity": diversities,
}
search = GridSearchCV(pipeline, grid, cv=5).fit(A, a)
for name, value in search.best_params_.items():
    print(f"{name} = {value}")

# %%
# Column names are kept and checked
# ---------------------------------
# With ``set_output`` the scaled table has names too, so the extractor knows them. A table whose columns
# are in another order is refused.

scaler, fitted = search.best_estimator_
print("the extractor knows:", ", ".join(fitted.extractor_.feature_names_in_[:3]), "...")
print("a module's features are:", ", ".join(fitted.extractor_.get_feature_names_out()[:4]))
try:
    search.predict(B[B.columns[::-1]])
except ValueError as error:
    print("refused:", str(error).splitlines()[0])

# %%
# Comparison
# ----------
# Both other methods get a search of their own. Try a linear model first: on these data it is hard to
# beat.

sizes = {"pca__n_components": [2, 4, 8, 16], "kneighborsclassifier__n_neighbors": neighbours}
pca = make_pipeline(StandardScaler(), PCA(random_state=0), KNeighborsClassifier())
costs = {"logisticregression__C": [0.01, 0.1, 1]}
logistic = make_pipeline(StandardScaler(), LogisticRegression())
searches = {
    "modular vote": search,
    "PCA, neighbours": GridSearchCV(pca, sizes, cv=5).fit(A, a),
    "logistic regression": GridSearchCV(logistic, costs, cv=5).fit(A, a),
}
for name, each in searches.items():
    wrong = (each.predict(B) != b).sum()
    print(f"{name:20s} {wrong:2d} of {len(b)} wrong; in cross-validation {1 - each.best_score_:.1%}")

# %%
# What to look at: is the best diversity inside the grid, and do its neighbours agree? A lone peak is
# luck. The grey lines are the best cross-validated errors of the other methods.

figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
errors = 100 - 100 * search.cv_results_["mean_test_score"].reshape(len(neighbours), -1)
for k, row, colour, marker in zip(neighbours, errors, PALETTE, "osD", strict=False):
    ax.plot(diversities, row, marker=marker, color=colour, label=f"vote, {k} neighbours")
for (name, each), line in zip(list(searches.items())[1:], ("--", ":"), strict=True):
    ax.axhline(100 - 100 * each.best_score_, color=GREY, linestyle=line, label=name)
ax.set(xlabel="diversity", ylabel="error in cross-validation (%)")
ax.legend(frameon=False, fontsize="small")
open_frame(ax)
