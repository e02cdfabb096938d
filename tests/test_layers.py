"""Data flow one way: a file imports only from files before it in this list."""

import ast
import sys
from pathlib import Path

import pytest

import modae

ROOT = Path(modae.__file__).parent

ORDER = (
    "core.arrays",
    "core.objective",
    "core.rows",
    "core.moments",
    "core.modules",
    "core.devices",
    "core.spectrum",
    "core.gram",
    "core.lanczos",
    "core.covariance",
    "core.krylov",
    "core.stream",
    "core.bootstrap",
    "core.regression",
    "core.allocation",
    "core.tight_frames",
    "core.subspaces",
    "core.codecs",
    "core.attainability",
    "core.solution",
    "core.polish",
    "core.spectral",
    "core.backfitting",
    "core.gradient",
    "core.distance_correlation",
    "core",
    "inputs.namespaces",
    "inputs.validation",
    "inputs.dispatch",
    "inputs.tables",
    "inputs.sources",
    "inputs.arrow_files",
    "inputs.opening",
    "inputs.roles",
    "inputs.batch",
    "inputs.batches",
    "inputs.batch_rows",
    "inputs.dask_chunks_graph",
    "inputs.dask_chunks_kinds",
    "inputs.dask_chunks",
    "inputs",
    "estimators.wording",
    "estimators.figures",
    "estimators.parameters",
    "estimators.parallel",
    "estimators.path",
    "estimators.modular",
    "estimators.model",
    "estimators.bagging",
    "estimators.linear",
    "estimators.regression",
    "estimators",
    "ensembles.votes",
    "ensembles.neighbors",
    "ensembles.routing",
    "ensembles.composition",
    "ensembles.members",
    "ensembles.labels",
    "ensembles.modular",
    "ensembles.classifier",
    "ensembles.conformal",
    "ensembles.regressor",
    "ensembles.progress",
    "ensembles.folds",
    "ensembles.selection",
    "ensembles.search",
    "ensembles.tuning",
    "ensembles",
    "files",
    "persistence",
    "persistence.errors",
    "persistence.rules",
    "persistence.requests",
    "persistence.registry",
    "persistence.container",
    "persistence.trust",
    "persistence.foreign_graph",
    "persistence.foreign_rules",
    "persistence.foreign_models",
    "persistence.foreign_parts",
    "persistence.foreign_schema",
    "persistence.foreign_checks",
    "persistence.foreign_blob",
    "persistence.foreign",
    "persistence.writing",
    "persistence.reading",
    "persistence.linear_layouts",
    "persistence.ensemble_layouts",
    "persistence.checkpoints",
    "persistence.layouts",
    "persistence.api",
    "streaming",
    "streaming.journal",
    "streaming.fitting",
    "streaming.writers",
    "streaming.transforming",
    "deep.loss",
    "deep.activations",
    "deep.networks",
    "deep.copies",
    "deep.shortcut",
    "deep.options",
    "deep.randomness",
    "deep.batches",
    "deep.callbacks",
    "deep.net",
    "deep.trained",
    "deep.training",
    "deep.base",
    "deep.coding",
    "deep.autoencoder",
    "deep.supervised",
    "deep.regressor",
    "deep.classifier",
    "deep.layouts",
    "deep",
    "export",
    "export.extras",
    "export.graph",
    "export.answers",
    "export.votes",
    "export.linear",
    "export.neighbors",
    "export.foreign",
    "export.networks",
    "export.ensembles",
    "export.api",
    "metrics.terms",
    "metrics.votes",
    "metrics.distances",
    "metrics.curves",
    "metrics",
    "display.style",
    "display.parts",
    "display.allocation",
    "display.densities",
    "display.diversity_path",
    "display.reconstruction",
    "display.regions",
    "display",
    "report.charts",
    "report.png",
    "report.given",
    "report.subject",
    "report.trials",
    "report.errors",
    "report.spectrum",
    "report.likeness",
    "report.densities",
    "report.images",
    "report.looks",
    "report.words",
    "report.page",
    "report.api",
    "report",
    "datasets.digits",
    "datasets.rectangles",
    "datasets.convex",
    "datasets.photographs",
    "datasets.sources",
    "datasets.idx",
    "datasets.amat",
    "datasets.benchmarks",
    "datasets.mixture",
    "datasets",
    "reproduction",
    "reproduction.findings",
    "reproduction.store",
    "reproduction.instances",
    "reproduction.theorems_loss",
    "reproduction.theorems_bounds",
    "reproduction.theorems_algorithm",
    "reproduction.theorems_descent",
    "reproduction.theorems",
    "reproduction.convergence",
    "reproduction.table1",
    "reproduction.figure1",
    "reproduction.sweep",
    "reproduction.figure2",
    "reproduction.section51",
    "reproduction.section52",
    "reproduction.transfer",
    "reproduction.verdicts",
    "reproduction.page",
    "reproduction.run",
    "versions",
    "demo",
    "cli.errors",
    "cli.guard",
    "cli.talk",
    "cli.tables",
    "cli.named_tables",
    "cli.csv_tables",
    "cli.opening",
    "cli.output",
    "cli.targets",
    "cli.survey",
    "cli.steps",
    "cli.options",
    "cli.problem",
    "cli.judging",
    "cli.wording",
    "cli.tuning",
    "cli.models",
    "cli.fitting",
    "cli.applying",
    "cli.info",
    "cli.exporting",
    "cli.reporting",
    "cli.reproduce",
    "cli.app",
    "cli",
    "",  # the package itself: the table of public names
)

