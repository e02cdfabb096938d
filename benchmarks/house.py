"""Size of the code and length of the ways through it: ``python -m benchmarks.house [REVISION]``.

Code lines leave out docstrings, comments and blank lines. A walk counts the files of modae in which a
function is called, and how often one call is in another folder than the call before. With a revision of
git the same is measured there too, and both are printed side by side.
"""

import ast
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import threading
import warnings
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = {"sklearn", "skops", "dask", "distributed", "torch", "scipy", "numpy", "joblib", "narwhals"}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def docstring_lines(tree):
    lines = set()
    for node in ast.walk(tree):
        documented = isinstance(node, (ast.Module, ast.ClassDef, *FUNCTIONS))
        if documented and ast.get_docstring(node) is not None:
            lines.update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return lines


def is_private(node):
    if not isinstance(node, ast.ImportFrom) or (node.module or "").split(".")[0] not in PACKAGES:
        return False
    return any(part.startswith("_") for part in [*node.module.split("."), *(a.name for a in node.names)])


def body_length(function):
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return function.end_lineno - body[0].lineno + 1 if body else 0


def sizes(source):
    """Figures of all Python files of a source tree."""
    figures, classes, longest_file, longest_body = Counter(), Counter(), 0, 0
    for file in sorted((source / "modae").rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        tree = ast.parse(text)
        documentation = docstring_lines(tree)
        for number, line in enumerate(text.splitlines(), 1):
            code = line.strip() and not line.strip().startswith("#")
            figures["code lines"] += bool(code and number not in documentation)
        figures["files"] += 1
        longest_file = max(longest_file, text.count("\n"))
        for node in ast.walk(tree):
            figures["statements"] += isinstance(node, ast.stmt)
            figures["imports of private names"] += is_private(node)
            if isinstance(node, FUNCTIONS):
                figures["functions"] += 1
                longest_body = max(longest_body, body_length(node))
        classes.update(node.name for node in tree.body if isinstance(node, ast.ClassDef))
    figures["class names used twice"] = sum(count > 1 for count in classes.values())
    return dict(figures) | {"longest file": longest_file, "longest body": longest_body}


class Walk:
    """The files of modae in which functions are called while it is active."""

    def __init__(self):
        import modae

        self.home = str(Path(modae.__file__).parent) + os.sep
        self.calls = []

    def __call__(self, frame, event, argument):
        if event == "call" and frame.f_code.co_filename.startswith(self.home):
            self.calls.append(frame.f_code.co_filename.removeprefix(self.home))

    def along(self, action):
        action()  # imports happen here, and are not part of the way
        self.calls.clear()
        sys.setprofile(self)
        threading.setprofile(self)
        try:
            action()
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
        folders = [name.partition(os.sep)[0] for name in self.calls]
        changes = sum(one != other for one, other in pairwise(folders))
        return f"{len(set(self.calls))} / {changes}"


def walks():
    """Files touched and changes of folder on the ways that people take, on 60 x 8 rows."""
    import numpy as np
    from sklearn.linear_model import LogisticRegression

    from modae import (
        LinearModularAutoencoder,
        ModularClassifier,
        ModularClassifierCV,
        load,
        save,
    )
    from modae.cli import main

    warnings.simplefilter("ignore")
    X, y = np.random.default_rng(0).standard_normal((60, 8)), np.arange(60) % 3
    extractor = LinearModularAutoencoder(3, 3, random_state=0)
    vote = ModularClassifier(extractor, random_state=0)
    search = ModularClassifierCV(extractor, None, diversities=[0.3, 0.5, 0.7], cv=3, random_state=0)
    logistic = ModularClassifier(extractor, LogisticRegression()).fit(X, y)
    with tempfile.TemporaryDirectory() as folder:
        path, table = Path(folder, "model.modae"), Path(folder, "table.csv")
        names = ",".join([*(f"x{i}" for i in range(8)), "y"])
        np.savetxt(table, np.column_stack([X, y]), delimiter=",", header=names, comments="", fmt="%.6g")

        def command(*more):
            given = ["modae", "fit", str(table), "--target", "y", "-o", str(path), *more]
            argv, sys.argv = sys.argv, given
            try:
                with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
                    main()
            except SystemExit as end:
                if end.code:
                    raise
            finally:
                sys.argv = argv

        return {
            "LinearModularAutoencoder.fit": Walk().along(lambda: extractor.fit(X)),
            "ModularClassifier.fit": Walk().along(lambda: vote.fit(X, y)),
            "ModularClassifierCV.fit": Walk().along(lambda: search.fit(X, y)),
            "check_array in it": counted_validations(lambda: search.fit(X, y)),
            "modae fit table.csv --target y": Walk().along(command),
            "the same with --no-check": Walk().along(lambda: command("--no-check")),
            "save": Walk().along(lambda: save(logistic, path)),
            "load": Walk().along(lambda: load(path)),
        }


def counted_validations(action):
    from sklearn.utils import check_array

    calls = []

    def count(frame, event, argument):
        if event == "call" and frame.f_code is check_array.__code__:
            calls.append(1)

    sys.setprofile(count)
    try:
        action()
    finally:
        sys.setprofile(None)
    return str(len(calls))


def measured(source):
    """All figures of a source tree; walks in a process of their own, which imports that tree."""
    ways = subprocess.run(
        [sys.executable, __file__, "--walks"],
        env={**os.environ, "PYTHONPATH": str(source)},
        cwd=tempfile.gettempdir(),
        capture_output=True,
        text=True,
        check=True,
    )
    return sizes(source) | json.loads(ways.stdout.splitlines()[-1])


def main():
    if sys.argv[1:] == ["--walks"]:
        print(json.dumps(walks()))
        return
    columns = {"now": measured(ROOT / "src")}
    for revision in sys.argv[1:]:
        archive = subprocess.run(
            ["git", "archive", revision, "src"], cwd=ROOT, capture_output=True, check=True
        )
        with tempfile.TemporaryDirectory() as folder:
            with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as tree:
                tree.extractall(folder, filter="data")
            columns = {revision: measured(Path(folder) / "src")} | columns
    print(f"{'':32}" + "".join(f"{name:>14}" for name in columns))
    for figure in columns["now"]:
        values = (columns[name][figure] for name in columns)
        print(f"{figure:32}" + "".join(f"{value:>14}" for value in values))


if __name__ == "__main__":
    main()
