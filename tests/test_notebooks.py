"""The notebooks keep their byte form and the lesson frame; and the checkers can fail."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path

import lesson_frame as frame
import notebook_form as form
import pytest
import sample_lesson
from nbformat import NotebookNode
from nbformat.v4 import new_output

NOTEBOOKS = form.notebooks()
LESSONS = [path for path in NOTEBOOKS if frame.LESSON.fullmatch(path.name)]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_byte_form(path: Path) -> None:
    sentences = form.problems(path)
    assert not sentences, "\n" + "\n".join(sentences)


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.name)
def test_lesson_frame(path: Path) -> None:
    sentences = frame.problems(form.read(path), path)
    assert not sentences, "\n" + "\n".join(sentences)


# --- the checker of the byte form --------------------------------------------


@pytest.fixture(scope="module")
def run_lesson(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the sample lesson, run once."""
    return sample_lesson.write(tmp_path_factory.mktemp("a lesson"), run=True)


@pytest.fixture
def path(run_lesson: Path, tmp_path: Path) -> Path:
    """Return a copy of the sample lesson that a test may spoil."""
    copied = tmp_path / run_lesson.name
    copied.write_bytes(run_lesson.read_bytes())
    return copied


def test_a_refreshed_notebook_has_the_form(path: Path) -> None:
    assert form.problems(path) == []
    assert form.main([str(path)]) == 0


def test_two_refreshes_give_the_same_bytes(run_lesson: Path) -> None:
    before = run_lesson.read_bytes()
    assert form.main(["--refresh", str(run_lesson)]) == 0
    assert run_lesson.read_bytes() == before


def spoil_ids(raw: dict) -> None:
    del raw["cells"][0]["id"]
    raw["cells"][2]["id"] = raw["cells"][1]["id"]


def spoil_times(raw: dict) -> None:
    raw["cells"][2]["metadata"]["execution"] = {"iopub.execute_input": "2026-01-01T00:00:00Z"}


def spoil_widgets(raw: dict) -> None:
    raw["metadata"]["widgets"] = {form.WIDGET_STATE: {"state": {}}}


def spoil_view(raw: dict) -> None:
    shown = next(
        cell for cell in raw["cells"] if cell.get("outputs") and "Exp" in cell["source"][0]
    )
    shown["outputs"][0]["data"][form.WIDGET_VIEW] = {"model_id": "0f"}


def spoil_kernel(raw: dict) -> None:
    raw["metadata"]["kernelspec"]["name"] = "my-env"


def spoil_language(raw: dict) -> None:
    raw["metadata"]["language_info"]["version"] = "3.11.2"


def spoil_stream(raw: dict) -> None:
    printed = next(cell for cell in raw["cells"] if cell.get("outputs"))
    printed["outputs"] = [
        {"name": "stdout", "output_type": "stream", "text": [text]} for text in ("1", "\n")
    ]


@pytest.mark.parametrize(
    ("spoil", "word"),
    [
        (spoil_ids, "cell 1: has no cell id"),
        (spoil_ids, "cell 3: has an unusable or repeated id"),
        (spoil_times, "cell 3: holds execution times"),
        (spoil_widgets, "saved widget state"),
        (spoil_view, "widget-view"),
        (spoil_kernel, "kernelspec"),
        (spoil_language, "language_info"),
        (spoil_stream, "in pieces"),
        (lambda raw: raw.update(nbformat_minor=4), "nbformat 4.4"),
        (lambda raw: raw["metadata"].update(toc={}), "metadata 'toc'"),
    ],
)
def test_a_spoilt_form_is_found_and_repaired(
    path: Path, spoil: Callable[[dict], None], word: str
) -> None:
    raw = json.loads(path.read_bytes())
    spoil(raw)
    path.write_text(json.dumps(raw), encoding="utf-8")
    assert any(word in sentence and path.name in sentence for sentence in form.problems(path))
    assert form.main([str(path)]) == 1
    assert form.main(["--fix", str(path)]) == 0
    assert form.problems(path) == []


def test_repaired_ids_are_stable(path: Path) -> None:
    raw = json.loads(path.read_bytes())
    for cell in raw["cells"]:
        del cell["id"]
    one, two = (form.canonical(sample) for sample in [form.nbformat.from_dict(raw)] * 2)
    assert [cell.id for cell in one[0].cells] == [cell.id for cell in two[0].cells]
    assert len({cell.id for cell in one[0].cells}) == len(raw["cells"])


@pytest.mark.parametrize(
    "change", [(b"\n", b"\r\n"), (b'\n "cells"', b'\n  "cells"'), (b"}\n", b"}")]
)
def test_other_bytes_are_found_and_repaired(path: Path, change: tuple[bytes, bytes]) -> None:
    good = path.read_bytes()
    spoilt = good.removesuffix(b"\n") if change[1] == b"}" else good.replace(*change)
    path.write_bytes(spoilt)
    (sentence,) = form.problems(path)
    assert "not written as nbformat writes it" in sentence
    form.fix(path)
    assert path.read_bytes() == good


def test_what_needs_a_new_run_is_named(path: Path) -> None:
    notebook = form.read(path)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    code[0].execution_count = None
    code[1].outputs = [new_output("error", ename="ValueError", evalue="x", traceback=[])]
    code[2].outputs = [new_output("stream", name="stderr", text="Warning")]
    code[3].outputs = [new_output("execute_result", {"text/plain": "1"}, execution_count=99)]
    notebook.cells[0].source = " "
    notebook.cells[1].source = "x" * form.LARGEST
    form.write(path, notebook)
    found = " ".join(form.problems(path))
    for word in (
        "run as None",
        "an error (ValueError)",
        "stderr",
        "another run",
        "is empty",
        "bytes",
    ):
        assert word in found
    assert form.main(["--fix", str(path)]) == 1


