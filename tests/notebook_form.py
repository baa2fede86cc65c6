"""Check, repair and refresh the notebooks: each has one legal byte form.

    python tests/notebook_form.py              check all notebooks
    python tests/notebook_form.py --fix        repair what can be repaired
    python tests/notebook_form.py --refresh    run them again and write their outputs

Give files or folders to look at these only. The exit code is 1 if anything is wrong.
"""

from __future__ import annotations

import argparse
import copy
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import reads, writes

ROOT = Path(__file__).parents[1]
FOLDERS = ("notebooks", "quizzes")
LARGEST = 400_000
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
LANGUAGE = {"name": "python"}
KEPT_METADATA = {"kernelspec", "language_info", "nvlearn"}
KEPT_CELL_METADATA = {"nvlearn", "tags"}
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
WIDGET_STATE = "application/vnd.jupyter.widget-state+json"
CELL_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
REFRESH = "run the notebook again with --refresh"

# A note says where something is not in its legal form, and what.
Note = tuple[str, str]


def notebooks(paths: Sequence[Path] = ()) -> list[Path]:
    """Return the notebooks under the given paths, or all of the course."""
    found: list[Path] = []
    for path in paths or [ROOT / name for name in FOLDERS if (ROOT / name).is_dir()]:
        inside = path.rglob("*.ipynb") if path.is_dir() else [path]
        found += sorted(file for file in inside if ".ipynb_checkpoints" not in file.parts)
    return found


def read(path: Path) -> NotebookNode:
    """Read a notebook as it stands; nbformat.read would make up missing cell ids."""
    text = path.read_bytes().decode("utf-8")
    try:
        raw = json.loads(text)
        if raw["nbformat"] != 4:
            raise ValueError(f"nbformat {raw['nbformat']}")
        return reads(text)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise SystemExit(f"{path}: not a notebook of nbformat 4 ({error}).") from error


def serialised(notebook: NotebookNode) -> bytes:
    """Return the bytes that nbformat writes."""
    return (writes(notebook) + "\n").encode("utf-8")


# --- the legal form: what can be repaired -----------------------------------


def canonical(notebook: NotebookNode) -> tuple[NotebookNode, list[Note]]:
    """Return a notebook in its legal form, and a note for each change."""
    notebook = copy.deepcopy(notebook)
    notes = list(repair_metadata(notebook))
    taken: set[str] = set()
    for number, cell in enumerate(notebook.cells):
        place = f"cell {number + 1}"
        notes += [(place, what) for what in repair_id(cell, number, taken)]
        notes += [(place, what) for what in repair_cell(cell)]
    return notebook, notes


def repair_metadata(notebook: NotebookNode) -> Iterator[Note]:
    """Set the format and the kernel, and drop what tools have left behind."""
    if notebook.nbformat_minor != 5:
        yield "notebook", f"is nbformat 4.{notebook.nbformat_minor}, not 4.5"
        notebook.nbformat_minor = 5
    for key in sorted(set(notebook.metadata) - KEPT_METADATA):
        what = "saved widget state" if key == "widgets" else f"metadata {key!r}"
        yield "notebook", f"holds {what}"
        del notebook.metadata[key]
    for key, value in (("kernelspec", KERNEL), ("language_info", LANGUAGE)):
        if notebook.metadata.get(key) != value:
            yield "notebook", f"has another {key} than {json.dumps(value)}"
            notebook.metadata[key] = nbformat.from_dict(dict(value))


def repair_id(cell: NotebookNode, number: int, taken: set[str]) -> Iterator[str]:
    """Give a cell an id that follows from its place and text, unless it has a good one."""
    given = cell.get("id")
    if not isinstance(given, str) or not CELL_ID.fullmatch(given) or given in taken:
        yield "has no cell id" if given is None else f"has an unusable or repeated id {given!r}"
        digest = hashlib.sha256(f"{number}\n{cell.source}".encode()).hexdigest()
        cell["id"] = next(digest[i : i + 8] for i in range(56) if digest[i : i + 8] not in taken)
    taken.add(cell["id"])


def repair_cell(cell: NotebookNode) -> Iterator[str]:
    """Drop cell metadata that is not the course's own, and put the outputs in order."""
    for key in sorted(set(cell.metadata) - KEPT_CELL_METADATA):
        yield "holds execution times" if key == "execution" else f"holds metadata {key!r}"
        del cell.metadata[key]
    if cell.get("attachments") == {}:
        yield "holds an empty list of attachments"
        del cell["attachments"]
    if cell.cell_type == "code":
        yield from repair_outputs(cell)


def repair_outputs(cell: NotebookNode) -> Iterator[str]:
    """Drop the random widget entries of outputs, and join what was printed in pieces."""
    kept: list[NotebookNode] = []
    for output in cell.outputs:
        data = output.get("data", {})
        for mime in (WIDGET_VIEW, WIDGET_STATE):
            if data.pop(mime, None) is not None:
                yield f"holds a widget entry ({mime})"
        if "data" in output and not data:
            yield "holds an empty output"
        elif kept and is_same_stream(kept[-1], output):
            yield f"holds {output.name} in pieces"
            kept[-1].text += output.text
        else:
            kept.append(output)
    cell.outputs = kept


