"""A small lesson that keeps the frame, for trying the checkers and the browser harness on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import notebook_form as form
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

NAME = "02_sample.ipynb"
PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"
    "AAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)

# A stand-in for the course's explorers: same classes, same three forms of display.
EXPLORER = """\
import base64
import ipywidgets as w

SAY = "The train has {} lanes each way.".format


class Explorer(w.VBox):
    def __init__(self):
        self.slider = w.IntSlider(value=4, min=1, max=18, description="lanes")
        self.picture, self.sentence = w.HTML(), w.HTML()
        super().__init__([self.slider, self.picture, self.sentence])
        self.add_class("nv-explorer")
        self.picture.add_class("nv-picture")
        self.sentence.add_class("nv-sentence")
        self.slider.observe(self.show, "value")
        self.show()

    def svg(self):
        width = 9 * self.slider.value
        bar = f"<rect x='5' y='5' height='20' width='{width}' fill='green'/>"
        start = "<svg xmlns='http://www.w3.org/2000/svg' width='200' height='30'>"
        return start + bar + "</svg>"

    def show(self, change=None):
        self.picture.value, self.sentence.value = self.svg(), SAY(self.slider.value)

    def _repr_mimebundle_(self, **kwargs):
        bundle = super()._repr_mimebundle_(**kwargs)
        say = SAY(self.slider.value)
        code = base64.b64encode(self.svg().encode()).decode()
        src = "data:image/svg+xml;base64," + code
        html = '<figure><img src="{}" alt="{}"><figcaption>{}</figcaption></figure>'
        return {**bundle, "text/html": html.format(src, say, say), "text/plain": say}
"""
NOT_YET, PASSED = "Not yet: lanes is still empty.", "Right."
CHECK = f"print({NOT_YET!r} if lanes is None else {PASSED!r})"
FOLD = "<details>\n<summary>{}</summary>\n\n{}\n\n</details>"


def cell(part: str, source: str, **metadata: Any) -> NotebookNode:
    """Return a cell of the frame; code if its text does not look like prose."""
    new = new_markdown_cell if part not in CODE else new_code_cell
    tags = [f"frame:{part}"] if part != "free" else []
    return new(source, metadata={**({"tags": tags} if tags else {}), **metadata})


CODE = ("setup", "prediction", "explorer", "exercise", "check", "free")


def section(number: int) -> list[NotebookNode]:
    return [
        cell("section", f"## Section {number}\n\nA story."),
        cell("free", f"print({number})"),
        cell("takeaway", f"> **Remember.** Number {number}."),
    ]


def lesson() -> NotebookNode:
    """Return the lesson, not yet run."""
    title = cell("title", "# A lesson\n\n![the road map](attachment:road.png)")
    title["attachments"] = {"road.png": {"image/png": PIXEL}}
    cells = [
        title,
        cell("goals", "You will be able to\n\n- count lanes\n\n20 minutes, and 5 for exercises."),
        cell("setup", "from explorer_of_sample import Explorer"),
        cell("prediction", "guess = 8"),
        *section(1),
        *section(2),
        cell("section", "## Section 3\n\nA story."),
        cell("question", "**How many lanes?**"),
        cell("explorer", "Explorer()"),
        cell("answer", FOLD.format("The answer", "Four.")),
        cell("takeaway", "> **Remember.** Lanes go both ways."),
        cell("limits", "## Where the picture fails\n\nA lane is no lane."),
        cell("exercise", "lanes = None", nvlearn={"exercise": "02-e1"}),
        cell("hint", FOLD.format("A hint", "Count.")),
        cell("solution", FOLD.format("A solution", "```python\nlanes = 4\n```")),
        cell("check", CHECK),
        cell("quiz", "## Quiz"),
        cell("summary", "## Summary\n\n- Lanes are counted."),
        cell("sources", "## Sources\n\nNone."),
    ]
    for number, item in enumerate(cells):
        item["id"] = f"sample-{number:02d}"
    metadata = {
        "lesson": "02",
        "minutes": {"teach": 20, "exercises": 5},
        "objectives": ["count lanes"],
        "key_points": ["Lanes go both ways."],
    }
    return form.canonical(new_notebook(cells=cells, metadata={"nvlearn": metadata}))[0]


def write(folder: Path, *, run: bool = False) -> Path:
    """Write the lesson and the module it imports into a folder; return the lesson's path."""
    (folder / "explorer_of_sample.py").write_text(EXPLORER, encoding="utf-8")
    path = folder / NAME
    form.write(path, lesson())
    if run:
        form.refresh(path)
    return path
