"""A streamed fit: the model of fit, and a checkpoint that says what it is of."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import modae
from modae.data.summary import DataSummary
from modae.streaming.fitting import StreamCheckpoint

RNG = np.random.default_rng(0)
X = RNG.standard_normal((500, 12)) @ RNG.standard_normal((12, 12)) + 3.0


def new(**params):
    return modae.LinearModularAutoencoder(
        **{"n_modules": 3, "n_components": 2, "random_state": 0} | params
    )


def bits(model):
    return model.encoders_.tobytes(), model.mean_.tobytes(), model.loss_


class Stopped(KeyboardInterrupt):
    """Stands for Ctrl-C at a place of our choice."""


def stopping(rows, batch_size, stop, error=Stopped):
    """A function that reads the rows, and is interrupted before row ``stop``."""

    def read():
        for start in range(0, len(rows), batch_size):
            if start >= stop:
                raise error
            yield rows[start : start + batch_size]

    return read


def interrupted(path, rows=X, batch_size=40, stop=200, model=None, **options):
    """A checkpoint that Ctrl-C left."""
    source = modae.open_batches(stopping(rows, batch_size, stop), batch_size=batch_size)
    with pytest.raises(KeyboardInterrupt):
        modae.fit_stream(model or new(), source, checkpoint=path, every=1e9, **options)
    return path


def whole(rows=X, batch_size=40):
    return modae.open_batches(stopping(rows, batch_size, np.inf), batch_size=batch_size)


@pytest.mark.parametrize("batch_size", [None, 7, 40, 500])
def test_the_model_is_that_of_fit(batch_size, tmp_path):
    batches = modae.open_batches(X, batch_size=batch_size)
    model = new()
    assert modae.fit_stream(model, batches, checkpoint=tmp_path / "c", every=0) is model
    assert bits(model) == bits(new().fit(batches))
    assert model.loss_ == pytest.approx(new().fit(X).loss_, rel=1e-12)
    assert list(tmp_path.iterdir()) == []


@given(st.integers(1, 60), st.integers(0, 500), st.sampled_from([np.float32, np.float64]))
def test_an_interrupted_fit_goes_on_to_the_same_bits(tmp_path_factory, batch_size, stop, dtype):
    rows = X.astype(dtype)
    path = tmp_path_factory.mktemp("fit") / "fit.modae"
    stop = max(stop, batch_size)  # the first batch is there, or there would be nothing to stop
    if stop <= 499 // batch_size * batch_size:  # there is a batch that begins there or later
        interrupted(path, rows, batch_size, stop)
    model = modae.fit_stream(new(), whole(rows, batch_size), checkpoint=path)
    assert bits(model) == bits(new().fit(whole(rows, batch_size)))
    assert not path.exists()


def test_it_goes_on_where_it_stopped(tmp_path):
    path = interrupted(tmp_path / "fit.modae", stop=200)
    checkpoint = modae.load(path)
    assert (type(checkpoint), checkpoint.n_rows) == (StreamCheckpoint, 200)
    assert checkpoint.stream.moments.weight == 200.0
    assert modae.describe(path)["class"] == "StreamCheckpoint"


def test_a_seekable_source_reads_only_what_is_left(tmp_path):
    rows = X.copy()
    source = modae.open_batches(rows, batch_size=50)
    journal = tmp_path / "fit.modae"
    rows[420, 3] = np.nan
    with pytest.raises(ValueError, match="row 420 of the array: column 3 is missing"):
        modae.fit_stream(new(), source, checkpoint=journal, every=1e9)
    assert modae.load(journal).n_rows == 400
    rows[:] = X
    rows[300] = np.nan  # would be noticed if it were read again
    model = modae.fit_stream(new(), source, checkpoint=journal)
    assert bits(model) == bits(new().fit(modae.open_batches(X, batch_size=50)))


def test_weights_and_pending_rows_are_resumed(tmp_path):
    frame = pd.DataFrame(X).set_axis([f"c{place}" for place in range(12)], axis=1)
    frame["w"] = RNG.integers(0, 3, 500)

    def opened(stop):
        return modae.open_batches(stopping(frame, 5, stop), weight="w", batch_size=5)

    with pytest.raises(KeyboardInterrupt):
        modae.fit_stream(new(), opened(255), checkpoint=tmp_path / "c")
    assert modae.load(tmp_path / "c").stream.n_pending > 0
    model = modae.fit_stream(new(), opened(np.inf), checkpoint=tmp_path / "c")
    assert bits(model) == bits(new().fit(opened(np.inf)))


def test_sums_serve_a_model_of_another_size(tmp_path):
    path = interrupted(tmp_path / "c")
    model = modae.fit_stream(new(n_modules=4, diversity=0.8), whole(), checkpoint=path)
    assert bits(model) == bits(new(n_modules=4, diversity=0.8).fit(whole()))


OTHERS = {
    "batch_size is 40 there and 41 here": lambda: modae.open_batches(
        stopping(X, 40, np.inf), batch_size=41
    ),
    "the digest of the first rows is": lambda: whole(X + 1.0),
    "the number of columns is 12 there and 11 here": lambda: whole(X[:, :11]),
    "dtype is float64 there and float32 here": lambda: whole(X.astype(np.float32)),
    "the kind of source is function there and array here": lambda: X,
}


@pytest.mark.parametrize("words", OTHERS)
def test_a_checkpoint_of_another_fit_is_refused(words, tmp_path):
    path = interrupted(tmp_path / "c")
    before = path.read_bytes()
    with pytest.raises(ValueError, match=rf"belongs to another fit: .*{words}.*To start afresh, delete"):
        modae.fit_stream(new(), OTHERS[words](), checkpoint=path)
    assert path.read_bytes() == before


def test_a_source_that_has_lost_rows_is_refused(tmp_path):
    path = interrupted(tmp_path / "c", stop=400)
    before = path.read_bytes()
    with pytest.raises(ValueError, match="the source has 300 rows, the checkpoint is at row 400"):
        modae.fit_stream(new(), whole(X[:300]), checkpoint=path)
    assert path.read_bytes() == before
    assert (
        modae.fit_stream(new(), whole(X[:400]), checkpoint=path).loss_ == new().fit(whole(X[:400])).loss_
    )


def test_a_checkpoint_of_another_precision_is_refused(tmp_path):
    path = interrupted(tmp_path / "c", X.astype(np.float32))
    with pytest.raises(ValueError, match="upcast is False there and True here"):
        modae.fit_stream(new(upcast=True), whole(X.astype(np.float32)), checkpoint=path)


def test_a_damaged_checkpoint_is_refused(tmp_path):
    path = interrupted(tmp_path / "c")
    content = path.read_bytes()
    path.write_bytes(content[:-20])
    with pytest.raises(modae.ModelFormatError):
        modae.fit_stream(new(), whole(), checkpoint=path)
    assert path.read_bytes() == content[:-20]


def test_a_model_is_never_overwritten(tmp_path):
    modae.save(new().fit(X), tmp_path / "model.modae")
    before = (tmp_path / "model.modae").read_bytes()
    with pytest.raises(ValueError, match="a file with LinearModularAutoencoder, not an unfinished fit"):
        modae.fit_stream(new(), X, checkpoint=tmp_path / "model.modae")
    assert (tmp_path / "model.modae").read_bytes() == before


def test_places_where_no_checkpoint_can_be(tmp_path):
    with pytest.raises(FileNotFoundError, match="make it first"):
        modae.fit_stream(new(), X, checkpoint=tmp_path / "nowhere" / "c")
    with pytest.raises(FileExistsError, match="not a regular file"):
        modae.fit_stream(new(), X, checkpoint=tmp_path)


def test_a_disk_that_fails_is_an_error_that_is_seen(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("modae.streaming.fitting.save", full)
    with pytest.raises(OSError, match="No space left"):
        modae.fit_stream(new(), X, checkpoint=tmp_path / "c", every=0)


def test_other_estimators_are_refused():
    for other in (modae.BaggingAutoencoder(), make_pipeline(new()), LinearClass):
        with pytest.raises(TypeError, match="estimator must be a LinearModularAutoencoder"):
            modae.fit_stream(other, X)


LinearClass = modae.LinearModularAutoencoder


def test_bad_options():
    with pytest.raises(ValueError, match="every"):
        modae.fit_stream(new(), X, every=-1.0)
    with pytest.raises((TypeError, ValueError), match="progress"):
        modae.fit_stream(new(), X, progress="yes")
    with pytest.raises(ValueError, match="n_modules"):
        modae.fit_stream(new(n_modules=0), X)


def test_an_earlier_fit_is_forgotten():
    model = new().fit(X[:100])
    assert bits(modae.fit_stream(model, X)) == bits(modae.fit_stream(clone(model), X))


@pytest.mark.parametrize("source", [X, stopping(X, 40, np.inf)], ids=["known", "unknown"])
def test_a_bar_is_drawn_on_stderr(source, capsys):
    modae.fit_stream(new(), source, progress=True)
    printed = capsys.readouterr()
    assert "Fitting" in printed.err
    assert printed.out == ""


def test_a_checkpoint_is_checked_as_any_file_is(tmp_path):
    path = tmp_path / "c"
    moments = modae.load(interrupted(path)).stream.moments
    with pytest.raises(modae.ModelFormatError, match="fingerprint: must be a string"):
        modae.save(StreamCheckpoint(DataSummary(moments), 5, 12, {"a": 3}), path)
    with pytest.raises(modae.ModelFormatError, match="n_features"):
        modae.save(StreamCheckpoint(DataSummary(moments), 5, 11, {}), path)
    with pytest.raises(modae.ModelFormatError, match="n_rows"):
        modae.save(StreamCheckpoint(DataSummary(moments), -1, 12, {}), path)
