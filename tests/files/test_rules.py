"""Rules refuse what breaks them, name it, and let pass what a fit can give."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from benchmarks.mutants import GOLDEN, entries_of, zipped
from modae.files.registry import (
    HOMES,
    layout_for,
    layout_named,
    layouts_in,
    reference_to,
    resolve,
)
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays
from scipy import sparse

import modae
from files import parts
from modae.files.archive import ARRAYS, ModelFormatError
from modae.files.rules import (
    Choice,
    Count,
    Each,
    Floats,
    Layout,
    Maybe,
    Number,
    Numbers,
    Record,
    Rows,
    flag,
    precision,
)


@dataclass
class Box:
    side: Any
    rows: Any


BOX = Layout("test.Box", Box, {"side": Count("D"), "rows": Floats(None, "D")})
OTHER = Layout("test.Other", Box, {"side": Count("N"), "rows": Floats("N", None)})

# Files that are all ours; a search has a table of results too, which is shown and not computed with.
GUARDED = [
    path
    for path in GOLDEN
    if len(entries_of(path.read_bytes())) == 2
    and "search" not in path.stem
    and "unfitted" not in path.stem
]

GOOD = [
    (flag, True),
    (precision, np.dtype("f4")),
    (Choice(("a", None)), "a"),
    (Choice(("a", None)), None),
    (Number(minimum=0.0, maximum=1.0), 0),
    (Number(minimum=0.0, maximum=1.0), np.float32(1.0)),
    (Count(), 1),
    (Count(minimum=0), np.int64(0)),
    (Floats(2, None), np.zeros((2, 5))),
    (Floats(None), np.zeros(0)),
    (Floats(), np.array(1.0)),
    (Floats("D", "D"), np.eye(3)),
    (Floats(None, falling=True), np.array([2.0, 2.0, 1.0])),
    (Numbers((None,), "i", minimum=0), np.array([0, 3])),
    (Numbers((None,), "f", finite=False), np.array([np.nan])),
    (Rows("D"), sparse.csr_array(np.eye(2))),
    (Rows("D"), np.eye(2)),
    (Maybe(flag), None),
    (Each(flag), (True, False)),
    (Record(BOX), Box(2, np.zeros((1, 2)))),
]

BAD = [
    (flag, 1),
    (flag, np.True_),
    (precision, np.dtype("f2")),
    (precision, "f8"),
    (Choice(("a", None)), "b"),
    (Choice(("a", None)), ["a"]),
    (Number(), True),
    (Number(), "1"),
    (Number(), None),
    (Number(), float("nan")),
    (Number(), float("inf")),
    (Number(minimum=0.0), -1e-300),
    (Number(above=0.0), 0.0),
    (Number(), 10**400),
    (Count(), 0),
    (Count(), 1.0),
    (Count(), True),
    (Count(), 2**60),
    (Floats(2), np.zeros(3)),
    (Floats(2), np.zeros((2, 1))),
    (Floats(None), [1.0]),
    (Floats(None), np.zeros(2, dtype=int)),
    (Floats(None), np.array([1.0, np.nan])),
    (Floats(None), np.array([-np.inf])),
    (Floats("D", "D"), np.zeros((2, 3))),
    (Floats(None, falling=True), np.array([1.0, 2.0])),
    (Floats(None, minimum=0.0), np.array([-1.0])),
    (Floats(None, maximum=1.0), np.array([2.0])),
    (Numbers((None,), "i", minimum=0), np.array([-1])),
    (Rows("D"), sparse.coo_array(np.eye(2))),
    (Rows("D"), sparse.csr_array(np.array([[np.nan, 1.0]]))),
    (Rows("D"), sparse.csr_array(np.array([[1, 1]]))),
    (Maybe(flag), 0),
    (Each(flag), [True]),
    (Each(flag), (1,)),
    (Record(BOX), Box(3, np.zeros((1, 2)))),
    (Record(BOX), {"side": 2}),
]


def _name(case):
    rule, value = case
    return f"{getattr(rule, '__name__', type(rule).__name__)}-{value!r:.30}".replace("\n", " ")


@pytest.mark.parametrize(
    "number", range(len(GOOD)), ids=[f"{i}-{_name(case)}" for i, case in enumerate(GOOD)]
)
def test_what_is_right_passes(number):
    rule, value = GOOD[number]
    assert rule(value, {}) is None


@pytest.mark.parametrize(
    "number", range(len(BAD)), ids=[f"{i}-{_name(case)}" for i, case in enumerate(BAD)]
)
def test_what_is_wrong_is_refused(number):
    rule, value = BAD[number]
    with pytest.raises(ModelFormatError):
        rule(value, {})


def test_indices_of_sparse_rows_are_looked_at():
    rows = sparse.csr_array(np.eye(3))
    rows.indices[1] = 77
    with pytest.raises(ModelFormatError, match="sparse"):
        Rows("D")(rows, {})


def test_sizes_are_shared_and_renamed():
    sizes = {}
    Count("M")(3, sizes)
    with pytest.raises(ModelFormatError, match="must have shape"):
        Floats("M", None)(np.zeros((2, 2)), sizes)
    Each(flag, tuple, "M")((True, True, True), sizes)
    with pytest.raises(ModelFormatError, match="must be 3"):
        Each(flag, tuple, "M")((True,), sizes)
    Record(OTHER, {"N": "T"})(Box(4, np.zeros((4, 1))), sizes)
    assert sizes == {"M": 3, "T": 4}
    with pytest.raises(ModelFormatError):
        Record(OTHER, {"N": "T"})(Box(5, np.zeros((5, 1))), sizes)


def test_messages_name_class_and_field():
    with pytest.raises(
        ModelFormatError, match=r"test\.Box\.rows: must have shape \(None, 3\), got \(1, 2\)"
    ):
        BOX.check(Box(3, np.zeros((1, 2))))
    with pytest.raises(ModelFormatError, match=r"test\.Box has no rows"):
        BOX.check(type("Empty", (), {"side": 3})())


def test_layouts_cover_the_library():
    for layout in layouts_in(HOMES["modae."]).values():
        assert layout_named(layout.name) is layout
        assert layout_for(layout.cls) is layout
    for model in parts.unfitted().values():
        assert layout_for(type(model)) is not None
    assert layout_for(dict) is None
    for name in ("modae.Nothing", "os.system", 3, None, "", "modae.deep.Nothing"):
        with pytest.raises(ModelFormatError, match="no class"):
            layout_named(name)


@pytest.mark.parametrize("path", GUARDED, ids=lambda path: path.stem)
@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_every_array_of_a_file_is_guarded(path, wrong, tmp_path):
    """One number that is none, in any array, is found behind a right checksum."""
    entries = entries_of(path.read_bytes())
    arrays = load_arrays(entries[ARRAYS])
    for name, values in arrays.items():
        if values.dtype.kind == "f" and values.size:
            changed = values.copy()
            changed.reshape(-1)[-1] = wrong
            forged = entries | {ARRAYS: save_arrays(arrays | {name: changed})}
            (tmp_path / "file").write_bytes(zipped(forged))
            with pytest.raises(ModelFormatError, match="finite"):
                modae.load(tmp_path / "file")


def test_every_array_of_a_file_has_its_shape(tmp_path):
    for path in GUARDED:
        entries = entries_of(path.read_bytes())
        arrays = load_arrays(entries[ARRAYS])
        for name, values in arrays.items():
            if "deep" not in path.stem and values.ndim:
                forged = entries | {ARRAYS: save_arrays(arrays | {name: values[None]})}
                (tmp_path / "file").write_bytes(zipped(forged))
                with pytest.raises(ModelFormatError):
                    modae.load(tmp_path / "file")


def test_references():
    assert reference_to(np.linalg.norm) == "numpy.linalg:norm"
    assert resolve("numpy.linalg:norm", ["numpy.linalg.norm"]) is np.linalg.norm
    for name in ("os:system", "os.system", "", 3, None, "a:b:c", "builtins:eval"):
        with pytest.raises(ModelFormatError):
            resolve(name, [])
    with pytest.raises(ImportError, match="pip install nowhere"):
        resolve("nowhere:thing", ["nowhere.thing"])
    with pytest.raises(ModelFormatError, match="installed version"):
        resolve("numpy:nothing", ["numpy.nothing"])
    with pytest.raises(TypeError, match="top level"):
        reference_to(lambda: None)
