"""The rivals of ``benchmarks.networks``: TabM, five MLPs, gradient boosting and a tuned SVM."""

from __future__ import annotations

import copy
from typing import Any, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer, StandardScaler
from torch.nn import functional

from benchmarks.field_rivals import classifiers

TABM, MLPS, BOOSTING, SVM = "TabM", "five MLPs", "gradient boosting", "RBF-SVM"
SMALL_TABM = "TabM, 2 x 128"


class TabMClassifier(ClassifierMixin, BaseEstimator):
    """TabM of the package ``tabm``, with the sizes of its ``make`` unless told otherwise.

    Trained in the usual way: inputs by quantiles, to a normal distribution, with a little noise
    while the quantiles are found; AdamW with rate 2e-3 and decay 3e-4, batches of 256, gradients of norm
    1 at most, the mean loss of the k members, patience 16 on 15 % of the rows by the log loss of their
    mean.
    """

    def __init__(
        self,
        n_blocks: int | None = None,
        d_block: int | None = None,
        max_epochs: int = 500,
        seed: int = 0,
    ) -> None:
        self.n_blocks, self.d_block, self.max_epochs, self.seed = n_blocks, d_block, max_epochs, seed

    def fit(self, X: np.ndarray, y: np.ndarray) -> Self:
        """Train until patience runs out; keep the weights of the best epoch."""
        from tabm import TabM

        self.classes_, y = np.unique(y, return_inverse=True)
        train, held_out = train_test_split(
            np.arange(len(y)), test_size=0.15, stratify=y, random_state=self.seed
        )
        noise = (
            1e-3 * X[train].std(axis=0) * np.random.default_rng(self.seed).normal(size=X[train].shape)
        )
        n_quantiles = max(min(len(train) // 30, 1000), 10)
        self.inputs_ = QuantileTransformer(
            n_quantiles=n_quantiles, output_distribution="normal", random_state=self.seed
        ).fit(X[train] + noise)
        rows = self._rows(X)
        labels = torch.as_tensor(y)
        generator = torch.Generator().manual_seed(self.seed)
        with torch.random.fork_rng():
            torch.manual_seed(self.seed)
            sizes = {"n_blocks": self.n_blocks, "d_block": self.d_block}
            given = {name: size for name, size in sizes.items() if size is not None}
            network = TabM.make(n_num_features=rows.shape[1], d_out=len(self.classes_), **given)
            optimizer = torch.optim.AdamW(network.parameters(), lr=2e-3, weight_decay=3e-4)
            least, best, best_epoch = np.inf, None, 0
            for epoch in range(self.max_epochs):
                network.train()
                order = torch.as_tensor(train)[torch.randperm(len(train), generator=generator)]
                for batch in order.split(256):
                    optimizer.zero_grad()
                    logits = network(rows[batch])
                    target = labels[batch].repeat_interleave(logits.shape[1])
                    functional.cross_entropy(logits.flatten(0, 1), target).backward()
                    torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
                    optimizer.step()
                network.eval()
                chances = self._chances(network, rows[held_out])
                loss = -np.log(np.maximum(chances[np.arange(len(held_out)), y[held_out]], 1e-12)).mean()
                if loss < least:
                    least, best, best_epoch = loss, copy.deepcopy(network.state_dict()), epoch
                if epoch - best_epoch >= 16:
                    break
            network.load_state_dict(best)
        self.network_, self.n_epochs_ = network.eval(), epoch + 1
        return self

    def _rows(self, X: np.ndarray) -> torch.Tensor:
        return torch.as_tensor(self.inputs_.transform(X), dtype=torch.float32)

    def _chances(self, network: Any, rows: torch.Tensor) -> np.ndarray:
        with torch.no_grad():
            return network(rows).softmax(-1).mean(1).double().numpy()

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Mean probabilities of the k members."""
        return self._chances(self.network_, self._rows(X))


class MeanOfMLPs(ClassifierMixin, BaseEstimator):
    """Networks of scikit-learn on standardised columns, each with its own validation rows and seed."""

    def __init__(self, n_members: int = 5, seed: int = 0) -> None:
        self.n_members, self.seed = n_members, seed

    def fit(self, X: np.ndarray, y: np.ndarray) -> Self:
        """Fit each with early stopping."""
        self.members_ = [
            make_pipeline(
                StandardScaler(),
                MLPClassifier(
                    (128, 128),
                    early_stopping=True,
                    validation_fraction=0.15,
                    n_iter_no_change=20,
                    max_iter=500,
                    random_state=self.seed + k,
                ),
            ).fit(X, y)
            for k in range(self.n_members)
        ]
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """The mean of their probabilities."""
        return np.mean([member.predict_proba(X) for member in self.members_], axis=0)


def network_rivals(seed: int) -> dict[str, Any]:
    """Name -> a classifier."""
    others = classifiers(seed)
    return {
        TABM: TabMClassifier(seed=seed),
        SMALL_TABM: TabMClassifier(2, 128, seed=seed),
        MLPS: MeanOfMLPs(seed=seed),
        BOOSTING: others[BOOSTING],
        SVM: others[SVM],
    }
