"""What can be wrong with data in batches, and what the error says."""

import errno
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from scipy import sparse

import modae

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 4))
FRAME = pd.DataFrame(X, columns=list("abcd"))


def fit(batches):
    return modae.LinearModularAutoencoder(2, 1, random_state=0).fit(batches)


def opened_error(match, source, error=ValueError, **options):
    with pytest.raises(error, match=match):
        modae.open_batches(source, **options)


def spoiled(row, column, value):
    rows = X.copy()
    rows[row, column] = value
    return rows


def test_a_file_of_another_width_is_named(tmp_path):
    np.save(tmp_path / "0.npy", X)
    np.save(tmp_path / "1.npy", X[:, :3])
    opened_error(r"1\.npy: there are 3 columns, and the first rows have 4", tmp_path)


def test_a_file_with_other_names_is_named(tmp_path):
    FRAME.to_parquet(tmp_path / "0.parquet")
    FRAME.rename(columns={"b": "z"}).to_parquet(tmp_path / "1.parquet")
    opened_error(r"1\.parquet: there is no column 'b'; the columns are 'a', 'z', 'c', 'd'", tmp_path)
    assert modae.open_batches(tmp_path, columns=["a", "d"]).n_features == 2


def test_a_file_with_one_more_column_is_named(tmp_path):
    FRAME.to_parquet(tmp_path / "0.parquet")
    FRAME.assign(e=1.0).to_parquet(tmp_path / "1.parquet")
    opened_error(r"1\.parquet: column 'e' is not in the first rows: name the features", tmp_path)
    assert fit(modae.open_batches(tmp_path, columns=list("abcd"))).loss_ > 0


def test_batches_of_another_width_are_named():
    with pytest.raises(ValueError, match=r"batch 1, rows 0 to 59: there are 3 columns"):
        fit(modae.open_batches([X, X[:, :3]]))
    with pytest.raises(ValueError, match=r"batch 1, rows 0 to 59: there is no column 'b'"):
        fit(modae.open_batches([FRAME, FRAME.drop(columns="b")]))
    with pytest.raises(ValueError, match=r"batch 1, .*have no names, and those of the first rows have"):
        fit(modae.open_batches([FRAME, X]))


@pytest.mark.parametrize("batch_size", [None, 3, 7])
@pytest.mark.parametrize(("value", "words"), [(np.nan, r"is missing \(NaN\)"), (-np.inf, "is -inf")])
def test_a_missing_entry_is_found(tmp_path, batch_size, value, words):
    np.save(tmp_path / "0.npy", X)
    np.save(tmp_path / "1.npy", spoiled(17, 2, value))
    batches = modae.open_batches(tmp_path, batch_size=batch_size)
    with pytest.raises(ValueError, match=rf"row 17 of .*1\.npy: column 2 {words}.*impute"):
        fit(batches)
    model = fit(X)
    with pytest.raises(ValueError, match=rf"row 17 of .*1\.npy: column 2 {words}"):
        model.transform(batches)


@pytest.mark.parametrize("batch_size", [None, 3])
def test_a_missing_entry_is_found_by_name(tmp_path, batch_size):
    frame = FRAME.assign(c=np.arange(60)).astype({"c": "Int64"})
    frame.loc[41, "c"] = None
    pyarrow.parquet.write_table(pa.Table.from_pandas(frame), tmp_path / "x.parquet", row_group_size=10)
    batches = modae.open_batches(tmp_path / "x.parquet", batch_size=batch_size)
    with pytest.raises(ValueError, match=r"row 41 of .*x\.parquet: column 'c' is missing"):
        fit(batches)


def test_a_missing_entry_of_a_sparse_batch_is_found():
    with pytest.raises(ValueError, match=r"row 5 of batch 1: column 3 is missing"):
        fit(modae.open_batches([X, sparse.csr_array(spoiled(5, 3, np.nan))]))


