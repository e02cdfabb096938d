"""Would the tests notice a mistake? ``python -m benchmarks.mutation`` makes some, one at a time.

A sample of places is drawn by a hash of each, so that changes elsewhere draw no others: an operator, a
comparison, a number, a condition or a statement becomes another one, or goes. The tests of its folder
run on a copy of the package with that change, those of the same name first; one that fails has killed
the mutant. ``mutation_kept.txt`` lists those that change nothing a test should notice, with the reason;
any other survivor counts.

This is a program of its own because what is on PyPI does something else: mutmut runs the whole suite to
learn which tests call what, and draws no sample; cosmic-ray starts a process that imports everything
again for each mutant, and changes the files of the clone. Here one process imports the other packages,
and forks for each mutant.
"""

from __future__ import annotations

import argparse
import ast
import os
import resource
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from copy import copy
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "modae"
TESTS = ROOT / "tests"
FOLDERS = {"modae", "tests", *(folder.name for folder in TESTS.iterdir() if folder.is_dir())}
KEPT = Path(__file__).with_name("mutation_kept.txt").read_text("utf-8").splitlines()
"""Mutants, each followed by a line with the reason."""

LIMIT = 0.90
EACH = 25
"""So many mutants of each part: half an hour for all, even where other programs run."""

BUSY, IDLE = 3, 3600
"""A mutant hangs if it computes so many times longer than the tests do without a change, or waits for so
many seconds: the tests would notice it."""

VOTES = "tests/ensembles/test_{}.py"
TARGETS = {
    "core": (["core/*.py"], ["tests/core"]),
    "data": (
        ["data/*.py"],
        ["tests/data", "tests/linear/test_streaming.py", "tests/linear/test_bagging.py"],
    ),
    "votes": (
        ["ensembles/votes.py", "ensembles/uncertainty.py"],
        [
            VOTES.format(name)
            for name in ("votes", "uncertainty", "classifier", "edges", "prediction_sets")
        ],
    ),
    "search": (
        ["ensembles/search.py", "ensembles/tuning.py", "ensembles/folds.py", "ensembles/families.py"],
        [
            VOTES.format(name)
            for name in ("search", "tuning", "selection", "sizes", "candidates", "families")
        ]
        + ["tests/linear/test_notebook.py", "tests/sources_dask/test_search.py"],
    ),
    "conformal": (
        ["ensembles/conformal.py"],
        [VOTES.format(name) for name in ("conformal", "prediction_sets", "regressor")],
    ),
    "files": (
        ["files/*.py"],
        [f"tests/files/test_{name}.py" for name in ("archive", "foreign", "golden", "hostile", "rules")]
        + ["tests/files/test_round_trip.py"],
    ),
}  # fmt: skip
"""Part -> its files, and the tests that shall notice a change of them, the slow ones last."""

SWAPS: dict[type, type] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn,
    ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
WORDS = ("warn", "require", "ValueError", "TypeError", "field", "ModelFormatError")
"""Calls whose arguments are words for people, which may change."""


Place = tuple[ast.AST, str, int | None, ast.AST, ast.AST]
"""A parent, its field, the position in it if that is a list, the node there, and what it becomes."""


class Mutant(NamedTuple):
    """A change of one place of a file."""

    part: str
    file: str
    number: int
    line: str
    change: str

    def __str__(self) -> str:
        return f"{self.file}: {self.change} in: {self.line}"


def changed(node: ast.AST) -> ast.AST | None:
    """What a node becomes."""
    match node:
        case ast.BinOp(op=op) | ast.BoolOp(op=op) if type(op) in SWAPS:
            return _with(node, op=SWAPS[type(op)]())
        case ast.Compare(ops=[op, *others]):
            return _with(node, ops=[SWAPS[type(op)](), *others])
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            return operand
        case ast.Constant(value=bool(value)):
            return ast.Constant(not value)
        case ast.Constant(value=int(value) | float(value)):
            return ast.Constant(value + 1)
        case ast.If(test=test) | ast.IfExp(test=test):
            return _with(node, test=ast.UnaryOp(ast.Not(), test))
        case ast.Return(value=value) if value is not None:
            return ast.Return(ast.Constant(None))
        case ast.AugAssign() | ast.Raise() | ast.Continue() | ast.Expr(value=ast.Call()):
            return ast.Pass()
    return None


def _with(node: ast.AST, **fields: object) -> ast.AST:
    new = copy(node)
    for name, value in fields.items():
        setattr(new, name, value)
    return new


def places(parent: ast.AST) -> Iterator[Place]:
    """All places of a tree in order, but for types, and for words that are made for people."""
    for name, value in ast.iter_fields(parent):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for position, node in enumerate(value if isinstance(value, list) else [value]):
            if not isinstance(node, ast.AST) or isinstance(node, ast.JoinedStr | ast.Assert):
                continue
            if isinstance(node, ast.keyword) and node.arg == "strict":  # zip's own assertion
                continue
            if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
                continue
            new = changed(node)
            if new is not None:
                yield parent, name, position if isinstance(value, list) else None, node, new
            words = isinstance(node, ast.Call) and ast.unparse(node.func) in WORDS
            if not (isinstance(node, ast.Raise) or words):
                yield from places(node)


def mutants_of(part: str) -> list[Mutant]:
    patterns, _ = TARGETS[part]
    found = []
    for file in sorted(file for pattern in patterns for file in PACKAGE.glob(pattern)):
        text = file.read_text("utf-8")
        for number, (*_, node, new) in enumerate(places(ast.parse(text))):
            line = text.splitlines()[node.lineno - 1].strip()
            change = f"{_line(node)} -> {_line(new)}"
            found.append(Mutant(part, file.relative_to(PACKAGE).as_posix(), number, line, change))
    return found


