"""Find the printouts in a paste: clean its lines, let each reader take its own."""

import re
from collections.abc import Iterable

from nvlearn import catalog
from nvlearn.data import read_table
from nvlearn.field import nccl_tests, nvlink, topo
from nvlearn.field.findings import Document, ReadError, Unsupported
from nvlearn.i18n import words

MOST, MOST_LINES, WIDEST = 1 << 24, 200_000, 6_000  # characters, lines and their characters kept

ESCAPES = re.compile(r"\x1b(?:\[[0-?]{0,20}[ -/]{0,4}[@-~]|\][^\x07\n]{0,200}\x07|[()].|.)")
# What stands in place of plain characters: on Windows, in web pages, tables and quoted strings.
MARKED = {"\\n": "\n", "\\t": "\t", "&lt;": "<", "&gt;": ">", "**": ""}
PLAIN = str.maketrans({"\r": "\n", "\u2026": "...", **dict.fromkeys("\ufeff\u200b\u200e\x00\u2060"),
                       **dict.fromkeys("\xa0\u3000\x0b\x0c\u2502\u2503`", " ")})
# The launcher's mark of docker compose, "worker-0  | "; a line with more bars is of a table.
SERVICE = re.compile(r"^(?!GPU|NIC|mlx)([A-Za-z][\w.-]{0,59}) {1,60}\| ?(?=[^|]*$)")
STREAM = re.compile(r"\[[^\]\n]{1,60}\]<std(?:out|err)>: ?")
TAGGED = re.compile(r"[ \t]{0,8}(?:[>\[]|\d{1,5}:|\d{4}-)")
TAG = re.compile(
    r"(?:>\s?)*(?:\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S{0,12} )?"
    r"[ \t]{0,8}(\[[^\]]{1,60}\]<std(?:out|err)>: ?|\[\d{1,5}\] (?=\s*[#G\d])|\d{1,5}: ?(?=\s))?")

GPUS = re.compile(r"GPU ?\d")
NAMED = re.compile(r"GPU (\d{1,4}): ([^(\n]{1,60}) \(UUID")


def read(source: str | Iterable[str], gpu: str | None = None) -> list[Document]:
    """Return every printout of a paste, in order; `gpu` states what a printout cannot say.

    The source is a text or its lines, such as an open file. A paste without a printout raises
    ReadError; a GPU that the catalog does not have raises its CatalogError.
    """
    stated = catalog.gpu(gpu) if gpu else None
    kept = beginning(source)
    lines = clean("\n".join(kept))
    text = "\n".join(lines)
    # A matrix names no GPU; a list of as many GPUs beside it does, if all have one name.
    listed = NAMED.findall(text)
    names, last = {name for _, name in listed}, max((int(at) for at, _ in listed), default=-1)
    one = len(names) == 1 and f"GPU{last}" in text and f"GPU{last + 1}" not in text
    own = stated or (catalog.gpu.find(names.pop()) if one else None)
    placed = [*nvlink.read(lines, stated), *topo.read(lines, own)] if GPUS.search(text) else []
    placed += nccl_tests.read(lines, stated)
    documents = [document for _, document in sorted(others(text, placed), key=lambda p: p[0])]
    if not documents:
        seen = text.lstrip()[:60].partition("\n")[0].rstrip()
        whole = len(kept) < MOST_LINES and sum(map(len, kept)) < MOST
        key = "empty" if not seen else "nothing" if whole else "too_long"
        raise ReadError(words(f"field.{key}", seen=repr(seen), lines=len(kept)))
    return documents


def beginning(source: str | Iterable[str]) -> list[str]:
    """Return the first lines of a paste, as many as are kept."""
    kept: list[str] = []
    room = MOST
    for line in source.split("\n", MOST_LINES) if isinstance(source, str) else source:
        if room <= 0 or len(kept) == MOST_LINES:
            break
        kept.append(line[:room])
        room -= len(kept[-1])
    return kept


def clean(text: str) -> list[str]:
    """Return the lines of a paste without what terminals, launchers and web pages add to them.

    The lines of several tasks are put together task by task, as each printed them.
    """
    text = ESCAPES.sub("", text).translate(PLAIN)
    for old, new in MARKED.items():
        text = text.replace(old, new)
    lines: list[str] = []
    tasks = {"": lines}
    for line in filter(None, text.split("\n")):
        lines, line = tasks[""], line[:WIDEST]
        if "|" in line:
            line = SERVICE.sub(lambda mark: f"[{mark[1]}]<stdout>:", line).replace("|", " ")
        if TAGGED.match(line) and (tag := TAG.match(line)):
            lines = tasks.setdefault((tag[1] or "").strip(" \t:"), [])
            line = line[tag.end():]
        if "<std" in line:
            line = STREAM.sub("", line)
        lines.append(line)
    return [line for lines in tasks.values() for line in lines]


def others(text: str, placed: list[tuple[int, Document]]) -> list[tuple[int, Document]]:
    """Name the tools whose printouts look alike; their matrices are one document."""
    strange = [at for at, document in placed if isinstance(document, Unsupported)]
    table = read_table("logs")
    known = table["others"] | (table["others_beside_a_strange_matrix"] if strange else {})
    named = [(text.count("\n", 0, min(hits)), what) for what, titles in known.items()
             if (hits := [at for title in titles if (at := text.find(title)) >= 0])]
    kept = [(at, document) for at, document in placed if not named or at not in strange]
    return kept + [(at, Unsupported(what, words("field.other_reason"))) for at, what in named]
