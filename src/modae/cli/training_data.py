"""One pass over a table before anything is fitted: scales, categories, targets, and a sample of rows.

Where the table is small the sample is all of it, and no second pass is needed; where it is large the
sample is random rows, of a number that bounded memory holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from modae.cli.columns import read_rows, refuse_columns
from modae.cli.console import Talk, UserError, refuse_if
from modae.cli.oddities import MANY_ROWS
from modae.cli.seen_rows import SeenRows
from modae.cli.tables import find_target, is_scale, number_names, open_table, place_of, reading_of
from modae.data.validation import take_rows
from modae.ensembles.votes import stratified
from modae.sources.dates import date_of
from modae.sources.frames import joined
from modae.sources.source import Batch, ColumnSelection, Source
from modae.utils.text import counted, listed

#: Bytes of rows up to which a table is kept in memory; larger ones are read twice.
IN_MEMORY = 128 * 2**20

#: More different strings than this in one column are taken for an id.
MOST_CATEGORIES = 1000

#: Whole numbers with more different values than this are a quantity, unless --task says otherwise.
MOST_CLASSES = 50

#: The names of the parts that encode strings, as columns of 0 and 1 or as places in a known order; a
#: model is asked for them to know which columns are strings.
CATEGORIES, ORDERED = "categories", "ordered"


class Sample:
    """All rows up to a limit of bytes; of larger tables random ones that take a quarter of it at most.

    Every row draws a number between 0 and 1, and those below ``share`` are kept; where they are too
    many, ``share`` is halved. So each row has the same chance, whatever the batches are.
    """

    def __init__(self, limit: int) -> None:
        self.limit, self.share, self._bytes = limit, 1.0, 0
        self._parts: list[tuple[np.ndarray, np.ndarray, Any]] = []
        self._rng = np.random.default_rng(0)

    def add(self, rows: Any, start: int) -> None:
        """Take the next rows; ``start`` is the index of the first one."""
        places = np.arange(start, start + rows.shape[0])
        self._keep(places, self._rng.random(len(places)), rows)
        while self._bytes > self.limit and len(self.places) > 1:
            self.limit = self.limit // 4 if self.share == 1.0 else self.limit
            self.share /= 2
            parts, self._parts, self._bytes = self._parts, [], 0
            for part in parts:
                self._keep(*part)

    def _keep(self, places: np.ndarray, draws: np.ndarray, rows: Any) -> None:
        kept = draws < self.share
        if not kept.all():  # a copy, so that the memory of the others is freed
            places, draws, rows = places[kept], draws[kept], rows[kept]
        if len(places):
            self._parts.append((places, draws, rows))
            if hasattr(rows, "columns"):
                self._bytes += int(rows.memory_usage(index=False, deep=True).sum())
            else:
                arrays = (rows.data, rows.indices, rows.indptr) if issparse(rows) else (rows,)
                self._bytes += sum(array.nbytes for array in arrays)

    @property
    def places(self) -> np.ndarray:
        """Which rows of the table were kept."""
        return np.concatenate([np.zeros(0, dtype=np.intp), *(places for places, *_ in self._parts)])

    @property
    def rows(self) -> Any:
        """All that was kept."""
        if len(self._parts) > 1:
            places, draws, parts = zip(*self._parts, strict=True)
            self._parts = [(np.concatenate(places), np.concatenate(draws), joined(parts))]
        return self._parts[0][2]


class TrainingData:
    """What is known of a table after one pass, and its rows: in memory, or batch by batch.

    ``scaler`` has the means and deviations of the columns of numbers (missing values left out),
    ``categories`` the strings of each column of strings, ``orders`` those whose order is known, ``y``
    the targets of all rows, marked by ``missing_label`` where there is none, ``labels`` those that there
    are, ``steps`` what happens to rows before they reach the modules, ``notes`` are remarks for the
    user. Missing values are refused, with the remedy, unless they will be filled. ``look`` is called
    with all rows as they were read.
    """

    def __init__(
        self,
        table: Source,
        columns: ColumnSelection,
        fills: bool,
        advance: Callable[[int], None] = lambda rows: None,
        remedy: str = "fill it, or use --impute",
        look: Callable[[Any], None] | None = None,
    ) -> None:
        self.table, self.columns, self.sample = table, columns, Sample(IN_MEMORY)
        self.scaler = StandardScaler(with_mean=not issparse(table.matrix))
        self.n_rows, self.n_missing, self.classify, targets = 0, 0, False, []
        strings = [name for name in columns.features or () if name in columns.strings]
        self.categories: dict[str, set[str]] = {name: set() for name in strings}
        self.orders: dict[str, list[str]] = {}
        self.steps: list[tuple[str, Any]] = []
        self.seen: SeenRows | None = None
        self.notes: list[str] = []
        for batch in read_rows(table, columns):
            rows, n_rows = batch.rows, batch.rows.shape[0]
            self.n_missing += count_missing(table, batch, fills, remedy)
            for name, known in self.categories.items():
                known.update(rows[name].dropna())
                many = f"column {name!r} has more than {MOST_CATEGORIES:,} different strings"
                hint = f"if it is an id, leave it out with --drop {name!r}"
                refuse_if(len(known) > MOST_CATEGORIES, f"{table.origin}: {many}: {hint}.")
            numbers = rows.drop(columns=strings) if strings else rows
            if numbers.shape[1]:
                with np.errstate(invalid="ignore", over="ignore"):  # looked at when all rows were read
                    self.scaler.partial_fit(numbers)
            targets.append(batch.target)
            if look is not None:
                look(rows)
            self.sample.add(rows, self.n_rows)
            self.n_rows += n_rows
            advance(n_rows)
        refuse_if(self.n_rows == 0, f"{table.origin} has no rows.")
        self.y: Any = None if columns.target is None else np.concatenate(targets)
        self.labels: Any = self.y
        self.missing_label: Any = None
        variances = getattr(self.scaler, "var_", np.zeros(0))
        seen = np.broadcast_to(getattr(self.scaler, "n_samples_seen_", 0), variances.shape)
        names = getattr(self.scaler, "feature_names_in_", np.arange(len(variances)))
        huge, empty = names[~np.isfinite(variances) & (seen > 0)], names[np.isnan(variances)]
        large = f"{listed(huge, 1)} has numbers beyond 1e150, whose squares are too large"
        refuse_if(len(huge), f"{table.origin}: column {large}: correct or rescale them.")
        if len(empty):
            options = [["--drop", str(name)] for name in empty]
            raise UserError(f"{table.origin}: no row has a value in {listed(empty)}.", options)

    @property
    def width(self) -> int:
        """Columns after the steps."""
        return int(self.prepared(self.sample.rows[:1]).shape[1])

    def prepared(self, rows: Any) -> Any:
        """Rows after the steps."""
        for _, step in self.steps:
            rows = step.transform(rows)
        return rows

    def some_rows(self, most: int, seed: int, among: Any = None) -> tuple[Any, np.ndarray]:
        """At most so many rows in memory, of ``among``, after the steps, with their targets.

        Those with a target come first; with the shares of the classes as in the table.
        """
        y = self.y[self.sample.places]
        places = np.arange(len(y)) if among is None else np.sort(among)
        if len(places) > most:
            missing = missing_targets(y[places])
            known, others = places[~missing], places[missing]
            labels = y[known] if self.classify else np.zeros(len(known))
            known = known[stratified(labels, most, seed)]
            others = others[stratified(np.zeros(len(others)), most - len(known), seed)]
            places = np.sort(np.concatenate([known, others]))
        rows = self.sample.rows if len(places) == len(y) else take_rows(self.sample.rows, places)
        return self.prepared(rows), y[places]

    def batches(self, advance: Callable[[int], None]) -> Iterator[Any]:
        """All rows after the steps, read again."""
        for batch in read_rows(self.table, self.columns):
            yield self.prepared(batch.rows)
            advance(len(batch))


def read_table(options: Any, talk: Talk) -> TrainingData:
    """Open the table, find what each column is for, and read it; what cannot be used is refused."""
    target = options.target
    table = open_table(options.data, reading_of(options), [target] if target else [], drop=options.drop)
    _, column = find_target(table, target)
    refuse_if(target in options.drop, f"--target {target} and --drop {target}: leave one of them out.")
    columns = ColumnSelection(target=target)
    if table.kinds:
        dates = {name: date_of(name, table.kinds) for name in table.kinds}
        dropped = {name for name, date in dates.items() if {name, date} & {*options.drop}}
        features = tuple(name for name in table.kinds if name not in {target, "", *dropped})
        refuse_columns(table, features, encode=options.encode)
        strings = {name for name in features if table.kinds[name] == "string"}
        if target is not None and table.kinds[target] != "number":
            if options.task != "classify" and table.kinds[target] != "other":
                refuse_columns(table, [target], target=target)
            strings.add(target)
        columns = ColumnSelection(features, target, strings=frozenset(strings))
    width = table.width - (column is not None) if columns.features is None else len(columns.features)
    refuse_if(not width, f"{table.origin} has no columns to learn from beside the target.")
    with talk.stage(f"Reading {table.origin}") as advance:
        seen = None if options.no_fingerprint else SeenRows()
        look = None if seen is None else seen.add
        found = TrainingData(table, columns, options.impute, advance, look=look)
        found.seen = seen
    set_orders(found, options.order)
    if target is not None:
        set_target(found, target, options.task)
    refuse_if(found.n_rows < 2, f"{table.origin} has one row: there is nothing to learn from it.")
    named = options.no_header or target or options.drop  # whoever knows a name knows that it is one
    numbers = [] if named else number_names(table)
    if numbers:
        names = f"The first line was taken for names, {listed(numbers, 2)} too"
        why = ": these rise or fall unlike those below, as wavelengths or times do"
        found.notes.append(f"{names}{why if is_scale(table) else ': if it is a row, use --no-header'}.")
    if "" in table.kinds:
        found.notes.append("A column without a name (row numbers?) is left out.")
    return found


def count_missing(table: Source, batch: Batch, fills: bool, remedy: str = "correct it") -> int:
    """How many values are missing; they are refused unless ``fills``, and infinite ones always."""
    if issparse(batch.rows):
        wrong = not np.isfinite(batch.rows.data).all()
        refuse_if(wrong, f"{table.origin} has entries that are not finite: correct them.")
        return 0
    import pandas as pd

    rows = pd.DataFrame(batch.rows, copy=False)
    numbers, missing = rows.select_dtypes("number"), rows.isna().to_numpy()
    problems = [("is infinite", np.isinf(numbers.to_numpy()), numbers.columns, "correct it")]
    if not fills:
        problems.append(("has no value", missing, rows.columns, remedy))
    for what, found, names, why in problems:
        if found.any():
            row, column = np.argwhere(found)[0]
            where = f"column {str(names[column])!r} {what} in {place_of(table, batch.start + int(row))}"
            others = counted(int(found.any(axis=0).sum()) - 1, "other column")
            where += "" if others[0] == "0" else f", and so do rows of {others}"
            empty = [["--drop", str(name)] for name in names[found.all(axis=0)]]
            add = [*empty, *([["--impute"]] if found.any(axis=0).sum() > len(empty) else [])]
            add = add if why.endswith("--impute") else []
            why = "leave it out, as it is so in all rows" if add and found[:, column].all() else why
            raise UserError(f"{table.origin}: {where}: {why}.", add)
    return int(missing.sum())


def set_orders(found: TrainingData, typed: list[str]) -> None:
    """Find the columns of strings that each of these lists has in order."""
    for text in typed:
        order = [each.strip() for each in text.split(",")]
        twice = len(set(order)) < max(2, len(order))
        refuse_if(twice, f"--order {text}: name different strings, such as low,high.")
        rest = {name: sorted(known - set(order)) for name, known in found.categories.items() if known}
        columns = [name for name, others in rest.items() if not others]
        near = [name for name, others in rest.items() if len(others) < len(found.categories[name])]
        has = "".join(f": {name!r} has {listed(rest[name])} too" for name in near[:1])
        refuse_if(not columns, f"--order {text}: no column of strings has these only{has}.")
        found.orders = dict.fromkeys(columns, order) | found.orders  # the one that was typed first


def set_target(found: TrainingData, name: str, task: str) -> None:
    """What the target means, classes or numbers, checked: not all missing, at least two classes."""
    table, target = found.table, f"{found.table.origin}: the target {name!r}"
    missing = missing_targets(found.y)
    refuse_if(missing.all(), f"{target} has no value in any row: fill it, or leave out --target.")
    labels = as_labels(found.y[~missing])
    strings, whole = labels.dtype.kind == "U", labels.dtype.kind in "biu"
    such_as = f"the target {name!r} has strings, such as {str(labels[0])!r}"
    refuse_if(task == "regress" and strings, f"--task regress: {such_as}.")
    classes = np.unique(labels)
    few = strings or (whole and len(classes) <= min(MOST_CLASSES, len(labels) / 2))
    found.classify = task == "classify" or (task == "auto" and few)
    of_id = few and task == "auto" and len(labels) >= MANY_ROWS and len(classes) > len(labels) / 2
    another = f"another value in most rows, such as {str(classes[0])!r}"
    refuse_if(of_id, f"{target} has {another}: what looks like an id cannot be predicted.")
    one = found.classify and len(classes) == 1
    refuse_if(one, f"{target} is {str(classes[0])!r} in every row: two classes are needed.")
    found.y = found.labels = labels if found.classify else labels.astype(np.float64)
    if missing.any():
        found.missing_label = np.nan
        found.y = np.full(len(missing), None if found.classify else np.nan)
        found.y[~missing] = found.labels
    if not found.classify and np.isinf(found.y).any():
        place = place_of(table, int(np.isinf(found.y).argmax()))
        raise UserError(f"{target} is infinite in {place}: correct it.")


def missing_targets(values: np.ndarray) -> np.ndarray:
    """Where there is none; in text that is an empty string."""
    import pandas as pd

    missing = pd.isna(values)
    return missing | (values == "") if values.dtype.kind == "O" else missing


def as_labels(values: np.ndarray) -> np.ndarray:
    """Numbers where all values are numbers (whole ones where all are whole), strings otherwise."""
    if values.dtype.kind == "O" and not any(isinstance(value, str) for value in values):
        values = np.array(values.tolist())
    if values.dtype.kind == "b":
        return values
    if values.dtype.kind in "ui":
        return values if values.max(initial=0) > np.iinfo(np.int64).max else values.astype(np.int64)
    if values.dtype.kind == "f":
        whole = np.isfinite(values).all() and (values == np.round(values)).all()
        return values.astype(np.int64) if whole and np.abs(values).max(initial=0) < 2**53 else values
    return np.array([str(value) for value in values])


def scale_ratio(scaler: StandardScaler) -> tuple[float, str]:
    """How much the deviations of the columns differ, and which ones; constant columns do not count."""
    deviations = np.sqrt(getattr(scaler, "var_", np.zeros(0)))
    means = getattr(scaler, "mean_", None)  # there is none before the first number, or if sparse
    varying = np.flatnonzero(deviations > (0.0 if means is None else 1e-9 * np.abs(means)))
    if not len(varying):
        return 1.0, ""
    names = getattr(scaler, "feature_names_in_", [f"column {i}" for i in range(len(deviations))])
    low, high = varying[deviations[varying].argmin()], varying[deviations[varying].argmax()]
    ends = [f"{names[place]} {deviations[place]:.2g}" for place in (low, high)]
    return float(deviations[high] / deviations[low]), ", ".join(ends)


def front_steps(found: TrainingData, scale: bool, impute: bool) -> list[tuple[str, Any]]:
    """Fitted steps: numbers are filled and scaled, strings become columns of 0 and 1, or their places.

    They are fitted to the sample; categories and scales are those of all rows.
    """
    if not found.categories and not impute:
        return [("scale", found.scaler)] if scale else []
    import pandas as pd

    rows = found.sample.rows
    columns = getattr(rows, "columns", range(rows.shape[1]))
    numbers = [name for name in columns if name not in found.categories]
    median = [SimpleImputer(strategy="median")] if impute else []
    for_numbers = [*median, *([StandardScaler()] if scale else [])]
    frequent = [SimpleImputer(strategy="most_frequent", missing_values=pd.NA)] if impute else []
    plain = [name for name in found.categories if name not in found.orders]
    known = [sorted(found.categories[name]) for name in plain]
    encoder = OneHotEncoder(categories=known, handle_unknown="ignore", sparse_output=False)
    codes = OrdinalEncoder(  # a string that is not in the list counts as missing
        categories=[*found.orders.values()], handle_unknown="use_encoded_value", unknown_value=np.nan
    )
    for_codes = [codes, SimpleImputer(strategy="median"), *([StandardScaler()] if scale else [])]
    parts = [
        ("numbers", make_pipeline(*for_numbers) if for_numbers else "passthrough", numbers),
        (ORDERED, make_pipeline(*for_codes), list(found.orders)),
        (CATEGORIES, make_pipeline(*frequent, encoder), plain),
    ]
    used = [part for part in parts if part[-1]]
    step = ColumnTransformer(used, verbose_feature_names_out=False, sparse_threshold=0.0).fit(rows)
    if numbers and scale:
        # Scales are those of the values that are there, in all rows and not in the sample only.
        scaler = copy(found.scaler)
        if impute and hasattr(scaler, "feature_names_in_"):
            del scaler.feature_names_in_  # the step before it gives an array
        step.named_transformers_["numbers"].steps[-1] = ("scale", scaler)
    return [("columns", step)]
