r"""How differently the members of a classifier ensemble vote.

All measures take the votes (n_members, n_samples), as ``ModularClassifier.predict_members`` returns
them. Each measure of pairs comes twice: the matrix of all pairs, and its mean over the pairs of
different members. For two members let :math:`N^{11}` be the number of rows that both get right,
:math:`N^{00}` both wrong, :math:`N^{10}` and :math:`N^{01}` only the first or only the second right.
See Kuncheva and Whitaker, *Measures of diversity in classifier ensembles* (Machine Learning 51, 2003).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr

from modae.ensembles.votes import vote_shares
from modae.utils.arrays import Array


def disagreement_matrix(votes: Any) -> Array:
    """Share of the rows on which two members vote differently.

    Parameters
    ----------
    votes : array-like of shape (n_members, n_samples)
        Labels, of numbers or strings.

    Returns
    -------
    disagreement : ndarray of shape (n_members, n_members)
        In [0, 1], with zeros on the diagonal.

    Examples
    --------
    >>> from modae.metrics import disagreement_matrix
    >>> disagreement_matrix([["a", "b", "b", "a"], ["a", "b", "a", "a"]])
    array([[0.  , 0.25],
           [0.25, 0.  ]])
    """
    return _differences(_encoded(_table(votes)))


def kappa_matrix(votes: Any) -> Array:
    r"""Cohen's kappa of two members: their agreement beyond that of chance.

    :math:`\kappa=(p-e)/(1-e)` with the share p of rows on which they agree, and the share e on which
    they would if each kept its number of votes for each label but cast them at random. Two members
    that both vote for one and the same label on all rows have e = 1: their kappa is set to 1, as for
    any other two members that always agree.

    Parameters
    ----------
    votes : array-like of shape (n_members, n_samples)
        Labels, of numbers or strings.

    Returns
    -------
    kappa : ndarray of shape (n_members, n_members)
        In [-1, 1], with ones on the diagonal.

    Examples
    --------
    >>> from modae.metrics import kappa_matrix
    >>> kappa_matrix([["a", "b", "b", "a"], ["a", "b", "a", "a"]])
    array([[1. , 0.5],
           [0.5, 1. ]])
    """
    codes = _encoded(_table(votes))
    n_labels = int(codes.max()) + 1
    shares = np.array([np.bincount(member, minlength=n_labels) for member in codes]) / codes.shape[1]
    differ, by_chance = _differences(codes), 1.0 - shares @ shares.T
    # Members that never differ have kappa 1, whether or not they could differ by chance.
    return 1.0 - differ / np.where(differ > 0.0, by_chance, 1.0)


def q_statistic_matrix(votes: Any, y_true: Any) -> Array:
    r"""Yule's Q of two members: whether they are right on the same rows.

    :math:`Q=\dfrac{N^{11}N^{00}-N^{01}N^{10}}{N^{11}N^{00}+N^{01}N^{10}}` is 0 for independent
    members, positive for members that are right on the same rows, negative for members that err on
    different rows. The denominator is zero exactly when one of the two is always right or always
    wrong. Q is then set to 0: a constant is independent of everything.

    Parameters
    ----------
    votes : array-like of shape (n_members, n_samples)
        Labels, of numbers or strings.
    y_true : array-like of shape (n_samples,)
        The true labels.

    Returns
    -------
    q_statistic : ndarray of shape (n_members, n_members)
        In [-1, 1]; on the diagonal 1, or 0 for a member that is always right or always wrong.

    Examples
    --------
    >>> from modae.metrics import q_statistic_matrix
    >>> q_statistic_matrix([[0, 1, 1, 0, 0], [0, 1, 0, 1, 0]], y_true=[0, 1, 1, 1, 1])
    array([[1.        , 0.33333333],
           [0.33333333, 1.        ]])
    """
    right = _right(votes, y_true)
    both = right @ right.T
    first_only = np.diagonal(both)[:, None] - both
    neither = right.shape[1] - both - first_only - first_only.T
    alike, unlike = both * neither, first_only * first_only.T
    total = alike + unlike
    return (alike - unlike) / np.where(total > 0.0, total, 1.0)


def double_fault_matrix(votes: Any, y_true: Any) -> Array:
    """Share of the rows that two members both get wrong.

    Parameters
    ----------
    votes : array-like of shape (n_members, n_samples)
        Labels, of numbers or strings.
    y_true : array-like of shape (n_samples,)
        The true labels.

    Returns
    -------
    double_fault : ndarray of shape (n_members, n_members)
        In [0, 1], with the errors of the members on the diagonal.

    Examples
    --------
    >>> from modae.metrics import double_fault_matrix
    >>> double_fault_matrix([[0, 1, 1, 0, 0], [0, 1, 0, 1, 0]], y_true=[0, 1, 1, 1, 1])
    array([[0.4, 0.2],
           [0.2, 0.4]])
    """
    wrong = 1.0 - _right(votes, y_true)
    return np.asarray(wrong @ wrong.T / wrong.shape[1])


def disagreement(votes: Any) -> float:
    """Mean of :func:`disagreement_matrix` over pairs of different members: 0 means one opinion.

    Examples
    --------
    >>> from modae.metrics import disagreement
    >>> disagreement([["a", "b", "b", "a"], ["a", "b", "a", "a"], ["b", "b", "a", "a"]])
    0.3333333333333333
    """
    return _mean_over_pairs(disagreement_matrix(votes))


def kappa(votes: Any) -> float:
    """Mean of :func:`kappa_matrix` over pairs of different members: 1 means one opinion.

    Examples
    --------
    >>> from modae.metrics import kappa
    >>> kappa([["a", "b", "b", "a"], ["a", "b", "a", "a"]])
    0.5
    """
    return _mean_over_pairs(kappa_matrix(votes))


def q_statistic(votes: Any, y_true: Any) -> float:
    """Mean of :func:`q_statistic_matrix` over pairs of different members: low means diverse.

    Examples
    --------
    >>> from modae.metrics import q_statistic
    >>> q_statistic([[0, 1, 1, 0], [0, 1, 0, 1]], y_true=[0, 1, 1, 1])
    -1.0
    """
    return _mean_over_pairs(q_statistic_matrix(votes, y_true))


def double_fault(votes: Any, y_true: Any) -> float:
    """Mean of :func:`double_fault_matrix` over pairs of different members: low means diverse.

    Examples
    --------
    >>> from modae.metrics import double_fault
    >>> double_fault([[0, 1, 1, 0, 0], [0, 1, 0, 1, 0]], y_true=[0, 1, 1, 1, 1])
    0.2
    """
    return _mean_over_pairs(double_fault_matrix(votes, y_true))


def entropy(votes: Any) -> float:
    r"""Mean over the rows of the entropy of the vote shares, as a share of the largest possible one.

    A row in which label c has the share :math:`s_c` of the votes has entropy
    :math:`-\sum_cs_c\log s_c`. It is largest when the votes are spread as evenly as M votes can be
    over the labels that occur anywhere in ``votes``. So the result is 0 when all members agree on
    every row, and 1 when they are spread that evenly on every row. If only one label occurs it is 0.

    Parameters
    ----------
    votes : array-like of shape (n_members, n_samples)
        Labels, of numbers or strings.

    Returns
    -------
    entropy : float
        In [0, 1].

    Examples
    --------
    >>> from modae.metrics import entropy
    >>> entropy([["a", "b", "b", "a"], ["a", "b", "a", "b"]])
    0.5
    """
    codes = _encoded(_table(votes))
    n_members, n_labels = len(codes), int(codes.max()) + 1
    entropies = entr(vote_shares(codes.astype(np.intp), n_labels)).sum(axis=1)
    even = vote_shares(np.arange(n_members)[:, None] % n_labels, n_labels)
    return float(entropies.mean() / entr(even).sum()) if n_labels > 1 else 0.0


def _mean_over_pairs(matrix: Array) -> float:
    return float(matrix[np.triu_indices(len(matrix), k=1)].mean())


def _differences(codes: NDArray[Any]) -> Array:
    return np.array([np.count_nonzero(codes != member, axis=1) for member in codes]) / codes.shape[1]


def _right(votes: Any, y_true: Any) -> Array:
    """1.0 where a member is right, 0.0 where it is wrong (n_members, n_samples)."""
    table, truth = _table(votes), np.asarray(y_true)
    if truth.shape != table.shape[1:]:
        raise ValueError(
            f"y_true must have one label for each of the {table.shape[1]} columns of votes, got shape "
            f"{truth.shape}."
        )
    if isinstance(truth[0], str) != isinstance(table[0, 0], str):
        raise ValueError("votes and y_true must be labels of one kind, got strings and numbers.")
    codes = _encoded(np.vstack([table, truth]))
    return np.asarray(codes[:-1] == codes[-1], dtype=np.float64)


def _table(votes: Any) -> NDArray[Any]:
    table = np.asarray(votes)
    if table.ndim != 2 or table.shape[0] < 2 or table.shape[1] == 0:
        raise ValueError(
            "votes must have the shape (n_members, n_samples) with at least two members and one row, "
            f"got {table.shape}."
        )
    return table


def _encoded(table: NDArray[Any]) -> NDArray[Any]:
    """Labels as whole numbers from 0."""
    try:
        labels = np.unique(table)
    except TypeError as reason:
        raise ValueError(
            "Labels must be of one kind, all strings or all numbers, and none may be missing."
        ) from reason
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        raise ValueError("Labels must not be NaN: every member votes on every row.")
    # In the fewest bytes, because each member is compared with each.
    return np.searchsorted(labels, table).astype(np.min_scalar_type(len(labels)))
