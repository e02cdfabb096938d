"""Extractors and members whose every answer a test can dictate."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin

from modae import LinearModularAutoencoder


class ColumnModules(TransformerMixin, BaseEstimator):
    """Module i sees columns i * width to (i + 1) * width: so X says what each member gets."""

    def __init__(self, width=1):
        self.width = width

    def fit(self, X, y=None):
        self.n_features_in_ = np.shape(X)[1]
        return self

    def transform(self, X):
        return np.asarray(X)

    def transform_modules(self, X):
        X = np.asarray(X)
        return [X[:, start : start + self.width] for start in range(0, X.shape[1], self.width)]


class Voter(ClassifierMixin, BaseEstimator):
    """Votes for the class whose index is in its first column; it has no probabilities."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return self.classes_[np.asarray(X)[:, 0].astype(int)]


class OpenVoter(Voter):
    """The further columns are its probabilities, whatever it votes for."""

    def predict_proba(self, X):
        return np.asarray(X)[:, 1:]


class Failing(ClassifierMixin, BaseEstimator):
    """Fails where it is told to."""

    def __init__(self, where="fit"):
        self.where = where

    def fit(self, X, y, sample_weight=None):
        if self.where == "fit":
            raise ZeroDivisionError("no luck today")
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        raise FloatingPointError("not now")


class CountingModules(LinearModularAutoencoder):
    """Counts the fits of all instances, because clones and copies fit too."""

    fits = 0

    def fit(self, X, y=None, sample_weight=None):
        type(self).fits += 1
        return super().fit(X, y, sample_weight)
