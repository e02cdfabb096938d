"""Answers for data of any size in a file: the same as in memory, whole or absent."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import modae

RNG = np.random.default_rng(0)
NAMES = list("abcdefgh")
FRAME = pd.DataFrame(RNG.standard_normal((200, 8)) + 1.0, columns=NAMES)
X = FRAME.to_numpy()
LABELS = np.where(X[:, 0] > 1.0, "high", "low")
SOURCE = FRAME.assign(label=LABELS, id=np.arange(200))
MODEL = modae.LinearModularAutoencoder(3, 2, random_state=0).fit(FRAME)
PLAIN = modae.LinearModularAutoencoder(3, 2, random_state=0).fit(X)
CLASSIFIER = modae.ModularClassifier(MODEL, random_state=0).fit(FRAME, LABELS)


def batches(source=SOURCE, **options):
    return modae.open_batches(source, batch_size=33, **options)


def test_codes_in_parquet(tmp_path):
    SOURCE[["id", *reversed(NAMES), "label"]].to_parquet(tmp_path / "rows.parquet")
    source = batches(tmp_path / "rows.parquet", columns=NAMES)
    path = tmp_path / "codes.parquet"
    assert modae.transform_stream(MODEL, source, path, keep=["id", "label"]) == 200
    table = pyarrow.parquet.read_table(path)
    assert table.column_names == ["id", "label", *MODEL.get_feature_names_out()]
    np.testing.assert_array_equal(table["id"], np.arange(200))
    assert table["label"].to_pylist() == LABELS.tolist()
    codes = table.drop_columns(["id", "label"]).to_pandas().to_numpy()
    np.testing.assert_allclose(codes, MODEL.transform(FRAME), atol=1e-12)


def test_columns_that_the_model_does_not_know_are_left_out(tmp_path):
    SOURCE.to_parquet(tmp_path / "rows.parquet")
    modae.transform_stream(MODEL, tmp_path / "rows.parquet", tmp_path / "codes.npy")
    np.testing.assert_allclose(np.load(tmp_path / "codes.npy"), MODEL.transform(FRAME), atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_codes_in_npy(tmp_path, dtype):
    rows = X.astype(dtype)
    assert modae.transform_stream(PLAIN, batches(rows), tmp_path / "codes.npy") == 200
    codes = np.load(tmp_path / "codes.npy")
    assert codes.dtype == dtype
    np.testing.assert_allclose(codes, PLAIN.transform(rows), atol=1e-5 if dtype == np.float32 else 1e-12)
    np.load(tmp_path / "codes.npy", mmap_mode="r")  # the header is one that a memory map can use


def test_one_number_for_each_row(tmp_path):
    modae.transform_stream(PLAIN, batches(X), tmp_path / "s.npy", method="score_samples")
    np.testing.assert_allclose(np.load(tmp_path / "s.npy"), PLAIN.score_samples(X), atol=1e-12)
    modae.transform_stream(PLAIN, batches(X), tmp_path / "s.parquet", method="score_samples")
    assert pyarrow.parquet.read_table(tmp_path / "s.parquet").column_names == ["score_samples"]


def test_predictions(tmp_path):
    modae.transform_stream(CLASSIFIER, batches(), tmp_path / "p.npy", method="predict")
    np.testing.assert_array_equal(np.load(tmp_path / "p.npy"), CLASSIFIER.predict(FRAME))
    modae.transform_stream(CLASSIFIER, batches(), tmp_path / "p.parquet", method="predict", keep=["id"])
    table = pyarrow.parquet.read_table(tmp_path / "p.parquet")
    assert table.column_names == ["id", "prediction"]
    assert table["prediction"].to_pylist() == CLASSIFIER.predict(FRAME).tolist()


def test_probabilities(tmp_path):
    path = tmp_path / "p.parquet"
    modae.transform_stream(CLASSIFIER, batches(), path, method="predict_proba")
    table = pd.read_parquet(path)
    assert list(table.columns) == ["probability_high", "probability_low"]
    np.testing.assert_allclose(table, CLASSIFIER.predict_proba(FRAME))


def test_estimators_of_others(tmp_path):
    pipeline = make_pipeline(StandardScaler(), modae.LinearModularAutoencoder(3, 2, random_state=0))
    pipeline.fit(FRAME)
    modae.transform_stream(pipeline, batches(), tmp_path / "c.parquet")
    table = pd.read_parquet(tmp_path / "c.parquet")
    np.testing.assert_allclose(table, pipeline.transform(FRAME), atol=1e-12)


def test_kept_columns_are_no_features_of_a_model_without_names(tmp_path):
    with pytest.warns(UserWarning, match="was fitted without feature names"):
        modae.transform_stream(
            PLAIN, batches(SOURCE.drop(columns="label")), tmp_path / "c.parquet", keep=["id"]
        )
    assert len(pd.read_parquet(tmp_path / "c.parquet").columns) == 7


def test_codes_in_csv_and_endings_in_capitals(tmp_path):
    for name, read in (("C.CSV", pd.read_csv), ("C.Parquet", pd.read_parquet)):
        assert modae.transform_stream(MODEL, batches(), tmp_path / name, keep=["id"]) == 200
        assert list(read(tmp_path / name)["id"]) == list(SOURCE["id"])
        codes = read(tmp_path / name).drop(columns="id").to_numpy()
        np.testing.assert_allclose(codes, MODEL.transform(FRAME), atol=1e-12)


def test_types_of_kept_columns_stay(tmp_path):
    table = pa.Table.from_pandas(FRAME).append_column(
        "when", pa.array(np.arange(200), pa.timestamp("s"))
    )
    table = table.append_column("maybe", pa.array([None, *range(199)], pa.int32()))
    modae.transform_stream(MODEL, batches(table), tmp_path / "c.parquet", keep=["when", "maybe"])
    kept = pyarrow.parquet.read_table(tmp_path / "c.parquet")
    assert kept["maybe"].to_pylist() == [None, *range(199)]
    assert kept.schema.field("maybe").type == pa.int32()
    assert pa.types.is_timestamp(kept.schema.field("when").type)


def test_a_failure_leaves_the_old_file(tmp_path):
    path = tmp_path / "codes.npy"
    path.write_bytes(b"old")
    rows = X.copy()
    rows[150, 2] = np.nan
    for target in (path, tmp_path / "codes.parquet"):
        with pytest.raises(ValueError, match="row 150 of the array: column 2 is missing"):
            modae.transform_stream(PLAIN, batches(rows), target)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_bad_requests(tmp_path):
    def refused(match, error=ValueError, model=MODEL, source=SOURCE, name="c.parquet", **options):
        with pytest.raises(error, match=match):
            modae.transform_stream(model, source, tmp_path / name, **options)

    refused(r"path must end in \.npy, \.parquet, \.csv, got '.*c\.txt'", name="c.txt")
    refused("method must be one that LinearModularAutoencoder has, got 'predict'", method="predict")
    refused(r"answers 200 rows with shape \(3, 200, 2\)", method="transform_modules")
    refused("keep must be a list of names, got the string 'id'", TypeError, keep="id")
    refused("there is no column 'nothing'", keep=["nothing"])
    refused("needs a file with columns: write to a .parquet file", name="c.npy", keep=["id"])
    refused("needs a source whose columns have names", model=PLAIN, source=X, keep=["id"])
    refused(
        "'module0_0' is the name of an answer", source=SOURCE.assign(module0_0=1), keep=["module0_0"]
    )
    refused("no rows: there is nothing to write", model=PLAIN, source=X[:0])
    refused("not fitted", model=modae.LinearModularAutoencoder(), source=X)
    assert list(tmp_path.iterdir()) == []


def test_labels_that_npy_cannot_hold(tmp_path):
    model = modae.ModularClassifier(MODEL, random_state=0).fit(FRAME, LABELS.astype(object))
    with pytest.raises(
        ValueError, match=r"cannot hold answers of type object.*write to a \.parquet file"
    ):
        modae.transform_stream(model, batches(), tmp_path / "p.npy", method="predict")
    modae.transform_stream(model, batches(), tmp_path / "p.parquet", method="predict")
    assert (
        pd.read_parquet(tmp_path / "p.parquet")["prediction"].tolist() == model.predict(FRAME).tolist()
    )


def test_a_bar_is_drawn_on_stderr(tmp_path, capsys):
    modae.transform_stream(MODEL, SOURCE, tmp_path / "c.parquet", progress=True)
    assert "Writing" in capsys.readouterr().err
