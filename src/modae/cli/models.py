"""A model file as the commands see it: steps, modules or an ensemble at the end, and its columns."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError

from modae.cli.errors import UserError, one_line
from modae.cli.preprocessing import CATEGORIES
from modae.cli.tables import TypedTable, check_output
from modae.cli.talk import CommandReport, Talk, size
from modae.ensembles.parts import ModelParts, take_apart
from modae.files.api import load
from modae.sources.source import ColumnSelection
from modae.utils.text import listed

NOTES = "table_"
"""Attribute of a Pipeline with what only the command line knows: the target's name, how many rows."""


@dataclass(frozen=True, eq=False)
class ModelFile:
    """A fitted model and where it came from."""

    path: str
    estimator: Any
    parts: ModelParts
    notes: dict[str, Any]

    @property
    def first(self) -> Any:
        """The step that meets the table."""
        return self.parts.steps[0] if self.parts.steps else self.parts.last

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the columns that it was fitted to, if they had any."""
        names = getattr(self.first, "feature_names_in_", None)
        return None if names is None else tuple(map(str, names))

    @property
    def target(self) -> str | None:
        """Name of the target column."""
        return self.notes.get("target")

    @property
    def has_string_classes(self) -> bool:
        """Whether it tells classes apart that are strings."""
        classes = getattr(self.parts.last, "classes_", None)
        return classes is not None and classes.dtype.kind in "OU"

    @property
    def fills(self) -> bool:
        """Whether a step may fill missing values: ours says so, of others we do not know."""
        return bool(self.notes.get("impute", isinstance(self.first, ColumnTransformer)))

    @property
    def categories(self) -> dict[str, list[str]]:
        """The strings of each column of strings that our own encoder knows."""
        parts = getattr(self.first, "named_transformers_", {})
        if CATEGORIES not in parts:
            return {}
        columns = next(columns for name, _, columns in self.first.transformers_ if name == CATEGORIES)
        return dict(zip(columns, map(list, parts[CATEGORIES][-1].categories_), strict=True))

    def framed(self, rows: Any) -> Any:
        """Rows of a table with names if the model was fitted to names, and without if not."""
        if self.names is None and hasattr(rows, "columns"):
            return rows.to_numpy()
        if self.names is not None and not hasattr(rows, "columns"):
            import pandas as pd

            return pd.DataFrame(rows, columns=list(self.names))
        return rows

    def columns_in(self, table: TypedTable, *, keep: Any = ()) -> tuple[ColumnSelection, list[str]]:
        """The columns of a table for this model, in its order, and remarks on the others."""
        n_features = int(self.first.n_features_in_)
        table.require("--keep", keep)
        same = "give the same columns in the same order."
        if table.names is None:
            if table.width() != n_features:
                raise UserError(
                    f"{table.label} has {table.width()} columns, and {self.path} was fitted to "
                    f"{n_features}: {same}"
                )
            notes = (
                [] if self.names is None else ["The columns have no names; they were taken in order."]
            )
            return ColumnSelection(), notes
        if self.names is None:
            left = tuple(name for name in table.names if name != self.target and name not in keep)
            if len(left) != n_features:
                raise UserError(
                    f"{table.label} has {len(left)} columns, and {self.path} was fitted to {n_features} "
                    f"without names: {same}"
                )
            return ColumnSelection(left, kept=tuple(keep)), []
        missing = [name for name in self.names if name not in table.names]
        if missing:
            raise UserError(
                f"{table.label} lacks {listed(missing)}, which {self.path} was fitted to: add or rename "
                "it."
            )
        extra = [name for name in table.names if name not in self.names and name not in keep]
        ignored = [name for name in extra if name != self.target]
        notes = [f"Not used: {listed(ignored)}."] if ignored else []
        if [name for name in table.names if name in self.names] != list(self.names):
            notes.append("The columns are in another order than in the fit; they were found by name.")
        strings = set(self.categories)
        if not strings and "impute" not in self.notes and isinstance(self.first, ColumnTransformer):
            strings = {name for name in self.names if table.kinds[name] == "string"}
        if table.source.kind == "CSV":
            strings.update(set(keep) - set(self.names))  # as they are written
        else:
            wrong = f"{self.path} was fitted to numbers there: correct it"
            table.refuse_strings([name for name in self.names if name not in strings], wrong)
        return ColumnSelection(self.names, kept=tuple(keep), strings=frozenset(strings)), notes

    def reads_target_as_strings(self, table: TypedTable, target: str) -> bool:
        """Whether the target is read as strings: the classes decide, not what new rows have."""
        return self.has_string_classes or table.kinds[target] != "number"


def load_model(path: str) -> ModelFile:
    """Load and look at it: it must be a fitted model of modules."""
    if not Path(path).exists():
        raise UserError(f"{path}: there is no such file.")
    if Path(path).is_dir():
        raise UserError(f"{path} is a folder, not a model.")
    estimator = load(path)
    if type(estimator).__name__ == "StreamCheckpoint":
        raise UserError(f"{path} {checkpoint_text(estimator.n_rows)}")
    try:
        parts = take_apart(estimator)
    except NotFittedError:
        raise UserError(f"{path}: this model is not fitted: fit it, and save it again.") from None
    except TypeError as error:
        raise UserError(f"{path}: {one_line(error)}") from None
    notes = getattr(estimator, NOTES, {})
    return ModelFile(path, estimator, parts, notes if isinstance(notes, dict) else {})


def checkpoint_text(n_rows: int) -> str:
    """What the checkpoint of a streamed fit is, and how to go on."""
    return (
        f"is the checkpoint of a fit that has not ended ({n_rows:,} rows so far), not a model: call "
        "modae.fit_stream with the same source and checkpoint in Python to go on."
    )


def export_command(options: Any, talk: Talk) -> CommandReport:
    """``modae export``: write the model as ONNX; what ONNX cannot say is refused."""
    from modae.onnx.api import export_onnx

    path, out = options.model, options.out
    check_output(out, (".onnx",), (path,))
    model = load_model(path)
    try:
        export_onnx(model.estimator, out)
    except (TypeError, ValueError) as error:
        why = one_line(error)
        if isinstance(model.first, ColumnTransformer):
            why = (
                "--encode and --impute find columns by name, and the rows of ONNX have no names: fit it "
                "without them, to a table of numbers without gaps."
            )
        raise UserError(f"{path} cannot be written as ONNX: {why}") from error
    n_bytes = Path(out).stat().st_size
    report = CommandReport(data={"command": "export", "model": path})
    report.say("written", f"{out} ({size(n_bytes)}): float32 rows in 'X'.", output=out, bytes=n_bytes)
    return report