def is_same_stream(one: NotebookNode, other: NotebookNode) -> bool:
    return one.output_type == other.output_type == "stream" and one.name == other.name


# --- the legal form: what only a person or a new run can repair ---------------


def faults(notebook: NotebookNode, size: int) -> Iterator[Note]:
    """Yield what is wrong and cannot be repaired by writing the file again."""
    if size > LARGEST:
        yield "notebook", f"has {size:,} bytes; at most {LARGEST:,} are allowed"
    count = 0
    for number, cell in enumerate(notebook.cells):
        place = f"cell {number + 1}"
        if not cell.source.strip():
            yield place, "is empty"
        if cell.cell_type == "code":
            count += 1
            if cell.execution_count != count:
                yield place, f"has run as {cell.execution_count}, not as {count}; {REFRESH}"
            for what in output_faults(cell):
                yield place, f"{what}; {REFRESH}"


def output_faults(cell: NotebookNode) -> Iterator[str]:
    """Yield what the outputs of a committed notebook must not hold."""
    expected = "raises-exception" in cell.metadata.get("tags", [])
    for output in cell.outputs:
        if output.output_type == "error" and not expected:
            yield f"shows an error ({output.ename})"
        if output.output_type == "stream" and output.name == "stderr":
            yield "shows a warning or other text on stderr"
        if output.get("execution_count", cell.execution_count) != cell.execution_count:
            yield "has an output of another run"


def problems(path: Path) -> list[str]:
    """Return a sentence for each thing that is wrong with a notebook file."""
    given = path.read_bytes()
    notebook, notes = canonical(read(path))
    notes += faults(notebook, len(given))
    try:
        nbformat.validate(notebook, relax_add_props=False)
    except nbformat.ValidationError as error:
        notes.append(("notebook", f"is not valid: {str(error).splitlines()[0]}"))
    wanted = serialised(notebook)
    if given != wanted and not notes:
        line = first_difference(given, wanted)
        notes.append((f"line {line}", "is not written as nbformat writes it"))
    return [f"{path}: {place}: {what}." for place, what in notes]


def first_difference(one: bytes, other: bytes) -> int:
    """Return the number of the first line in which two files differ."""
    pairs = zip(one.split(b"\n"), other.split(b"\n"), strict=False)
    for number, (left, right) in enumerate(pairs, 1):
        if left != right:
            return number
    return min(one.count(b"\n"), other.count(b"\n")) + 1


# --- writing ----------------------------------------------------------------


def write(path: Path, notebook: NotebookNode) -> bool:
    """Write a notebook whole or not at all; return whether its bytes have changed."""
    wanted = serialised(notebook)
    if path.exists() and path.read_bytes() == wanted:
        return False
    part = path.with_name(path.name + ".part")
    part.write_bytes(wanted)
    os.replace(part, path)
    return True


def executed(notebook: NotebookNode, folder: Path, **options: Any) -> NotebookNode:
    """Run a notebook in a new kernel with an empty home; return it with its outputs."""
    from nbclient import NotebookClient

    notebook = copy.deepcopy(notebook)
    with tempfile.TemporaryDirectory(prefix="nvlearn-run-", ignore_cleanup_errors=True) as empty:
        client = NotebookClient(
            notebook,
            kernel_name="python3",
            resources={"metadata": {"path": str(folder)}},
            timeout=options.pop("timeout", 120),
            record_timing=False,
            store_widget_state=False,
            **options,
        )
        # What the kernel says to its terminal is no output of the notebook.
        client.execute(env=kernel_environment(Path(empty)), stderr=subprocess.DEVNULL)
    return notebook


def kernel_environment(empty: Path) -> dict[str, str]:
    """Return an environment in which nothing of this user's own shows."""
    home = empty / "home"
    home.mkdir()
    own = {"NVLEARN_HOME": str(home), "IPYTHONDIR": str(empty / "ipython")}
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    own["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    return {**{k: v for k, v in os.environ.items() if k != "NVLEARN_LANG"}, **own}


def fix(path: Path) -> bool:
    """Write a notebook in its legal form; return whether it has changed."""
    return write(path, canonical(read(path))[0])


def refresh(path: Path) -> bool:
    """Run a notebook and write it with its outputs; return whether it has changed."""
    return write(path, canonical(executed(canonical(read(path))[0], path.parent))[0])


def main(arguments: Sequence[str] | None = None) -> int:
    """Check, repair or refresh notebooks; return the exit code."""
    first, _, rest = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        description=first, epilog=rest, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="*", type=Path, metavar="PATH")
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--fix", action="store_true", help="repair the byte form")
    action.add_argument("--refresh", action="store_true", help="run and write the outputs")
    options = parser.parse_args(arguments)
    wrong = 0
    for path in notebooks(options.paths):
        if options.fix or options.refresh:
            changed = (refresh if options.refresh else fix)(path)
            print(f"{path}: {'written' if changed else 'unchanged'}")
        for sentence in problems(path):
            wrong = 1
            print(sentence, file=sys.stderr)
    if wrong and not (options.fix or options.refresh):
        print("Repair with: python tests/notebook_form.py --fix", file=sys.stderr)
    return wrong


if __name__ == "__main__":
    sys.exit(main())
