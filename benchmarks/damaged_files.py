"""Damaged files, opened one after the other: ``python -m benchmarks.damaged_files 10000``.

Every golden file is changed in four ways: bytes anywhere in the file; values in the header; numbers,
shapes and types of arrays; values in a member of another library. In the last three the checksums are
right, so that the change reaches the reader. Each mutant is refused with a ``ModelFormatError``, or is
a model that keeps all rules and can be asked; a member is only opened, as what is in it is for skops to
judge.
No code of a file may run, which a canary proves: bait in the headers would create it.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import ZipFile

import numpy as np
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays
from sklearn.base import BaseEstimator

import modae
from modae.files.archive import ARRAYS, HEADER, write_entries
from modae.files.rules import layout_for

GOLDEN = sorted((Path(__file__).parents[1] / "tests" / "golden").glob("*/*.modae"))
CANARY = "canary"
BAIT: tuple[Any, ...] = (
    None, True, -1, 0, 10**30, 1e308, "x", [], {}, {"$": "tuple", "of": []}, {"$": "object", "at": 0},
    {"$": "object", "at": 1}, {"$": "array", "name": "0"}, {"$": "float", "of": "nan"},
)  # fmt: skip
METHODS = ("transform", "score_samples", "predict", "predict_proba", "decision_function")

Entries = dict[str, bytes]


def entries_of(content: bytes) -> Entries:
    """The entries of a zip by their names."""
    with ZipFile(BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(entries: Entries) -> bytes:
    """A file with right checksums."""
    target = BytesIO()
    write_entries(target, {name: [content] for name, content in entries.items()})
    return target.getvalue()


def any_bytes(content: bytes, rng: np.random.Generator) -> bytes:
    place, length = int(rng.integers(len(content))), int(rng.integers(1, 9))
    kinds = (b"", rng.bytes(length), content[place : place + length] * 2)
    return content[:place] + kinds[rng.integers(3)] + content[place + length :]


def header(content: bytes, rng: np.random.Generator) -> bytes:
    entries = entries_of(content)
    return zipped(entries | {HEADER: _other_json(entries[HEADER], rng)})


def arrays(content: bytes, rng: np.random.Generator) -> bytes:
    entries = entries_of(content)
    values = load_arrays(entries[ARRAYS])
    if not values:
        return content
    name = sorted(values)[rng.integers(len(values))]
    array = values[name].copy()
    change = rng.integers(4)
    if change == 0 and array.size:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            extreme = rng.choice([np.nan, np.inf, -1.0, 1e300, 2.0**31])
            array.reshape(-1)[rng.integers(array.size)] = np.asarray(extreme).astype(array.dtype)
    elif change == 1:
        array = array[..., :-1].copy() if array.ndim else array[None]
    elif change == 2:
        array = np.zeros(array.shape, dtype=rng.choice(["f4", "i8", "u1", "?"]))
    else:
        array = array.reshape(-1)
    return zipped(entries | {ARRAYS: save_arrays(values | {name: np.ascontiguousarray(array)})})


def member(content: bytes, rng: np.random.Generator) -> bytes:
    entries = entries_of(content)
    members = [name for name in entries if name.startswith("members/")]
    if not members:
        return content
    name = members[rng.integers(len(members))]
    inner = entries_of(entries[name])
    inner["schema.json"] = _other_json(inner["schema.json"], rng)
    return zipped(entries | {name: zipped(inner)})


def _other_json(text: bytes, rng: np.random.Generator) -> bytes:
    """One value of a tree becomes another, goes, or takes the place of its neighbour."""
    tree = json.loads(text)
    places = list(_places(tree))
    holder, key = places[rng.integers(len(places))]
    other, there = places[rng.integers(len(places))]
    change = rng.integers(3)
    if change == 0:
        holder[key] = BAIT[rng.integers(len(BAIT))]
    elif change == 1:
        del holder[key]
    else:
        holder[key] = json.loads(json.dumps(other[there]))
    return json.dumps(tree, separators=(",", ":")).encode()


def _places(node: Any) -> Iterator[tuple[Any, Any]]:
    keys = list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
    for key in keys:
        yield node, key
        yield from _places(node[key])


KINDS: dict[str, Callable[[bytes, np.random.Generator], bytes]] = {
    "any bytes": any_bytes, "header": header, "arrays": arrays, "member": member,
}  # fmt: skip


def outcome(content: bytes, use: bool, directory: str) -> str:
    """What comes of a file: "refused", "usable", "raised" (in use), or what is wrong with it."""
    path = Path(directory) / "mutant.modae"
    path.write_bytes(content)
    try:
        model = modae.load(path)
    except modae.ModelFormatError:
        return "refused"
    except Exception as error:
        return f"loading raised {type(error).__name__}: {error!s:.150}"
    layout = layout_for(type(model))
    fitted = isinstance(model, BaseEstimator) and hasattr(model, "n_features_in_")
    if layout is not None and (fitted or not isinstance(model, BaseEstimator)):
        layout.check(model)
    try:
        if use and fitted:
            rows = np.random.default_rng(0).normal(size=(3, model.n_features_in_))
            for method in METHODS:
                if hasattr(model, method):
                    getattr(model, method)(rows)
    except Exception:  # a clean exception of a model in use does no harm
        return "raised"
    return "code ran" if Path(CANARY).exists() else "usable"


def outcomes(count: int, seed: int = 0) -> Counter[tuple[str, str]]:
    """How many mutants of each kind came to what."""
    found: Counter[tuple[str, str]] = Counter()
    with TemporaryDirectory() as directory, warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for number in range(count):
            rng = np.random.default_rng([seed, number])
            kind = list(KINDS)[number % len(KINDS)]
            source = GOLDEN[rng.integers(len(GOLDEN))]
            content = KINDS[kind](source.read_bytes(), rng)
            found[kind, outcome(content, kind != "member", directory)] += 1
    return found


if __name__ == "__main__":
    table = outcomes(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
    for (kind, end), count in sorted(table.items()):
        print(f"{kind:<12} {end:<60} {count:>7,}")
    raise SystemExit(any(end not in ("refused", "usable", "raised") for _, end in table))
