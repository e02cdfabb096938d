"""Results on disk: the right answer from the file, or a new one; never half of one."""

import ast
import json
from pathlib import Path
from xml.etree import ElementTree as ET

import matplotlib.pyplot as plt
import pytest

import modae
from modae.reproduction import run
from modae.reproduction.run import Setting


class Counted:
    """An answer that counts how often it was worked out."""

    def __init__(self, value):
        self.value, self.calls = value, 0

    def __call__(self):
        self.calls += 1
        return self.value


@pytest.fixture
def path(tmp_path):
    return tmp_path / "measured" / "part.json"


def remembered(path, question, answer):
    """As a part asks for it: the folder of the run, and the name of the file."""
    return Setting(path.parents[1]).remembered(path.stem, question, answer)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


# --- remembered --------------------------------------------------------------------------------------


def test_the_same_question_is_answered_from_the_file(path):
    answer = Counted({"errors": [0.1, 0.2]})
    first = remembered(path, {"seed": 0}, answer)
    again = remembered(path, {"seed": 0}, answer)
    assert first == again == {"errors": [0.1, 0.2]}
    assert answer.calls == 1
    assert names(path.parent) == ["part.json"]


def test_a_new_answer_looks_as_it_will_when_it_is_read_again(path):
    """Else a run and its continuation would work with different types."""
    new = remembered(path, {}, Counted({1: (2.0, 1 / 3)}))
    read = remembered(path, {}, Counted(None))
    assert new == read == {"1": [2.0, 1 / 3]}
    assert isinstance(new["1"], list)


@pytest.mark.parametrize("other", [{"seed": 1}, {"seed": 0, "rows": 10}, {}])
def test_another_question_is_asked_again_and_its_answer_kept(path, other):
    remembered(path, {"seed": 0}, Counted("old"))
    answer = Counted("new")
    assert remembered(path, other, answer) == "new"
    assert remembered(path, other, answer) == "new"
    assert answer.calls == 1


def test_another_version_of_the_library_asks_again(path, monkeypatch):
    remembered(path, {}, Counted("old"))
    monkeypatch.setattr(run, "__version__", "another")
    assert remembered(path, {}, Counted("new")) == "new"


def whole(path):
    remembered(path, {"seed": 0}, Counted("old"))
    return path.read_bytes()


DAMAGE = {
    "empty": lambda content: b"",
    "cut short": lambda content: content[: len(content) // 2],
    "not JSON": lambda content: b"hello",
    "not text": lambda content: b"\xff\xfe\x00" + content,
    "a list": lambda content: b"[1, 2]",
    "a number": lambda content: b"3",
    "null": lambda content: b"null",
    "a string": lambda content: b'"question"',
    "no question": lambda content: b'{"answer": 1}',
    "no answer": lambda content: json.dumps({"question": json.loads(content)["question"]}).encode(),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_file_that_cannot_be_used_is_replaced(path, damage):
    path.parent.mkdir()
    path.write_bytes(damage(whole(path)))
    assert remembered(path, {"seed": 0}, Counted("new")) == "new"
    assert remembered(path, {"seed": 0}, Counted("never asked")) == "new"


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, ValueError, SystemExit])
def test_an_interruption_leaves_nothing_and_the_next_call_goes_on(path, interruption):
    def interrupted():
        raise interruption

    with pytest.raises(interruption):
        remembered(path, {}, interrupted)
    assert not path.exists()
    assert remembered(path, {}, Counted("answer")) == "answer"


def test_an_interruption_keeps_the_answer_to_another_question(path):
    def interrupted():
        raise KeyboardInterrupt

    remembered(path, {"seed": 0}, Counted("old"))
    with pytest.raises(KeyboardInterrupt):
        remembered(path, {"seed": 1}, interrupted)
    assert remembered(path, {"seed": 0}, Counted("never asked")) == "old"
    assert names(path.parent) == ["part.json"]


def test_an_answer_that_is_not_json_leaves_the_old_file_and_no_litter(path):
    remembered(path, {"seed": 0}, Counted("old"))
    before = path.read_bytes()
    with pytest.raises(TypeError, match="not JSON serializable"):
        remembered(path, {"seed": 1}, Counted({"half": [1, 2], "bad": object()}))
    assert path.read_bytes() == before
    assert names(path.parent) == ["part.json"]


# --- files -------------------------------------------------------------------------------------------


def test_json_is_whole_readable_and_ends_with_a_newline(tmp_path):
    Setting(tmp_path).save_json("numbers.json", {"words": "é", "numbers": [1 / 3, 2]})
    text = (tmp_path / "numbers.json").read_text(encoding="utf-8")
    assert json.loads(text) == {"words": "é", "numbers": [1 / 3, 2]}
    assert text.endswith("}\n")
    assert names(tmp_path) == ["numbers.json"]


def test_a_figure_becomes_png_and_svg_and_is_closed(tmp_path):
    figure, axes = plt.subplots()
    axes.plot([1, 2, 3])
    Setting(tmp_path).save_figure("picture", figure)
    assert names(tmp_path) == ["picture.png", "picture.svg"]
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG\r\n")
    assert ET.parse(tmp_path / "picture.svg").getroot().tag == "{http://www.w3.org/2000/svg}svg"
    assert not plt.fignum_exists(figure.number)


def writers(file):
    """Lines that write a file in another way than the atomic one."""
    calls = [node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Call)]
    calls = [node for node in calls if "devnull" not in ast.unparse(node)]  # it keeps nothing
    words = [(node.lineno, getattr(node.func, "attr", getattr(node.func, "id", ""))) for node in calls]
    return [f"{file.name}:{line} {word}" for line, word in words if word in WAYS_TO_WRITE]


WAYS_TO_WRITE = {"write_text", "write_bytes", "open", "savetxt", "fdopen"}
HOME = Path(modae.__file__).parent
WRITING_FILES = [*(HOME / "reproduction").glob("*.py"), *(HOME / "cli").glob("*.py")]


@pytest.mark.parametrize("file", WRITING_FILES, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_one_atomic_writer_serves_all_results(file):
    assert writers(file) == []
