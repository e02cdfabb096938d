"""Models that were fitted at different sites become one, from their sums alone."""

from collections.abc import Sequence
from typing import Any

from sklearn.utils.validation import check_is_fitted

from modae.data.summary import DataSummary


def merged_sums(models: Sequence[Any], kind: Any) -> DataSummary:
    """The sums behind all models together; an error if one has none, or has rows instead."""
    if not models:
        raise ValueError("models must have at least one fitted model, got none.")
    total = DataSummary()
    for place, model in enumerate(models):
        which = f"model {place}"
        if not isinstance(model, kind):
            raise TypeError(f"models must be {kind.__name__}, got {model!r} as {which}.")
        check_is_fitted(model)
        columns, first = (
            (each.n_features_in_, *getattr(each, "feature_names_in_", ())) for each in (model, models[0])
        )
        if columns != first:
            raise ValueError(
                f"models must be fitted to the same columns in the same order; those of {which} differ "
                "from those of model 0."
            )
        summary = model._model.summary
        if summary is None:
            raise ValueError(
                f"{which} has no sums over its data to merge: save it with resumable=True where it is "
                "fitted."
            )
        if summary.moments is None:
            raise ValueError(
                f"{which} was fitted to fewer rows than columns, and holds the rows themselves, which "
                f"must not travel: fit it to at least {model.n_features_in_} rows, or to fewer columns."
            )
        total = total.join(summary.as_moments())
    return total