def test_a_missing_entry_of_a_row_without_weight_is_found_too():
    frame = pd.DataFrame(spoiled(5, 3, np.nan)).set_axis(list("abcd"), axis=1)
    with pytest.raises(ValueError, match="row 5 of the table: column 'd' is missing"):
        fit(modae.open_batches(frame.assign(w=np.arange(60) != 5), weight="w"))


def test_huge_numbers_are_no_missing_ones():
    assert np.isfinite(fit(modae.open_batches(1e160 * X[:3] / 1e20, batch_size=2)).loss_)
    with pytest.raises(ValueError, match="multiply X by a power of ten"):
        fit(modae.open_batches(1e200 * X))


def test_strings_are_refused_by_name(tmp_path):
    FRAME.assign(c="word").to_parquet(tmp_path / "x.parquet")
    match = r"x\.parquet: column 'c' has type String, and features must be numbers.*columns=\[\.\.\.\]"
    with pytest.raises(ValueError, match=match):
        fit(modae.open_batches(tmp_path / "x.parquet"))
    assert modae.open_batches(tmp_path / "x.parquet", columns=["a", "b"]).n_features == 2
    with pytest.raises(ValueError, match="the array: the matrix has type complex128"):
        fit(modae.open_batches(X + 1j))
    with pytest.raises(ValueError, match="masked entries"):
        fit(modae.open_batches(np.ma.masked_array(X, X > 1)))


def test_strings_in_a_later_batch_are_refused_with_their_place():
    with pytest.raises(ValueError, match=r"batch 1, rows 0 to 59: column 'c' has type"):
        fit(modae.open_batches([FRAME, FRAME.assign(c="word")]))


def test_a_csv_file_that_changes_its_mind(tmp_path, monkeypatch):
    monkeypatch.setattr("modae.sources.arrow_files.BLOCK_BYTES", 4096)
    (tmp_path / "x.csv").write_text("a,b\n1,2\n3,4.5\n" + "5,6\n" * 4000 + "word,7\n")
    message = r"x\.csv cannot be read as CSV: line 4004 has 'word' in column 'a', which is not a number"
    with pytest.raises(ValueError, match=message):
        fit(modae.open_batches(tmp_path / "x.csv"))


def test_an_iterator_is_read_once():
    batches = modae.open_batches(iter([X]))
    fit(batches)
    with pytest.raises(
        ValueError, match=r"iterator that was read already.*function that returns a fresh"
    ):
        fit(batches)
    with pytest.raises(ValueError, match="iterator that was read already"):
        modae.ModularClassifier(modae.LinearModularAutoencoder(2, 1)).fit(
            modae.open_batches(iter([X])), np.arange(60) % 2
        )


@pytest.mark.parametrize("source", [[], iter([]), lambda: iter([])])
def test_no_batches(source):
    opened_error("has no batches", source)


def test_no_rows():
    with pytest.raises(ValueError, match="no rows: there would be no data"):
        fit(modae.open_batches([X[:0], X[:0]]))
    with pytest.raises(ValueError, match="no rows: there is nothing to answer"):
        fit(X).transform(modae.open_batches([X[:0]]))
    opened_error("no columns", X[:, :0])


def test_things_that_are_no_sources(tmp_path):
    opened_error("source must be a path, an array, .* got int", 3, TypeError)
    opened_error("does not exist", tmp_path / "nothing.npy", FileNotFoundError)
    opened_error("no files that can be read", tmp_path)
    (tmp_path / "x.log").write_text("1 2")
    opened_error(r"must end in \.npy, \.parquet", tmp_path / "x.log")
    opened_error(r"a batch must be a matrix or a table, got ndarray of shape \(4,\)", [X[0]])
    np.save(tmp_path / "x.npy", X)
    FRAME.to_csv(tmp_path / "x.csv")
    opened_error(r"files of several kinds \(\.csv, \.npy\)", tmp_path)
    opened_error("Dataset of pyarrow, .* got DoubleScalar", pa.scalar(1.0), TypeError)
    opened_error(r"a batch must be a matrix or a table, got DoubleScalar", pa.array([1.0, 2.0]))