def test_what_is_no_notebook_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.ipynb"
    for text in ("", "[]", "{}", '{"nbformat": 3, "worksheets": []}', '{"nbformat": 4}'):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(SystemExit, match=r"x\.ipynb: not a notebook"):
            form.problems(path)


# --- the checker of the frame ------------------------------------------------


def test_the_sample_lesson_keeps_the_frame(run_lesson: Path) -> None:
    assert frame.problems(form.read(run_lesson), run_lesson) == []


def at(notebook: NotebookNode, part: str) -> NotebookNode:
    return next(cell for cell in notebook.cells if frame.part(cell) == part)


def drop(notebook: NotebookNode, part: str) -> None:
    notebook.cells = [cell for cell in notebook.cells if frame.part(cell) != part]


def move(notebook: NotebookNode, part: str, index: int) -> None:
    cell = at(notebook, part)
    notebook.cells.remove(cell)
    notebook.cells.insert(index, cell)


def say(part: str, text: str) -> Callable[[NotebookNode], None]:
    def change(notebook: NotebookNode) -> None:
        at(notebook, part).source = text

    return change


def tag(part: str, *tags: str) -> Callable[[NotebookNode], None]:
    def change(notebook: NotebookNode) -> None:
        at(notebook, part).metadata.tags = list(tags)

    return change


def without(part: str) -> Callable[[NotebookNode], None]:
    return lambda notebook: drop(notebook, part)


def about(**values: object) -> Callable[[NotebookNode], None]:
    return lambda notebook: notebook.metadata.nvlearn.update(values)


def unread(notebook: NotebookNode) -> None:
    at(notebook, "explorer").outputs[0]["data"] = {"text/plain": "VBox(children=(IntSlider(), ))"}


def lengthen(notebook: NotebookNode) -> None:
    for cell in notebook.cells:
        if cell.cell_type == "code" and frame.part(cell) != "setup":
            cell.source += "\na = 1" * 4


FRAME_FAULTS = [
    *[(without(part), f"has 0 cells frame:{part}") for part in frame.COUNTS],
    (without("takeaway"), "exactly one frame:takeaway"),
    (without("question"), "no frame:question"),
    (without("answer"), "no frame:answer"),
    (without("hint"), "one hint"),
    (without("check"), "one check"),
    (tag("limits", "frame:limit"), "frame:limit is no part"),
    (tag("goals", "frame:goals", "frame:setup"), "is two parts"),
    (lambda nb: move(nb, "summary", 3), "comes after frame:summary"),
    (lambda nb: move(nb, "prediction", 14), "before any frame:prediction"),
    (lambda nb: at(nb, "limits").update(cell_type="raw"), "is a raw cell"),
    (say("check", "from ipywidgets import interact"), "uses interact"),
    (say("section", "### Low"), "level 2"),
    (say("takeaway", "No box."), "is one box"),
    (say("answer", "Four."), "an answer is folded"),
    (say("solution", "lanes = 4"), "a solution is folded"),
    (say("solution", sample_lesson.FOLD.format("S", "none")), "one block ```python"),
    (say("setup", "a = 1\n" * 5), "the setup has 5 lines"),
    (say("check", "a = 1\n" * 16), "16 lines of code"),
    (lengthen, "half should"),
    (say("limits", "# Top"), "second heading of level 1"),
    (say("limits", "## A\n\n#### B"), "level 4 follows one of level 2"),
    (unread, "no still picture"),
    (unread, "no sentence"),
    (say("title", "## Not top"), "heading of level 1"),
    (say("title", "# No map"), "road map"),
    (say("title", "# A\n\n![](attachment:road.png)"), "road map"),
    (say("title", "# A\n\n[next](03_gone.ipynb)"), "03_gone.ipynb, which does not exist"),
    (about(lesson="03"), "nvlearn.lesson"),
    (about(minutes={"teach": 20}), "nvlearn.minutes"),
    (about(minutes={"teach": 21, "exercises": 5}), "do not name the 21 minutes"),
    (about(objectives=[]), "nvlearn.objectives"),
    (about(key_points="one"), "nvlearn.key_points"),
    (about(objectives=["a", "b"]), "summary has 1 points for 2"),
    (lambda nb: at(nb, "exercise").metadata.pop("nvlearn"), "its own id"),
]


@pytest.mark.parametrize(
    ("spoil", "word"), FRAME_FAULTS, ids=[f"{n}-{word}" for n, (_, word) in enumerate(FRAME_FAULTS)]
)
def test_a_departure_from_the_frame_is_found(
    run_lesson: Path, spoil: Callable[[NotebookNode], None], word: str
) -> None:
    notebook = copy.deepcopy(form.read(run_lesson))
    spoil(notebook)
    assert any(word in sentence for sentence in frame.problems(notebook, run_lesson))


def test_a_lesson_links_to_its_neighbours(path: Path) -> None:
    notebook = form.read(path)
    path.with_name("03_next.ipynb").touch()
    path.with_name("11_far.ipynb").touch()
    (sentence,) = frame.problems(notebook, path)
    assert "does not link to 03_next.ipynb" in sentence
    at(notebook, "title").source += "\n\n[next: more](03_next.ipynb)"
    assert frame.problems(notebook, path) == []


def test_a_heading_in_code_is_no_heading(run_lesson: Path) -> None:
    notebook = form.read(run_lesson)
    at(notebook, "limits").source += "\n\n```bash\n# a comment\n```"
    assert frame.problems(notebook, run_lesson) == []
