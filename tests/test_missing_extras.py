"""Without any extra, the core works, and whatever needs an extra says in one sentence which one.

The extras are hidden in a process of its own, so this holds whether or not they are installed.
"""

import json
import subprocess
import sys
from textwrap import dedent

import pytest

HIDE = """
import json, sys, warnings
warnings.simplefilter("ignore")
HIDDEN = {"torch", "dask", "distributed", "matplotlib", "mlxtend", "PIL", "skimage", "skops",
          "onnx", "skl2onnx", "onnxscript", "pyarrow", "typer", "rich", "pandas"}

class Without:
    def __init__(self, finder):
        self.finder = finder

    def find_spec(self, name, path=None, target=None):
        return None if name.partition(".")[0] in HIDDEN else self.finder.find_spec(name, path, target)

    def __getattr__(self, name):
        return getattr(self.finder, name)

sys.meta_path[:] = [Without(finder) for finder in sys.meta_path]

import modae
from sklearn.datasets import load_iris
from sklearn.neighbors import KNeighborsClassifier
X, y = load_iris(return_X_y=True)
model = modae.LinearModularAutoencoder(2, 2, random_state=0).fit(X)
vote = modae.ModularClassifier(model, KNeighborsClassifier()).fit(X, y)
"""

NEEDS = {
    "deep": "import modae.deep",
    "plot": "modae.display.AllocationDisplay.from_estimator(model).plot()",
    "datasets": "modae.datasets.load_benchmark('basic')",
    "onnx": "modae.export_onnx(model, folder + '/model.onnx')",
    "io": "modae.save(vote, folder + '/model.modae')",
    "arrow": "modae.open_batches(folder + '/rows.csv')",
}


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """Extra -> what the error says."""
    folder = str(tmp_path_factory.mktemp("extras"))
    code = HIDE + dedent(f"""
        folder, said = {folder!r}, {{}}
        open(folder + "/rows.csv", "w").write("a,b\\n1,2\\n")
        for extra, line in {NEEDS!r}.items():
            try:
                exec(line)
            except ImportError as missing:
                said[extra] = str(missing)
        modae.report.build(vote, X, y, diversities=[], rivals=False).save(folder + "/report.html")
        modae.save(model, folder + "/model.modae")
        same = (modae.load(folder + "/model.modae").transform(X) == model.transform(X)).all()
        modae.show_versions()
        print(json.dumps([bool(same), said, sorted(HIDDEN & set(sys.modules))]))
        """)
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout.splitlines()[-1])


def test_the_core_needs_no_extra(said):
    same, _, loaded = said
    assert same
    assert loaded == []


@pytest.mark.parametrize("extra", NEEDS)
def test_what_is_missing_is_named_in_one_sentence(said, extra):
    sentence = said[1][extra]
    assert f'pip install "modae[{extra}]"' in sentence
    assert len(sentence.splitlines()) == 1


def test_the_command_says_what_it_needs():
    code = HIDE + "from modae.cli import main\nmain()"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.returncode == 3
    assert 'pip install "modae[cli]"' in result.stderr
    assert len(result.stderr.splitlines()) == 1
