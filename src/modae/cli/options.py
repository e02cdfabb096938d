"""What was typed for a fit, checked before anything is read."""

from __future__ import annotations

from dataclasses import dataclass

from modae.cli.errors import Mistake
from modae.cli.named_tables import NamedTable
from modae.cli.output import MODELS, check_output
from modae.cli.tables import OTHER, WORD, Table, Wanted

TASKS = ("auto", "classify", "regress")
SCALES = ("auto", "standard", "none")


@dataclass(frozen=True)
class FitOptions:
    """The options of ``modae fit`` and ``modae tune``."""

    data: str
    out: str
    target: str | None = None
    modules: int = 10
    components: str | None = None
    diversity: float | None = None
    tune: bool = False
    estimator: str = "knn"
    task: str = "auto"
    scale: str = "auto"
    encode: bool = False
    impute: bool = False
    drop: tuple[str, ...] = ()
    header: bool = True
    seed: int = 0
    jobs: int | None = None
    check: bool = True

    def sizes(self) -> list[int]:
        """The candidates of --components; none if it was not given."""
        if self.components is None:
            return []
        words = [word.strip() for word in self.components.split(",")]
        if not all(word.isdigit() and int(word) > 0 for word in words):
            raise Mistake(f"--components {self.components}: give a whole number from 1 on, such as 5.")
        if len(words) > 1 and not self.tune:
            raise Mistake(
                f"--components {self.components}: several sizes need --tune to choose from them."
            )
        return sorted({int(word) for word in words})


def check_seed_and_jobs(seed: int, jobs: int | None) -> None:
    """What all commands that draw and that use several cores take."""
    if seed < 0 or seed >= 2**32:
        raise Mistake(f"--seed {seed}: it must be between 0 and 4294967295.")
    if jobs == 0:
        raise Mistake("--jobs 0: give a number of cores, or -1 for all.")


def check_options(options: FitOptions) -> None:
    """Refuse what cannot work, with the remedy."""
    check_output(options.out, MODELS, (options.data,))
    options.sizes()
    if options.modules < 1:
        raise Mistake(f"--modules {options.modules}: there must be at least 1 (10 is a good start).")
    if options.tune and options.diversity is not None:
        raise Mistake("--diversity and --tune: --tune chooses the diversity; leave one of them out.")
    if options.diversity is not None and not 0.0 <= options.diversity <= 1.0:
        raise Mistake(f"--diversity {options.diversity:g}: it must be between 0 and 1.")
    if options.tune and options.target is None:
        raise Mistake("--tune needs --target: diversity is chosen by how well the target is predicted.")
    check_seed_and_jobs(options.seed, options.jobs)
    for name, value, known in (("task", options.task, TASKS), ("scale", options.scale, SCALES)):
        if value not in known:
            raise Mistake(f"--{name} {value}: it must be one of {', '.join(known)}.")
    if options.target is None and (options.task != "auto" or options.estimator != "knn"):
        option = "--task" if options.task != "auto" else "--estimator"
        raise Mistake(f"{option} is for predictions: name the column to predict with --target.")


def choose_columns(table: Table, options: FitOptions) -> Wanted:
    """Features, words and target; what cannot be used is refused by name."""
    if not isinstance(table, NamedTable):
        if options.drop:
            raise Mistake(f"--drop: the columns of {table.label} have no names: leave it out.")
        wanted = Wanted(target=options.target)
        _require_features(table, table.width(wanted))
        return wanted
    table.require("--target", [] if options.target is None else [options.target])
    table.require("--drop", options.drop)
    if options.target in options.drop:
        raise Mistake(f"--target {options.target} and --drop {options.target}: leave one of them out.")
    left_out = {options.target, *options.drop}
    if "" in table.kinds:
        table.notes.append("A column without a name (row numbers?) is left out.")
        left_out.add("")
    features = tuple(name for name in table.names or () if name not in left_out)
    _require_features(table, len(features))
    words = [name for name in features if table.kinds[name] == WORD]
    others = [name for name in features if table.kinds[name] == OTHER]
    if others:
        raise table.neither(others[0])
    if words and not options.encode:
        _refuse_words(table, words)
    return Wanted(features, frozenset(words), options.target)


def _require_features(table: Table, n_features: int) -> None:
    if n_features == 0:
        raise Mistake(f"{table.label} has no columns to learn from beside the target.")


def _refuse_words(table: NamedTable, words: list[str]) -> None:
    """Say which columns have words, and show the first one: it may be a slip of the pen."""
    name, others = words[0], len(words) - 1
    more = f" (and {others} more)" if others else ""
    where = ""
    batch = next(table.batches(Wanted((name,), frozenset([name]))))
    for row, value in enumerate(batch.rows[name]):
        if value is not None and not _reads_as_number(value):
            where = f", such as {value!r:.40} in {table.place(row)}"
            where += " (decimals need a point)" if _has_decimal_comma(value) else ""
            break
    raise Mistake(
        f"{table.label}: column {name!r}{more} has words{where}: correct it, make "
        f"it numbers with --encode, or leave it out with --drop {name!r}."
    )


def _has_decimal_comma(text: str) -> bool:
    return text.count(",") == 1 and _reads_as_number(text.replace(",", "."))


def _reads_as_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
