"""Digits from OpenML: scikit-learn's own download, from a server on this machine."""

import gzip
import hashlib
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import numpy as np
import pytest
from sklearn.datasets import _openml

from modae.datasets import load_benchmark
from modae.datasets.sources import openml_digits

N_DIGITS = 12
RNG = np.random.default_rng(0)
PIXELS, LABELS = RNG.integers(256, size=(N_DIGITS, 784)), RNG.integers(10, size=N_DIGITS)


def arff(labels=LABELS):
    attributes = [f"@ATTRIBUTE pixel{i + 1} real" for i in range(784)]
    classes = "@ATTRIBUTE class {0,1,2,3,4,5,6,7,8,9}"
    rows = [",".join(map(str, [*pixels, label])) for pixels, label in zip(PIXELS, labels, strict=True)]
    return "\n".join(["@RELATION mnist_784", *attributes, classes, "@DATA", *rows, ""]).encode()


def feature(index, name, kind, is_target):
    return {
        "index": str(index),
        "name": name,
        "data_type": kind,
        "is_target": is_target,
        "is_ignore": "false",
        "is_row_identifier": "false",
        "number_of_missing_values": "0",
    }


def site(address, data):
    """Path -> what OpenML answers, before packing."""
    features = [feature(i, f"pixel{i + 1}", "numeric", "false") for i in range(784)]
    features.append(feature(784, "class", "nominal", "true"))
    description = {
        "id": "554",
        "name": "mnist_784",
        "version": "1",
        "status": "active",
        "format": "ARFF",
        "url": f"{address}/data/v1/download/52667/mnist_784.arff",
        "file_id": "52667",
        "md5_checksum": hashlib.md5(data).hexdigest(),
        "description": "digits",
        "default_target_attribute": "class",
    }
    number = {"name": "NumberOfInstances", "value": str(N_DIGITS)}
    api = "/api/v1/json/data"
    answers = {
        f"{api}/list/data_name/mnist_784/limit/2/data_version/1": {
            "data": {"dataset": [{"did": 554, "name": "mnist_784", "version": 1, "status": "active"}]}
        },
        f"{api}/554": {"data_set_description": description},
        f"{api}/features/554": {"data_features": {"feature": features}},
        f"{api}/qualities/554": {"data_qualities": {"quality": [number]}},
    }
    pages = {path: json.dumps(answer).encode() for path, answer in answers.items()}
    return {**pages, "/data/v1/download/52667/mnist_784.arff": data}


class Handler(BaseHTTPRequestHandler):
    """Answers from ``server.pages``, packed as OpenML does it."""

    def do_GET(self):
        self.server.asked.append(self.path)
        page = self.server.pages.get(self.path)
        if page is None:
            self.send_error(404)
            return
        body = gzip.compress(page, mtime=0)[: self.server.cut]
        self.send_response(200)
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Say nothing."""


@pytest.fixture
def server(monkeypatch):
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        address = f"http://127.0.0.1:{server.server_port}"
        server.pages, server.asked, server.cut = site(address, arff()), [], None
        for name in ("_SEARCH_NAME", "_DATA_INFO", "_DATA_FEATURES", "_DATA_QUALITIES"):
            url = getattr(_openml, name).replace("https://www.openml.org", address)
            monkeypatch.setattr(_openml, name, url)
        monkeypatch.setattr(_openml.time, "sleep", lambda _: None)
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_digits_arrive_and_are_kept(server, tmp_path):
    digits = openml_digits(tmp_path)
    assert np.array_equal(digits.images.reshape(-1, 784), PIXELS)
    assert np.array_equal(digits.labels, LABELS)
    n_asked = len(server.asked)
    assert n_asked == 5
    found = load_benchmark("basic", source="openml", data_home=tmp_path, random_state=0)
    assert len(server.asked) == n_asked
    assert sorted(found.target) == sorted(LABELS)
    assert np.isin((found.data * 255).round(), PIXELS).all()


def test_more_than_there_are(server, tmp_path):
    with pytest.raises(ValueError, match="at most 12, the number of digits in mnist_784 of OpenML"):
        load_benchmark("rotations", 13, source="openml", data_home=tmp_path)


def test_shapes_download_nothing(server, tmp_path):
    load_benchmark("convex", 10, source="openml", data_home=tmp_path, random_state=0)
    assert server.asked == []


@pytest.mark.filterwarnings("ignore:A network error occurred", "ignore:Invalid cache")
def test_without_an_answer_the_error_says_what_else_there_is(server, tmp_path):
    server.pages = {}
    with pytest.raises(
        ConnectionError, match=r"could not be downloaded from OpenML .* source='embedded'"
    ):
        load_benchmark("basic", source="openml", data_home=tmp_path)


@pytest.mark.filterwarnings("ignore:A network error occurred", "ignore:Invalid cache")
def test_a_download_that_breaks_off_is_not_taken_for_data_later(server, tmp_path):
    server.cut = 200
    with pytest.raises(ConnectionError, match="could not be downloaded from OpenML"):
        load_benchmark("basic", source="openml", data_home=tmp_path)
    server.cut = None
    found = load_benchmark("basic", source="openml", data_home=tmp_path, random_state=0)
    assert sorted(found.target) == sorted(LABELS)


@pytest.mark.filterwarnings("ignore:Invalid cache")
def test_a_wrong_checksum_is_an_error(server, tmp_path):
    path = "/data/v1/download/52667/mnist_784.arff"
    server.pages[path] = arff((LABELS + 1) % 10)
    with pytest.raises(ValueError, match="md5 checksum"):
        load_benchmark("basic", source="openml", data_home=tmp_path)