ALLOWED = {
    "core": {"numpy", "scipy"},
    "inputs": {"numpy", "scipy", "sklearn", "dask"},
    "estimators": {"numpy", "scipy", "sklearn", "joblib", "threadpoolctl"},
    "ensembles": {"numpy", "scipy", "sklearn", "joblib", "rich"},
    "metrics": {"numpy", "scipy", "sklearn"},
    "display": {"numpy", "scipy", "sklearn", "matplotlib"},
    "files": set(),
    "persistence": {"numpy", "scipy", "sklearn", "skops"},
    "streaming": {"numpy", "scipy"},
    "deep": {"numpy", "scipy", "sklearn", "torch", "skorch"},
    "export": {"numpy", "scipy", "sklearn", "onnx", "torch"},
    "report": {"numpy", "scipy", "sklearn", "plotly"},
    "datasets": {"numpy", "scipy", "sklearn", "mlxtend", "PIL"},
    "reproduction": {"numpy", "scipy", "sklearn", "threadpoolctl", "matplotlib"},
    "versions": {"scipy", "threadpoolctl"},
    "demo": {"numpy", "sklearn", "rich"},
    "cli": {"numpy", "scipy", "sklearn", "pandas", "pyarrow", "rich", "typer"},
    "": set(),
}


def name_of(file):
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def imports(file):
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative import"
            if [alias.name for alias in node.names] != ["__version__"]:
                yield node.module


FILES = {name_of(file): file for file in sorted(ROOT.rglob("*.py"))}


def test_every_file_has_its_place():
    assert set(FILES) == set(ORDER)


@pytest.mark.parametrize("name", [name for name in ORDER if name])
def test_a_file_imports_only_from_files_before_it(name):
    for imported in imports(FILES[name]):
        if imported == "modae" or imported.startswith("modae."):
            target = imported.removeprefix("modae").removeprefix(".")
            assert ORDER.index(target) < ORDER.index(name), f"{name} imports {imported}"


@pytest.mark.parametrize("name", ORDER)
def test_a_layer_keeps_to_its_dependencies(name):
    allowed = ALLOWED[name.partition(".")[0]] | set(sys.stdlib_module_names) | {"modae"}
    assert {imported.partition(".")[0] for imported in imports(FILES[name])} <= allowed


@pytest.mark.parametrize("name", ORDER)
def test_files_stay_short(name):
    assert len(FILES[name].read_text().splitlines()) <= 350
