"""The frame that every lesson keeps, as functions that find where one departs from it.

A cell says with one tag which part of the frame it is (`frame:title`, `frame:goals`, ...);
cells without such a tag are free. The parts come in the order of ORDER.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import architecture
from nbformat import NotebookNode

# Parts in order; those in one row may follow each other in any order.
ORDER: tuple[tuple[str, ...], ...] = (
    ("title",),
    ("goals",),
    ("setup",),
    ("prediction", "section", "takeaway", "question", "explorer", "answer"),
    ("limits",),
    ("exercise", "hint", "solution", "check"),
    ("quiz",),
    ("summary",),
    ("sources",),
)
RANK = {part: rank for rank, parts in enumerate(ORDER) for part in parts}
COUNTS = {
    "title": (1, 1), "goals": (1, 1), "setup": (1, 1), "prediction": (1, 9),
    "section": (3, 5), "explorer": (1, 3), "limits": (1, 9), "exercise": (1, 4),
    "quiz": (1, 9), "summary": (1, 1), "sources": (1, 1),
}  # fmt: skip
CODE_PARTS = {"setup", "explorer", "exercise", "check"}
EITHER_PARTS = {"prediction", "quiz"}
SETUP_LINES, SHORT_LINES, LONGEST_LINES = 4, 3, 15
PICTURE = re.compile(r'<img\b[^>]*src="data:image/svg\+xml;base64,[^"]+"[^>]*>')
LESSON = re.compile(r"(\d\d)_\w+\.ipynb")


def problems(notebook: NotebookNode, path: Path) -> list[str]:
    """Return a sentence for each departure of a lesson from the frame."""
    cells = notebook.cells
    checks = (
        tag_problems, order_problems, kind_problems, section_problems, explorer_problems,
        exercise_problems, code_problems, heading_problems, output_problems,
    )  # fmt: skip
    found = [what for check in checks for what in check(cells)]
    found += metadata_problems(notebook, path)
    found += title_problems(cells, path)
    return [f"{path.name}: {what}." for what in found]


# --- reading a lesson -------------------------------------------------------


def parts(cell: NotebookNode) -> list[str]:
    """Return the parts of the frame that a cell says it is."""
    tags = cell.metadata.get("tags", [])
    return [tag.removeprefix("frame:") for tag in tags if tag.startswith("frame:")]


def part(cell: NotebookNode) -> str:
    """Return the part of the frame that a cell is, or an empty string."""
    return next(iter(parts(cell)), "")


def having(cells: list[NotebookNode], name: str) -> list[tuple[str, NotebookNode]]:
    """Return the cells of a part, each with its place."""
    return [(f"cell {n}", cell) for n, cell in enumerate(cells, 1) if part(cell) == name]


def lines(source: str) -> int:
    """Return the number of lines that are not blank."""
    return sum(bool(line.strip()) for line in source.splitlines())


def bullets(source: str) -> int:
    """Return the number of items of the lists in a text, nested ones left out."""
    return len(re.findall(r"^(?:[-*+]|\d+\.) ", source, re.M))


def fences(source: str, language: str = "python") -> list[str]:
    """Return the code of the fenced blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", source, re.M | re.S)


def is_folded(source: str) -> bool:
    return "<details" in source and "</details>" in source and "<summary>" in source


def without_code(source: str) -> str:
    """Return a Markdown text without its fenced blocks."""
    return re.sub(r"^(```|~~~).*?^\1", "", source, flags=re.M | re.S)


# --- parts ------------------------------------------------------------------


def tag_problems(cells: list[NotebookNode]) -> Iterator[str]:
    """Find cells with two parts or an unknown one, and parts too rare or too many."""
    for number, cell in enumerate(cells, 1):
        unknown = [name for name in parts(cell) if name not in RANK]
        if unknown:
            yield f"cell {number}: frame:{unknown[0]} is no part of the frame"
        if len(parts(cell)) > 1:
            yield f"cell {number}: is two parts of the frame ({', '.join(parts(cell))})"
    count = Counter(part(cell) for cell in cells)
    for name, (least, most) in COUNTS.items():
        if not least <= count[name] <= most:
            wanted = f"{least}" if least == most else f"{least} to {most}"
            yield f"has {count[name]} cells frame:{name}; {wanted} are expected"


def order_problems(cells: list[NotebookNode]) -> Iterator[str]:
    """Find parts that come too early or too late."""
    named = [(n, part(cell)) for n, cell in enumerate(cells, 1) if part(cell) in RANK]
    for (_, one), (number, other) in pairwise(named):
        if RANK[other] < RANK[one]:
            yield f"cell {number}: frame:{other} comes after frame:{one}"
    names = [name for _, name in named]
    if "explorer" in names and "prediction" not in names[: names.index("explorer")]:
        yield "the first explorer comes before any frame:prediction"


