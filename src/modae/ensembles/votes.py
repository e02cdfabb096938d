"""Votes, how ties are broken, and decision functions as probabilities."""

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import softmax
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC, NuSVC

from modae.utils.arrays import Array, Indices

#: Counts held at a time: rows are counted in blocks, so many classes do not fill the memory.
CELLS = 1 << 20

#: Shares and mean probabilities closer than this tie: the order of summation makes such differences.
SAME = 1e-12

#: What decides ties: rows -> a number for each class, (rows, n_classes).
Scores = Callable[[Indices], Array]


def vote_shares(votes: Indices, n_classes: int) -> Array:
    """Share of the members that vote for each class: votes (M, n) -> (n, n_classes).

    Examples
    --------
    >>> import numpy as np
    >>> from modae.ensembles.votes import vote_shares
    >>> vote_shares(np.array([[0, 1], [0, 2], [1, 2], [0, 2]]), 3).tolist()
    [[0.75, 0.25, 0.0], [0.0, 0.25, 0.75]]
    """
    n_members, n_rows = votes.shape
    shares = np.empty((n_rows, n_classes))
    height = max(1, CELLS // n_classes)
    for start in range(0, n_rows, height):
        block = votes[:, start : start + height]
        cells = block + n_classes * np.arange(block.shape[1])
        counts = np.bincount(cells.ravel(), minlength=n_classes * block.shape[1])
        shares[start : start + height] = counts.reshape(-1, n_classes) / n_members
    return shares


def decide(shares: Array, breakers: Iterable[Scores] = ()) -> Indices:
    """The class with the largest share in each row; ties go through ``breakers``, then to the first.

    A breaker sees only rows that are still tied, and can only choose among the classes that tie.

    Examples
    --------
    >>> import numpy as np
    >>> from modae.ensembles.votes import decide
    >>> shares = np.array([[0.2, 0.4, 0.4], [0.5, 0.5, 0.0]])
    >>> decide(shares).tolist()
    [1, 0]
    >>> decide(shares, [lambda rows: np.tile([0.3, 0.2, 0.5], (len(rows), 1))]).tolist()
    [2, 0]
    """
    winners = shares >= shares.max(axis=1, keepdims=True) - SAME
    for scores in breakers:
        tied = np.flatnonzero(winners.sum(axis=1) > 1)
        if not len(tied):
            break
        values = np.where(winners[tied], scores(tied), -np.inf)
        winners[tied] = values >= values.max(axis=1, keepdims=True) - SAME
    return winners.argmax(axis=1)


def for_all_classes(
    answers: Sequence[Array], members: Sequence[Any], classes: np.ndarray
) -> list[Array]:
    """Probabilities with a column for each class; a member may know only some of them."""
    whole = []
    for member, answer in zip(members, answers, strict=True):
        if len(member.classes_) < len(classes):
            answer, given = np.zeros((len(answer), len(classes))), answer
            answer[:, np.searchsorted(classes, member.classes_)] = given
        whole.append(answer)
    return whole


def softmax_shares(scores: Array, temperature: float) -> Array:
    """Decision functions, (n,) for two classes or (n, n_classes), as probabilities of the classes."""
    columns = np.column_stack([np.zeros(len(scores)), scores]) if scores.ndim == 1 else scores
    return softmax(columns / temperature, axis=1)


def by_pairs(member: Any) -> Any:
    """An SVM that knows more than two classes as one that tells the margin between each two of them.

    Its usual decision function counts the pairs that a class wins: the same number for every winner,
    however narrow. See :func:`smallest_margins`.
    """
    if isinstance(member, Pipeline):
        (name, last), made = member.steps[-1], copy(member)
        made.steps = [*member.steps[:-1], (name, by_pairs(last))]
        return member if made.steps == member.steps else made
    if not isinstance(member, (SVC, NuSVC)) or len(member.classes_) == 2:
        return member
    return copy(member).set_params(decision_function_shape="ovo")


def smallest_margins(pairs: Array, n_classes: int) -> Array:
    """The margin of each class over its strongest rival, from those of all pairs of classes.

    A class that wins against every other, the winner of the usual vote, is the only one above zero.

    Examples
    --------
    >>> import numpy as np
    >>> from modae.ensembles.votes import smallest_margins
    >>> smallest_margins(np.array([[1.5, -0.5, -2.0]]), 3)  # 0 against 1, 0 against 2, 1 against 2
    array([[-0.5, -2. ,  0.5]])
    """
    least = np.full((n_classes, len(pairs)), np.inf)
    for one, other, margin in zip(*np.triu_indices(n_classes, k=1), pairs.T, strict=True):
        np.minimum(least[one], margin, out=least[one])
        np.minimum(least[other], -margin, out=least[other])
    return least.T


def best_temperature(scores: Array, labels: Indices, weights: Array | None) -> float:
    """The temperature with the smallest log loss, for decision functions of rows held out."""

    def loss(log_temperature: float) -> float:
        shares = softmax_shares(scores, np.exp(log_temperature))[np.arange(len(labels)), labels]
        return -float(np.average(np.log(np.maximum(shares, 1e-15)), weights=weights))

    return float(np.exp(minimize_scalar(loss, bounds=(-6.0, 6.0), method="bounded").x))


def row_disagreement(shares: Array, n_members: int) -> Array:
    """Chance that two different members, drawn at random, vote differently on a row, (n,)."""
    if n_members == 1:
        return np.zeros(len(shares))
    agreement = (np.square(shares).sum(axis=1) * n_members - 1.0) / (n_members - 1)
    return np.clip(1.0 - agreement, 0.0, 1.0)


def row_entropy(shares: Array) -> Array:
    """Entropy of each row in nats; the same as scipy's ``entr`` in a fraction of the time."""
    logs = np.maximum(shares, 1e-300)
    entropies: Array = np.einsum("nc,nc->n", shares, np.log(logs, out=logs))
    return np.abs(entropies)  # not -0.0


def split_uncertainty(members: Sequence[Array]) -> Array:
    r"""Total, aleatoric and epistemic uncertainty of each row, in nats, (n, 3).

    From the probabilities :math:`p_i(x)` of M members: the entropy of their mean, the mean of their
    entropies, and the difference, which is the mutual information of the class and the member (BALD)
    and never negative.

    Examples
    --------
    >>> import numpy as np
    >>> from modae.ensembles.votes import split_uncertainty
    >>> unsure = np.full((2, 1, 2), 0.5)  # two members that cannot tell
    >>> against = np.array([[[1.0, 0.0]], [[0.0, 1.0]]])  # two that are sure, each of another class
    >>> split_uncertainty(np.concatenate([unsure, against], axis=1)).round(2)
    array([[0.69, 0.69, 0.  ],
           [0.69, 0.  , 0.69]])
    """
    mean: Any = sum(members) / len(members)
    total = row_entropy(mean)
    aleatoric = sum(map(row_entropy, members)) / len(members)
    # Round-off can make the whole less than its part.
    aleatoric = np.minimum(aleatoric, total)
    return np.column_stack([total, aleatoric, total - aleatoric])


VOTINGS = ("auto", "hard", "soft", "decision")

#: What each ``tie_break`` asks in turn; the first class in sorted order is the last word.
TIE_BREAKS = {"probability": ("probability", "prior"), "prior": ("prior",), "first": ()}


#: As many rows of a rare class stay in a sample, if it has them: one for each fold.
FEWEST_OF_A_CLASS = 5


def stratified(labels: np.ndarray, most: int, seed: int) -> np.ndarray:
    """Random places, in order: the same share of each class, and at least a few rows of rare ones."""
    _, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    rng = np.random.default_rng(seed)
    order = np.lexsort((rng.random(len(codes)), codes))  # classes one after the other, each shuffled
    ranks = np.arange(len(codes)) - np.repeat(np.cumsum(counts) - counts, counts)
    shares = (ranks + rng.random(len(codes))) / np.repeat(counts, counts)
    first = np.lexsort((shares, ranks >= FEWEST_OF_A_CLASS))[:most]
    return np.sort(order[first])