def sample_of(part: str, size: int, seed: int = 0) -> list[Mutant]:
    """So many mutants of a part, no two of which read alike."""
    different = {str(mutant): mutant for mutant in mutants_of(part)}
    drawn = sorted(different, key=lambda text: sha256(f"{seed} {text}".encode()).digest())
    return [different[text] for text in drawn[:size]]


def _line(node: ast.AST) -> str:
    return ast.unparse(node).partition("\n")[0][:60]


def mutated(mutant: Mutant) -> str:
    """The text of its file, with the change."""
    tree = ast.parse((PACKAGE / mutant.file).read_text("utf-8"))
    parent, name, position, _, new = list(places(tree))[mutant.number]
    if position is None:
        setattr(parent, name, new)
    else:
        getattr(parent, name)[position] = new
    return ast.unparse(ast.fix_missing_locations(tree))


def stages_of(part: str, stem: str | None = None) -> list[list[str]]:
    """The tests of a part: the file of the same name, if there is one, and then the others."""
    _, paths = TARGETS[part]
    files = [
        file for path in paths for file in (sorted((ROOT / path).glob("test_*.py")) or [ROOT / path])
    ]
    own = [str(file) for file in files if file.stem == f"test_{stem}"]
    others = [str(file) for file in files if str(file) not in own]
    return [own, others] if own else [others]


def forget_ours() -> None:
    """Modules of this clone are imported again, by whoever needs them; other packages stay."""

    def is_ours(name: str) -> bool:
        # A folder of tests is a namespace: it has no file, and knows its modules by name.
        file = getattr(sys.modules[name], "__file__", None) or ""
        return name.partition(".")[0] in FOLDERS or file.startswith(str(TESTS))

    for name in [name for name in list(sys.modules) if is_ours(name)]:
        del sys.modules[name]


def run_tests(package: Path, tests: list[str], seconds: int) -> int:
    """The exit code of pytest in a child: 0 if all pass, negative if a signal ended it."""
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        signal.alarm(IDLE)
        os.environ["PYTHONPATH"] = str(package.parent)
        sys.path.insert(0, str(package.parent))
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        quick = ["-x", "-q", "--tb=no", "--hypothesis-profile=mutants", "-p", "no:cacheprovider"]
        end = 1
        try:  # pytest itself raises what it finds at its end, such as a file that nobody closed
            end = pytest.main([*quick, "-m", "not slow and not browser", *tests])
        finally:
            os._exit(0 if end == pytest.ExitCode.NO_TESTS_COLLECTED else end)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--each", type=int, default=EACH, help="mutants of each part")
    parser.add_argument("--parts", nargs="*", default=list(TARGETS), choices=list(TARGETS))
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    os.chdir(ROOT)
    # Imports of all packages that tests need, once; then each child imports modae and the tests only.
    every = [path for part in options.parts for path in TARGETS[part][1]]
    pytest.main(["--collect-only", "-qq", "-p", "no:cacheprovider", *every, "--no-summary"])
    forget_ours()
    ends: dict[str, Counter[str]] = {part: Counter() for part in options.parts}
    begin = time.monotonic()
    with TemporaryDirectory() as folder:
        package = Path(folder) / "modae"
        shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
        for part in options.parts:
            before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
            if run_tests(package, *stages_of(part), IDLE) != 0:
                print(f"{part}: the tests fail without any change", flush=True)
                return 1
            usual = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
            print(f"{part}: the tests compute for {usual:.0f} s", flush=True)
            for step, mutant in enumerate(sample_of(part, options.each, options.seed)):
                ends[part][outcome(package, mutant, step, 10 + BUSY * round(usual))] += 1
    minutes = (time.monotonic() - begin) / 60.0
    share = report(ends)
    print(f"{share:.0%} of those that change something are killed; {minutes:.0f} minutes")
    return int(share < LIMIT)


def report(ends: dict[str, Counter[str]]) -> float:
    """Print a table of the parts, and return the share that was killed of those that count."""
    print("| Part | places | sampled | killed | survived | change nothing |\n|---|---|---|---|---|---|")
    whole: Counter[str] = sum(ends.values(), Counter())
    places = {part: len(mutants_of(part)) for part in ends}
    for part, its in [*ends.items(), ("all", whole)]:
        told = [part, f"{places.get(part, sum(places.values())):,}", its.total()]
        print(f"| {' | '.join(map(str, [*told, its['killed'], its['SURVIVED'], its['kept']]))} |")
    return whole["killed"] / max(1, whole["killed"] + whole["SURVIVED"])


def write(file: Path, text: str, moment: int) -> None:
    """A file whose time is another one each time: it is compiled again."""
    file.write_text(text, "utf-8")
    os.utime(file, (moment, moment))


def outcome(package: Path, mutant: Mutant, step: int, seconds: int) -> str:
    """What the tests say to a mutant; the copy is as it was afterwards."""
    if str(mutant) in KEPT:
        return "kept"
    start = time.monotonic()
    write(package / mutant.file, mutated(mutant), 2 * step)
    stages = stages_of(mutant.part, Path(mutant.file).stem)
    passed = all(run_tests(package, tests, seconds) == 0 for tests in stages)
    write(package / mutant.file, (PACKAGE / mutant.file).read_text("utf-8"), 2 * step + 1)
    end = "SURVIVED" if passed else "killed"
    print(f"{time.monotonic() - start:5.0f} s  {end:<8}  {mutant}", flush=True)
    return end


if __name__ == "__main__":
    raise SystemExit(main())