def kind_problems(cells: list[NotebookNode]) -> Iterator[str]:
    """Find parts that are code where prose belongs, or prose where code belongs."""
    for number, cell in enumerate(cells, 1):
        name = part(cell)
        wanted = "code" if name in CODE_PARTS else "markdown"
        if name in RANK and name not in EITHER_PARTS and cell.cell_type != wanted:
            yield f"cell {number}: frame:{name} is a {cell.cell_type} cell, not a {wanted} cell"


def section_problems(cells: list[NotebookNode]) -> Iterator[str]:
    """Find sections without a heading, and sections without exactly one boxed takeaway."""
    for place, cell in having(cells, "section"):
        if not re.match(r"## \S", cell.source):
            yield f"{place}: a section opens with a heading of level 2"
    for place, cell in having(cells, "takeaway"):
        if any(line and not line.startswith(">") for line in cell.source.splitlines()):
            yield f"{place}: a takeaway is one box (each line starts with '>')"
    row = [part(cell) for cell in cells if part(cell) in ("section", "takeaway", "limits")]
    text = " ".join(row)
    if not re.fullmatch(r"(section takeaway )+limits( limits)*", text):
        yield f"each section has exactly one frame:takeaway, before the next one (found: {text})"


def explorer_problems(cells: list[NotebookNode]) -> Iterator[str]:
    """Find explorers without a question just before and a folded answer after."""
    named = [cell for cell in cells if part(cell) != "prediction"]
    for number, cell in enumerate(named):
        if part(cell) != "explorer":
            continue
        place = f"cell {cells.index(cell) + 1}"
        if number == 0 or part(named[number - 1]) != "question":
            yield f"{place}: no frame:question stands just before this explorer"
        rest = [part(other) for other in named[number + 1 :]]
        nearer = [name for name in rest if name in ("answer", "question", "section", "limits")]
        if nearer[:1] != ["answer"]:
            yield f"{place}: no frame:answer follows this explorer"
    for place, cell in having(cells, "answer"):
        if not is_folded(cell.source):
            yield f"{place}: an answer is folded (<details> with a <summary>)"


# --- exercises --------------------------------------------------------------


def exercises(cells: list[NotebookNode]) -> list[dict[str, list[int]]]:
    """Return for each exercise the indices of its stub, hint, solution and check."""
    found: list[dict[str, list[int]]] = []
    for index, cell in enumerate(cells):
        name = part(cell)
        if name == "exercise":
            found.append({"exercise": [index], "hint": [], "solution": [], "check": []})
        elif name in ("hint", "solution", "check") and found:
            found[-1][name].append(index)
    return found


def exercise_problems(cells: list[NotebookNode]) -> Iterator[str]:
    """Find exercises without an id, a hint, a solution in code or a check."""
    seen: set[str] = set()
    for exercise in exercises(cells):
        index = exercise["exercise"][0]
        place = f"cell {index + 1}"
        name = cells[index].metadata.get("nvlearn", {}).get("exercise", "")
        if not name or name in seen:
            yield f"{place}: an exercise has its own id in the metadata nvlearn.exercise"
        seen.add(name)
        order = [index for group in exercise.values() for index in group]
        if [len(group) for group in exercise.values()] != [1, 1, 1, 1] or order != sorted(order):
            yield f"{place}: an exercise is a stub, one hint, one solution and one check, in order"
    for name in ("hint", "solution"):
        for place, cell in having(cells, name):
            if not is_folded(cell.source):
                yield f"{place}: a {name} is folded (<details> with a <summary>)"
    for place, cell in having(cells, "solution"):
        if len(fences(cell.source)) != 1:
            yield f"{place}: a solution holds one block ```python"


def solved(notebook: NotebookNode) -> NotebookNode:
    """Put the solutions in place of the stubs, in the notebook itself, and return it."""
    for exercise in exercises(notebook.cells):
        (stub,), (solution,) = exercise["exercise"], exercise["solution"]
        notebook.cells[stub].source = fences(notebook.cells[solution].source)[0].rstrip("\n")
    return notebook


def shown(cell: NotebookNode) -> str:
    """Return the text that the outputs of a cell show."""
    texts = [output.get("text") or output.get("data", {}).get("text/plain", "")
             for output in cell.outputs]  # fmt: skip
    return "\n".join(texts)


# --- code, headings, outputs ------------------------------------------------


