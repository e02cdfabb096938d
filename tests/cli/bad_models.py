"""UserErrors with a model and a new table; see ``bad_inputs``."""

import pyarrow as pa

from cli.bad import PREDICT, PREDICT_PARQUET, ROW, Bad, parquet, table

BAD_MODELS = [
    Bad("missing model", "predict nowhere.modae good.csv -o new.csv", ("nowhere.modae", "no such file")),
    Bad("not a model", "predict good.csv good.csv -o new.csv", ("good.csv", "modae")),
    Bad("a truncated model", "info cut.modae", ("cut.modae",)),
    Bad("a flipped bit", "transform flipped.modae good.csv -o new.csv", ("flipped.modae",)),
    Bad(
        "a model without target",
        "predict features.modae good.csv -o new.csv",
        ("features.modae", "--target"),
    ),
    Bad(
        "a column is missing",
        PREDICT,
        ("'old'", "lacks"),
        files={"bad.csv": b"long,wide,high,deep,far\n1,2,3,4,5\n"},
    ),
    Bad("another width", "predict vote.modae few.npy -o new.csv", ("few.npy", "4 columns", "6")),
    Bad(
        "a missing value, later",
        PREDICT,
        ("bad.csv", "'wide'", "line 3"),
        files=table(ROW, b"1,,3,4,5,6,a\n"),
    ),
    Bad(
        "infinite, later",
        PREDICT,
        ("'wide'", "infinite", "line 3"),
        files=table(ROW, b"1,inf,3,4,5,6,a\n"),
    ),
    Bad("strings, later", PREDICT, ("'wide'", "'x'", "line 3"), files=table(ROW, b"1,x,3,4,5,6,a\n")),
    Bad(
        "keep what is not there",
        "predict vote.modae good.csv --keep id -o new.csv",
        ("--keep id", "no such column"),
    ),
    Bad(
        "keep without names", "predict vote.modae rows.npy --keep id -o new.csv", ("--keep", "no names")
    ),
    *[
        Bad(f"{kind}, later", PREDICT_PARQUET, ("'wide'", "numbers"), files=parquet(wide=values))
        for kind, values in {
            "strings in Parquet": ["x", "y"],
            "dates": pa.array([0, 1], pa.timestamp("s")),
            "lists": [[1.0], [2.0]],
        }.items()
    ],
    Bad("a list as the target, later", PREDICT_PARQUET, ("'kind'",), files=parquet(kind=[[1], [2]])),
    Bad(
        "keep a record",
        f"{PREDICT_PARQUET} --keep it",
        ("'it'", ".parquet"),
        files=parquet(it=[{"a": 1}, {"a": 2}]),
    ),
    Bad(
        "keep what is written",
        f"{PREDICT} --keep disagreement",
        ("--keep disagreement", "rename"),
        files=table(b"1,2,3,4,5,6,aster,0\n", head=b"long,wide,high,deep,far,old,kind,disagreement\n"),
    ),
    Bad("latin letters, later", PREDICT, ("UTF-8", "iconv"), files=table(b"1,2\xe9,3,4,5,6,aster\n")),
    Bad("no rows, later", PREDICT, ("bad.csv", "no rows"), files=table()),
]
