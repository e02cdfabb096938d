"""What is odd in columns that were read: said to the user, and left as it is."""

from __future__ import annotations

from collections import defaultdict
from shlex import quote

import numpy as np

from modae.cli.columns import MANY_ROWS, MARKERS, is_whole, kind_of
from modae.cli.tables import read_rows
from modae.cli.training_data import TrainingData
from modae.sources.source import ColumnSelection
from modae.utils.text import listed

#: What is said of columns of numbers, by what they are; ``drop`` leaves them out.
REMARKS = {
    "id": "Another whole number in every row, or more digits than are kept: {names}. If an id, {drop}.",
    "code": "Leading zeros in {names} are not kept: they were read as numbers. If codes, {drop}.",
    "same": "The same in every row, so it tells nothing: {names}.",
    "gaps": "No value in most rows of {names}: what --impute makes of it tells little; {drop}.",
}


def remarks_on(found: TrainingData) -> list[str]:
    """Remarks on columns of numbers, and on strings."""
    rows, kinds, notes = found.sample.rows, defaultdict(list), []
    numbers = [name for name in getattr(rows, "columns", ()) if name not in found.categories]
    for name in numbers:
        kinds[kind_of(rows[name].to_numpy())].append(name)
    whole = tuple(name for name in numbers if is_whole(rows[name].to_numpy()))
    if found.table.kind == "CSV" and whole:
        text = next(read_rows(found.table, ColumnSelection(whole, strings=frozenset(whole))))
        kinds["code"] = [n for n in whole if text.rows[n][:100].str.fullmatch(r"\s*0\d+\s*").any()]
    kinds["same"] += [name for name, known in found.categories.items() if len(known) == 1]
    for kind, remark in REMARKS.items():
        drop = " ".join(f"--drop {quote(name)}" for name in kinds[kind][:5])
        notes += [remark.format(names=listed(kinds[kind]), drop=drop)] if kinds[kind] else []
    strings = {f"column {name!r}": known for name, known in found.categories.items()}
    if found.classify and found.labels.dtype.kind == "U":
        strings["the target"] = set(np.unique(found.labels).tolist())
    for where, known in strings.items():
        if len(known) > found.n_rows / 2 >= MANY_ROWS / 2:
            drop = f"; leave it out with --drop {quote(where[8:-1])}" if where != "the target" else ""
            notes.append(f"Other strings in most rows of {where}: of an id nothing can be learnt{drop}.")
        twins = defaultdict(list)
        for each in sorted(known):
            twins[each.strip().casefold()].append(each)
        notes += [
            f"{listed(alike)} in {where} count as different: make them one if they are."
            for alike in [each for each in twins.values() if len(each) > 1][:1]
        ]
        markers = sorted(each for each in known if each.strip().lower() in MARKERS)
        if markers:
            options = " ".join(f"--missing {quote(each)}" for each in markers)
            notes.append(f"{listed(markers)} in {where} counts as a string; if it is none, {options}.")
    return notes
