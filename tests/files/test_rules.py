"""Rules refuse what breaks them, name it, and let pass what a fit can give."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from benchmarks.damaged_files import GOLDEN, entries_of, zipped
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays
from scipy import sparse

import modae
from files import parts
from modae.data.moments import Moments, moments_of_rows
from modae.data.spectrum import Spectrum
from modae.files.archive import ARRAYS, ModelFormatError
from modae.files.rules import (
    HOMES,
    Layout,
    choice,
    count,
    each,
    flag,
    layout_for,
    layout_named,
    layouts_in,
    maybe,
    number,
    numbers,
    part,
    precision,
    record,
    rows,
    text,
)


@dataclass
class Box:
    side: Any
    rows: Any


BOX = Layout(Box, {"side": count("D"), "rows": numbers(None, "D")})
MOMENTS = moments_of_rows(parts.X)

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
    (choice("a", None), "a"),
    (choice("a", None), None),
    (number(0.0, 1.0), 0),
    (number(0.0, 1.0), np.float32(1.0)),
    (count(), 1),
    (count(minimum=0), np.int64(0)),
    (numbers(2, None), np.zeros((2, 5))),
    (numbers(None), np.zeros(0)),
    (numbers(), np.array(1.0)),
    (numbers("D", "D"), np.eye(3)),
    (numbers(None, order=-1), np.array([2.0, 2.0, 1.0])),
    (numbers(None, kinds="i", within=count(minimum=0)), np.array([0, 3])),
    (numbers(None, within=None), np.array([np.nan])),
    (rows, sparse.csr_array(np.eye(2))),
    (rows, np.eye(2)),
    (maybe(flag), None),
    (each(flag), (True, False)),
    (each(flag, dict), {"a": True}),
    (each(text, list), ["a"]),
    (numbers(None, order=1), np.array([1.0, 1.0, 2.0])),
    (record(Moments), MOMENTS),
    (part("predict", columns="D"), modae.NearestNeighborRegressor().fit(parts.X, parts.TARGET)),
]

BAD = [
    (flag, 1),
    (flag, np.True_),
    (precision, np.dtype("f2")),
    (precision, "f8"),
    (choice("a", None), "b"),
    (choice("a", None), ["a"]),
    (number(), True),
    (number(), "1"),
    (number(), None),
    (number(), float("nan")),
    (number(), float("inf")),
    (number(0.0), -1e-300),
    (number(above=0.0), 0.0),
    (number(), 10**400),
    (count(), 0),
    (count(), 1.0),
    (count(), True),
    (count(), 2**60),
    (numbers(2), np.zeros(3)),
    (numbers(2), np.zeros((2, 1))),
    (numbers(None), [1.0]),
    (numbers(None), np.zeros(2, dtype=int)),
    (numbers(None), np.array([1.0, np.nan])),
    (numbers(None), np.array([-np.inf])),
    (numbers("D", "D"), np.zeros((2, 3))),
    (numbers(None, order=-1), np.array([1.0, 2.0])),
    (numbers(None, within=number(0.0)), np.array([-1.0])),
    (numbers(None, within=number(maximum=1.0)), np.array([2.0])),
    (numbers(None, kinds="i", within=count(minimum=0)), np.array([-1])),
    (rows, sparse.coo_array(np.eye(2))),
    (rows, sparse.csr_array(np.array([[np.nan, 1.0]]))),
    (rows, sparse.csr_array(np.array([[1, 1]]))),
    (maybe(flag), 0),
    (each(flag), [True]),
    (each(flag), (1,)),
    (each(flag, dict), {1: True}),
    (each(text, list), [1]),
    (numbers(None, order=1), np.array([2.0, 1.0])),
    (record(Moments), replace(MOMENTS, shift=MOMENTS.shift[1:])),
    (record(Moments), {"weight": 2}),
    (record(Spectrum), MOMENTS),
    (part("predict", columns="D"), parts.extractor()),
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
    matrix = sparse.csr_array(np.eye(3))
    matrix.indices[1] = 77
    with pytest.raises(ValueError, match="indices must be < 3"):
        rows(matrix, {})


def test_sizes_are_shared_and_renamed():
    sizes = {}
    count("M")(3, sizes)
    with pytest.raises(ModelFormatError, match="must have shape"):
        numbers("M", None)(np.zeros((2, 2)), sizes)
    each(flag, tuple, "M")((True, True, True), sizes)
    with pytest.raises(ModelFormatError, match="must be 3"):
        each(flag, tuple, "M")((True,), sizes)
    with pytest.raises(ModelFormatError, match="from 0 to 2"):
        count(minimum=0, below="M")(3, sizes)
    with pytest.raises(ModelFormatError, match="from 0 to 2"):
        numbers(None, kinds="i", within=count(minimum=0, below="M"))(np.array([0, 3]), sizes)
    record(Moments, D="T")(MOMENTS, sizes)
    assert sizes == {"M": 3, "T": 8}
    with pytest.raises(ModelFormatError, match="must have shape"):
        record(Moments, D="M")(MOMENTS, sizes)


def test_parts_fit_together():
    sizes = {"D": 8, "labels": np.array([0, 1, 2])}
    member = modae.NearestNeighborClassifier().fit(parts.X, parts.LABELS)
    part("predict", columns="D")(member, sizes)
    part("transform_modules", columns="D", M="M", H="W")(parts.extractor().fit(parts.X), sizes)
    assert (sizes["M"], sizes["W"]) == (2, 2)
    with pytest.raises(ModelFormatError, match="must be 2"):
        part("predict", columns="W")(member, sizes)
    with pytest.raises(ModelFormatError, match="other classes"):
        part("predict", columns="D")(member, {"labels": np.array([0, 1])})


def test_messages_name_class_and_field():
    with pytest.raises(ModelFormatError, match=r"Box\.rows: must have shape \(None, 3\), got \(1, 2\)"):
        BOX.check(Box(3, np.zeros((1, 2))))
    with pytest.raises(ModelFormatError, match=r"Box has no rows"):
        BOX.check(type("Empty", (), {"side": 3})())


def test_layouts_cover_the_library():
    for home in HOMES:
        for layout in layouts_in(home).values():
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