def code_problems(cells: list[NotebookNode]) -> Iterator[str]:
    """Find cells of code that are too long, and a setup that is not the first of them."""
    code = [(f"cell {n}", cell) for n, cell in enumerate(cells, 1) if cell.cell_type == "code"]
    if code and part(code[0][1]) != "setup":
        yield f"{code[0][0]}: the first cell of code is frame:setup"
    for place, cell in having(cells, "setup"):
        if lines(cell.source) > SETUP_LINES:
            yield f"{place}: the setup has {lines(cell.source)} lines; at most {SETUP_LINES}"
    for place, cell in code:
        if lines(cell.source) > LONGEST_LINES:
            yield f"{place}: has {lines(cell.source)} lines of code; at most {LONGEST_LINES}"
        for name, _ in architecture.forbidden_names(ast.parse(cell.source)):
            yield f"{place}: uses {name}; {architecture.FORBIDDEN_NAMES[name]}"
    short = sum(lines(cell.source) <= SHORT_LINES for _, cell in code)
    if 2 * short < len(code):
        yield f"{short} of {len(code)} cells of code have {SHORT_LINES} lines or fewer; half should"


def headings(cells: list[NotebookNode]) -> Iterator[tuple[str, int]]:
    """Yield place and level of each Markdown heading."""
    for number, cell in enumerate(cells, 1):
        if cell.cell_type == "markdown":
            for marks in re.findall(r"^(#{1,6}) +\S", without_code(cell.source), re.M):
                yield f"cell {number}", len(marks)


def heading_problems(cells: list[NotebookNode]) -> Iterator[str]:
    """Find a second top heading, and levels that are skipped."""
    last = 0
    for place, level in headings(cells):
        if level == 1 and last:
            yield f"{place}: has a second heading of level 1"
        if level > last + 1:
            yield f"{place}: a heading of level {level} follows one of level {last}"
        last = level


def output_problems(cells: list[NotebookNode]) -> Iterator[str]:
    """Find explorers whose stored output says nothing to a reader without a kernel."""
    for place, cell in having(cells, "explorer"):
        if cell.cell_type != "code":
            continue
        data = [output.get("data", {}) for output in cell.outputs]
        pictures = [PICTURE.search(item.get("text/html", "")) for item in data]
        if not any(hit and re.search(r'\balt="[^"]+"', hit.group()) for hit in pictures):
            yield f"{place}: the output has no still picture (<img> of SVG with alt, as text/html)"
        words = [item.get("text/plain", "") for item in data]
        if not any(len(text.split()) > 3 and "children=" not in text for text in words):
            yield f"{place}: the output has no sentence that says the same (text/plain)"


# --- title and metadata -----------------------------------------------------


def title_problems(cells: list[NotebookNode], path: Path) -> Iterator[str]:
    """Find a title without its heading, its road map or its links."""
    for place, cell in having(cells, "title"):
        if not re.match(r"# \S", cell.source):
            yield f"{place}: the title opens with the heading of level 1"
        images = re.findall(r"!\[([^\]]*)\]\(attachment:([^)\s]+)\)", cell.source)
        if not any(alt and name in cell.get("attachments", {}) for alt, name in images):
            yield f"{place}: the title shows the road map, an attachment with a text for it"
        links = set(re.findall(r"(?<!!)\[[^\]]+\]\(([^)#\s]+\.ipynb)", cell.source))
        for link in sorted(links):
            if not (path.parent / link).is_file():
                yield f"{place}: links to {link}, which does not exist"
        for name in sorted(neighbours(path) - links):
            yield f"{place}: does not link to {name}, the lesson next to it"


def neighbours(path: Path) -> set[str]:
    """Return the names of the lessons just before and after this one, as far as they exist."""
    hit = LESSON.fullmatch(path.name)
    near = {int(hit[1]) - 1, int(hit[1]) + 1} if hit else set()
    names = [other.name for other in path.parent.glob("*.ipynb")]
    return {name for name in names if (other := LESSON.fullmatch(name)) and int(other[1]) in near}


def metadata_problems(notebook: NotebookNode, path: Path) -> Iterator[str]:
    """Find what the notebook's own metadata lacks, or says otherwise than its cells."""
    given = notebook.metadata.get("nvlearn", {})
    if given.get("lesson") != path.name[:2]:
        yield f"the metadata nvlearn.lesson is {given.get('lesson')!r}, not {path.name[:2]!r}"
    minutes = given.get("minutes", {})
    times = [minutes.get(name) for name in ("teach", "exercises")]
    if not all(isinstance(value, int) and value > 0 for value in times):
        yield "the metadata nvlearn.minutes gives whole minutes for 'teach' and 'exercises'"
    for name in ("objectives", "key_points"):
        values = given.get(name)
        good = isinstance(values, list) and values and all(isinstance(v, str) for v in values)
        if not good:
            yield f"the metadata nvlearn.{name} is a list of sentences"
    for place, cell in having(notebook.cells, "goals"):
        for value in times:
            if not re.search(rf"\b{value}\b", cell.source):
                yield f"{place}: the goals do not name the {value} minutes of the metadata"
    for name in ("goals", "summary"):
        for place, cell in having(notebook.cells, name):
            count, wanted = bullets(cell.source), len(given.get("objectives") or [])
            if count < wanted or (name == "summary" and count != wanted):
                yield f"{place}: {name} has {count} points for {wanted} objectives"