@pytest.mark.parametrize(
    "name", ["x.npy", "x.parquet", "x.feather", "x.csv", "x.txt", "x.xlsx", "x.jsonl"]
)
def test_damaged_files_are_named(tmp_path, name):
    (tmp_path / name).write_bytes(b"\x93NUMPY\x00\x01\xff")
    opened_error(rf"{name} cannot be read as", tmp_path / name)


def test_what_fails_on_the_disk_is_no_mistake_in_the_file(tmp_path, monkeypatch):
    def unreadable(*_, **__):
        raise PermissionError(errno.EACCES, "Permission denied")

    np.save(tmp_path / "x.npy", X)
    monkeypatch.setattr(np, "load", unreadable)
    opened_error("Permission denied", tmp_path / "x.npy", PermissionError)


def test_choices_of_columns():
    opened_error("there is no column 'z'", FRAME, target="z")
    opened_error("columns must be a list of names", FRAME, TypeError, columns="abcd")
    opened_error("target='a' is also one of columns", FRAME, columns=["a", "b"], target="a")
    opened_error("columns must name each feature once", FRAME, columns=["a", "a"])
    opened_error("columns must name one feature or more", FRAME, columns=[])
    opened_error("target='a' names a column, and those of the array have no names", X, target="a")
    opened_error("column 'a' is there more than once", FRAME.set_axis(list("abca"), axis=1))
    opened_error("batch_size must be at least 1, got 0", X, batch_size=0)
    opened_error("open already", modae.open_batches(X), batch_size=3)
    with pytest.raises(ValueError, match="no target: name its column"):
        modae.open_batches(FRAME).read_target()


def test_weights_that_do_not_fit():
    weighted = modae.open_batches(FRAME, weight="a")
    with pytest.raises(
        ValueError, match="the table, rows 0 to 59: sample_weight must be finite and not neg"
    ):
        fit(weighted)
    positive = modae.open_batches(FRAME.abs(), weight="a")
    with pytest.raises(ValueError, match="sample_weight and the weights in column 'a': give one"):
        modae.LinearModularAutoencoder(2, 1).fit(positive, sample_weight=np.ones(60))
    with pytest.raises(ValueError, match="BaggingAutoencoder takes no weights"):
        modae.BaggingAutoencoder(2, 1).fit(positive)
    for n_weights in (59, 61):
        unknown = modae.open_batches(lambda: iter([X]))
        with pytest.raises(ValueError, match="sample_weight must have one number for each"):
            modae.LinearModularAutoencoder(2, 1).fit(unknown, sample_weight=np.ones(n_weights))


def test_labels_that_do_not_fit():
    with pytest.raises(ValueError, match="y must have one label for each of the 60 rows, got 7"):
        modae.ModularClassifier().fit(modae.open_batches(X), np.arange(7))


def test_estimators_that_need_all_rows_say_so():
    with pytest.raises(TypeError, match=r"pass batches\.to_array\(\), if they fit"):
        modae.LinearModularRegressor(2, 1).fit(modae.open_batches(X), X)


def test_names_that_the_model_does_not_know():
    model = fit(modae.open_batches(FRAME))
    with pytest.raises(ValueError, match="Feature names seen at fit time, yet now missing"):
        model.transform(modae.open_batches(FRAME.rename(columns={"a": "z"})))


def test_without_pyarrow(tmp_path):
    FRAME.to_parquet(tmp_path / "x.parquet")
    np.save(tmp_path / "x.npy", X)
    code = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "import modae; modae.open_batches('x.npy')\n"
        "try: modae.open_batches('x.parquet')\n"
        "except ImportError as error: print(error)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    missing = "Parquet, Arrow and CSV files cannot be used without pyarrow"
    assert run.stdout == f'{missing}: pip install "modae[arrow]"\n', run.stderr
