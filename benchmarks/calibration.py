"""Log loss of votes of SVMs: ``python -m benchmarks.calibration``.

Ten modules, one RBF-SVM on each, out-of-fold probabilities of five folds. Decision functions through a
softmax at temperature 1, with the temperature that ``calibration="cv"`` finds, and shares of votes;
beside them one SVM on all columns with scikit-learn's ``CalibratedClassifierCV``.
"""

import warnings

from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from benchmarks.field_data import CLASSIFICATION
from benchmarks.field_rivals import ScaleIfNeeded
from modae import ModularClassifier

SETS = ("iris", "wine", "breast cancer", "vote", "digits", "waveform", "hypercube", "swiss roll")


def main():
    warnings.simplefilter("ignore")
    vote = ModularClassifier(estimator=SVC(), n_modules=10, random_state=0)
    models = {
        "temperature 1": vote,
        "calibration='cv'": clone(vote).set_params(calibration="cv"),
        "voting='hard'": clone(vote).set_params(voting="hard"),
        "CalibratedClassifierCV": CalibratedClassifierCV(SVC(), ensemble=False),
    }
    print(f"{'log loss':16}" + "".join(f"{name:>24}" for name in models))
    for name in SETS:
        X, y = CLASSIFICATION[name]()
        folds = StratifiedKFold(5, shuffle=True, random_state=0)
        losses = []
        for model in models.values():
            scaled = make_pipeline(ScaleIfNeeded(), model)
            shares = cross_val_predict(scaled, X, y, cv=folds, method="predict_proba")
            losses.append(log_loss(y, shares))
        print(f"{name:16}" + "".join(f"{loss:>24.3f}" for loss in losses), flush=True)


if __name__ == "__main__":
    main()
