"""What a mistake is, and files to make it with."""

import io
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from scipy.sparse import csr_array, save_npz

HEAD = b"long,wide,high,deep,far,old,kind\n"
ROW = b"1,2,3,4,5,6,aster\n"
OTHER = b"2,1,4,3,6,5,bellis\n"
FIT = "fit bad.csv -o new.modae"
TARGET = f"{FIT} --target kind"
PREDICT = "predict vote.modae bad.csv -o new.csv"


@dataclass(frozen=True)
class Bad:
    """One mistake."""

    name: str
    command: str
    says: tuple[str, ...]
    code: int = 2
    files: dict[str, bytes] = field(default_factory=dict)
    stdin: bytes | None = None


def table(*lines, head=HEAD):
    return {"bad.csv": head + b"".join(lines)}


def parquet(**changed):
    """A Parquet file with the usual columns, some of them changed."""
    columns = {name: [1.0, 2.0] for name in ("long", "wide", "high", "deep", "far", "old")}
    file = io.BytesIO()
    pyarrow.parquet.write_table(pa.table(columns | {"kind": ["aster", "bellis"]} | changed), file)
    return {"bad.parquet": file.getvalue()}


def sparse():
    file = io.BytesIO()
    save_npz(file, csr_array(np.eye(6)))
    return {"bad.npz": file.getvalue()}


PREDICT_PARQUET = "predict vote.modae bad.parquet -o new.csv"
