"""Mistakes that people make: what they type, what is in the files, the exit code, what must be said.

Each runs in a folder with ``good.csv`` (six columns and the target ``kind``), ``vote.modae`` fitted to
it with the target, ``features.modae`` fitted without, ``rows.npy`` and ``few.npy``.
"""

from cli.bad import FIT, OTHER, ROW, TARGET, Bad, parquet, sparse, table
from cli.bad_models import BAD_MODELS

BAD_INPUTS = [
    # --- the table ------------------------------------------------------------------------------------
    Bad("missing file", "fit nowhere.csv -o new.modae", ("nowhere.csv", "no such file")),
    Bad("a folder", "fit folder -o new.modae", ("folder", "is a folder")),
    Bad("empty file", FIT, ("bad.csv", "empty"), files={"bad.csv": b""}),
    Bad("blank lines only", FIT, ("bad.csv", "empty"), files={"bad.csv": b"\n \n\n"}),
    Bad("names and no rows", TARGET, ("bad.csv", "no rows"), files=table()),
    Bad("one row", FIT, ("one row",), files={"bad.csv": b"a,b\n1,2\n"}),
    Bad("no line of names", FIT, ("numbers", "--no-header"), files={"bad.csv": b"1,2\n3,4\n"}),
    Bad("a short row", TARGET, ("bad.csv", "5 fields", "7"), files=table(ROW, b"1,2,3,4,5\n")),
    Bad("a long row", TARGET, ("8 fields", "7"), files=table(ROW, b"1,2,3,4,5,6,aster,8\n")),
    Bad(
        "a slip in a number",
        TARGET,
        ("'high'", "'3o'", "line 3", "--encode", "--drop"),
        files=table(ROW, b"1,2,3o,4,5,6,bellis\n"),
    ),
    Bad(
        "strings in a column",
        "fit good.csv -o new.modae",
        ("'kind'", "strings", "'aster'", "--encode", "--drop 'kind'"),
    ),
    Bad(
        "a slip far down",
        TARGET,
        ("'high'", "'3o'", "line 3002"),
        files=table(ROW * 3000, b"1,2,3o,4,5,6,bellis\n"),
    ),
    Bad(
        "a missing value",
        TARGET,
        ("'wide'", "row 2 (line 3)", "--impute"),
        files=table(ROW, b"1,,3,4,5,6,b\n"),
    ),
    Bad(
        "not a number",
        TARGET,
        ("'wide'", "row 2 (line 3)", "--impute"),
        files=table(ROW, b"1,nan,3,4,5,6,b\n"),
    ),
    Bad("infinite", TARGET, ("'wide'", "infinite", "line 3"), files=table(ROW, b"1,inf,3,4,5,6,b\n")),
    Bad(
        "a column without values",
        f"{TARGET} --impute",
        ("'wide'", "--drop wide"),
        files=table(b"1,,3,4,5,6,aster\n", b"2,,3,4,5,6,bellis\n"),
    ),
    Bad("two columns of one name", FIT, ("'a'", "more than once"), files={"bad.csv": b"a,b,a\n1,2,3\n"}),
    Bad("binary garbage", FIT, ("bad.csv", "not text"), files={"bad.csv": bytes(range(256)) * 20}),
    Bad("latin letters", TARGET, ("UTF-8", "iconv"), files=table(ROW, b"1,2,3,4,5,6,\xe9t\xe9\n")),
    Bad("latin letters in a name", FIT, ("UTF-8", "iconv"), files={"bad.csv": b"a,\xe9\n1,2\n"}),
    Bad(
        "a field of 17 MB",
        TARGET,
        ("8 MB",),
        files=table(ROW, b"1,2,3,4,5,6," + b"x" * 17_000_000 + b"\n", OTHER),
    ),
    Bad(
        "garbage as Parquet",
        "fit bad.parquet -o new.modae",
        ("Parquet",),
        files={"bad.parquet": b"PAR1" * 9},
    ),
    Bad("garbage as Arrow", "fit bad.arrow -o new.modae", ("Arrow",), files={"bad.arrow": b"ARROW" * 9}),
    Bad(
        "garbage as .npy",
        "fit bad.npy -o new.modae",
        ("bad.npy", "cannot be read"),
        files={"bad.npy": b"x" * 99},
    ),
    Bad(
        "garbage as .npz",
        "fit bad.npz -o new.modae",
        ("bad.npz", "cannot be read"),
        files={"bad.npz": b"x" * 99},
    ),
    Bad("an unknown ending", "fit bad.pdf -o new.modae", (".pdf", ".csv"), files={"bad.pdf": b"x"}),
    Bad(
        "garbage as .xlsx",
        "fit bad.xlsx -o new.modae",
        ("bad.xlsx", "cannot be read"),
        files={"bad.xlsx": b"x" * 99},
    ),
    Bad(
        "garbage as .jsonl",
        "fit bad.jsonl -o new.modae",
        ("bad.jsonl", "cannot be read"),
        files={"bad.jsonl": b"{x"},
    ),
    Bad(
        "lists in .jsonl",
        "fit bad.jsonl -o new.modae",
        ("'a'", "lists"),
        files={"bad.jsonl": b'{"a": [1], "b": 2}\n{"a": [2], "b": 3}\n'},
    ),
    Bad("empty stdin", "fit - -o new.modae", ("standard input", "empty"), stdin=b""),
    Bad(
        "an id in strings",
        f"{FIT} --encode",
        ("'name'", "--drop"),
        files={"bad.csv": b"name,x\n" + b"".join(b"n%d,%d\n" % (i, i) for i in range(1002))},
    ),
    Bad(
        "a row for the names",
        FIT,
        ("'1.5'", "--no-header"),
        files={"bad.csv": b"1.5,2,aster\n2,1,bellis\n"},
    ),
    Bad("latin letters beside it", FIT, ("UTF-8", "iconv"), files={"bad.csv": b"a,b\n1,\xe9\n2,x\n"}),
    Bad(
        "decimal commas",
        TARGET,
        ("'long'", "'1,5'", "--decimal ,"),
        files={"bad.csv": b"long;kind\n1,5;aster\n2,5;bellis\n"},
    ),
    Bad(
        "a slip below blank lines",
        TARGET,
        ("'high'", "'3o'", "line 6"),
        files=table(b"\n", ROW, b"\n\n1,2,3o,4,5,6,bellis\n"),
    ),
    Bad(
        "squares overflow",
        TARGET,
        ("'wide'", "too large"),
        files=table(ROW, b"1,1e300,3,4,5,6,bellis\n"),
    ),
    Bad(
        "a bad .gz", "fit bad.csv.gz -o new.modae", ("bad.csv.gz", "damaged"), files={"bad.csv.gz": b"x"}
    ),
    # --- the target -----------------------------------------------------------------------------------
    Bad("unknown target", "fit good.csv --target kindd -o new.modae", ("--target kindd", "'kind'")),
    Bad("one class", TARGET, ("'kind'", "'aster'", "two classes"), files=table(ROW, ROW)),
    Bad(
        "no target in any row",
        TARGET,
        ("'kind'", "no value in any row"),
        files=table(b"1,2,3,4,5,6,\n", b"2,1,4,3,6,5,\n"),
    ),
    Bad("nothing but the target", TARGET, ("no columns",), files={"bad.csv": b"kind\na\nb\n"}),
    Bad(
        "strings for a regression",
        "fit good.csv --target kind --task regress -o new.modae",
        ("strings", "regress"),
    ),
    Bad(
        "strings for a regression, by name", f"{TARGET} --task regress", ("'aster'.",), files=table(ROW)
    ),
    Bad("a target that is dropped", f"{TARGET} --drop kind", ("--target", "--drop"), files=table(ROW)),
    Bad(
        "a target of a sparse table",
        "fit bad.npz --target 1 -o new.modae",
        ("sparse", "no target"),
        files=sparse(),
    ),
    Bad(
        "a list as the target",
        "fit bad.parquet --target kind -o new.modae",
        ("'kind'", "list"),
        files=parquet(kind=[[1], [2]]),
    ),
    Bad(
        "too few rows for a regression",
        "fit bad.csv --target long -o new.modae",
        ("at least 5 rows", "there are 3"),
        files={"bad.csv": b"long,wide\n1.5,2\n2.5,1\n3.5,2\n"},
    ),
    Bad("index out of range", "fit rows.npy --target 6 -o new.modae", ("--target 6", "0 to 5")),
    Bad("a name for .npy", "fit rows.npy --target kind -o new.modae", ("--target kind", "index")),
    Bad(
        "tuning a class of one row",
        "tune bad.csv --target kind -o new.modae",
        ("'bellis'", "one row"),
        files=table(ROW, ROW, OTHER),
    ),
    Bad(
        "tuning few numbers",
        "tune bad.csv --target long -o new.modae",
        ("3 rows", "too few", "modae fit"),
        files={"bad.csv": b"long,wide\n1.5,2\n2.5,1\n3.5,2\n"},
    ),
    # --- options --------------------------------------------------------------------------------------
    Bad(
        "--diversity 2", "fit good.csv --diversity 2 -o new.modae", ("--diversity 2", "between 0 and 1")
    ),
    Bad(
        "--diversity nan",
        "fit good.csv --diversity nan -o new.modae",
        ("--diversity nan", "between 0 and 1"),
    ),
    Bad("tune without a target", "tune good.csv -o new.modae", ("tune", "--target")),
    Bad("--modules 0", "fit good.csv --modules 0 -o new.modae", ("--modules 0", "at least 1")),
    Bad("--components 0", "fit good.csv --components 0 -o new.modae", ("--components 0", "from 1")),
    Bad(
        "--components 7",
        "fit good.csv --components 7 --target kind -o new.modae",
        ("--components 7", "6 columns"),
    ),
    Bad("--components x", "fit good.csv --components x -o new.modae", ("--components x", "number")),
    Bad(
        "two sizes, not tuned",
        "fit good.csv --components 2,3 -o new.modae",
        ("--components 2,3", "modae tune"),
    ),
    Bad(
        "unknown estimator",
        "fit good.csv --target kind --estimator gpt -o new.modae",
        ("gpt", "knn", "forest"),
    ),
    Bad(
        "logistic regression",
        "fit good.csv --target long --drop kind --estimator logistic -o new.modae",
        ("logistic", "numbers", "knn"),
    ),
    Bad(
        "estimator without target",
        "fit good.csv --estimator svm -o new.modae",
        ("--estimator", "--target"),
    ),
    Bad(
        "unknown task",
        "fit good.csv --target kind --task cluster -o new.modae",
        ("--task cluster", "classify"),
    ),
    Bad("unknown scale", "fit good.csv --scale maybe -o new.modae", ("--scale maybe", "standard")),
    Bad(
        "unknown column to drop", "fit good.csv --drop id -o new.modae", ("--drop id", "no such column")
    ),
    Bad("--seed -1", "fit good.csv --seed -1 -o new.modae", ("--seed -1",)),
    Bad("--jobs 0", "fit good.csv --jobs 0 -o new.modae", ("--jobs 0", "-1")),
    Bad("unknown option", "fit good.csv --nonsense -o new.modae", ("--nonsense", "--help")),
    Bad("unknown option for machines", "fit good.csv --nonsense --json", ("--nonsense", "--help")),
    Bad("unknown command", "learn good.csv", ("learn", "--help")),
    Bad("no output", "fit good.csv", ("--out", "--help")),
    # --- the output -----------------------------------------------------------------------------------
    Bad("no folder", "fit good.csv --drop kind -o nowhere/new.modae", ("nowhere", "make it first")),
    Bad(
        "the output is a folder",
        "fit good.csv --drop kind -o folder.modae",
        ("folder.modae", "not a file"),
    ),
    Bad("output = input", "transform features.modae good.csv -o good.csv", ("good.csv", "input")),
    Bad("a model named .csv", "fit good.csv --drop kind -o new.csv", ("new.csv", ".modae")),
    Bad(
        "unknown ending of a table",
        "transform features.modae good.csv -o new.xlsx",
        (".parquet", ".csv"),
    ),
    Bad("strings in .npy", "predict vote.modae good.csv -o new.npy", (".npy", "strings", ".csv")),
    Bad("json and data on stdout", "predict vote.modae good.csv -o - --json", ("-o -", "--json")),
    Bad(
        "no permission",
        "fit good.csv --drop kind -o /sys/kernel/new.modae",
        ("/sys/kernel", "denied"),
        code=3,
    ),
    *BAD_MODELS,
]
