"""Find the printouts in a paste: clean its lines, let each reader take its own."""

import re
from collections.abc import Iterable
from itertools import islice

from nvlearn import catalog
from nvlearn.field import nccl_tests, nvlink, topo
from nvlearn.field.findings import Document, ReadError, Unsupported
from nvlearn.i18n import words

MOST_LINES, WIDEST = 200_000, 6_000  # what is kept of a paste
CHUNK = 1 << 23

ESCAPES = re.compile(r"\x1b(?:\[[0-?]{0,20}[ -/]{0,4}[@-~]|\][^\x07\n]{0,200}\x07|[()].|.)")
HIDDEN = {"\r": "\n", "&lt;": "<", "&gt;": ">", **dict.fromkeys("\xa0\u3000\x0b\x0c", " ")}
HIDDEN |= dict.fromkeys("\ufeff\u200b\u200e\x00\u2060", "")
STREAM = re.compile(r"\[[^\]\n]{1,60}\]<std(?:out|err)>: ?")
TAG = re.compile(
    r"(?:>\s?)*(?:\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S{0,12} )?"
    r"[ \t]{0,8}(\[[^\]]{1,60}\]<std(?:out|err)>: ?|\[\d{1,5}\] (?=\s*[#G\d])|\d{1,5}: ?(?=\s))?"
)

# What other tools print over a matrix or a table. The last ones need a strange matrix beside them.
OTHERS = {
    "rocm-smi topology": ("Weight between two GPUs", "Hops between two GPUs",
                          "Link Type between two GPUs", "amd-smi topology"),
    "p2p matrix": ("P2P Connectivity Matrix", "Bandwidth Matrix (GB/s)", "Latency Matrix (us)"),
    "nvbandwidth": ("nvbandwidth Version", "memcpy CE GPU", "memcpy CE CPU", "memcpy SM GPU"),
    "nvidia-smi topo -p2p": ("topo -p2p", "CNS = Chipset"),
    "MetaX mx-smi topology": ("mx-smi", "MetaXLink"),
    "xpu-smi topology": ("xpu-smi", "XeLink"),
    "npu-smi topology": ("npu-smi", "HCCS")}
SURE = 3


def read(source: str | Iterable[str], gpu: str | None = None) -> list[Document]:
    """Return every printout of a paste, in order; `gpu` states what a printout cannot say.

    The source is a text or its lines, such as an open file. A paste without a printout raises
    ReadError; a GPU that the catalog does not have raises its CatalogError.
    """
    stated = catalog.gpu(gpu) if gpu else None
    lines = clean(source)
    placed = [*nvlink.read(lines), *topo.read(lines, stated)]
    placed += [(log.run.start, log) for log in nccl_tests.read(lines, gpu)]
    documents = [document for _, document in sorted(others(lines, placed), key=lambda p: p[0])]
    if not documents:
        seen = next((line.strip() for line in lines if line.strip()), "")
        key = "too_long" if len(lines) >= MOST_LINES else "nothing" if seen else "empty"
        raise ReadError(words(f"field.{key}", seen=f"{seen[:60]!r}", lines=MOST_LINES))
    return documents


def clean(source: str | Iterable[str]) -> list[str]:
    """Return the lines of a paste without what terminals, launchers and web pages add to them.

    The lines of several tasks are put together task by task, as each printed them.
    """
    kept = (line[:WIDEST] for line in islice(filter(None, split(source)), MOST_LINES))
    text = ESCAPES.sub("", "\n".join(kept))
    for old, new in HIDDEN.items():
        text = text.replace(old, new)
    lines: list[str] = []
    tasks: dict[str, list[str]] = {"": lines}
    for line in text.split("\n"):
        head = line[:12]
        if head[:1] in (">", "[", "2") or ":" in head:
            tag = TAG.match(line)
            lines = tasks.setdefault(((tag and tag[1]) or "").strip(" \t:"), [])
            line = line[tag.end():] if tag else line
        else:
            lines = tasks[""]
        if "<std" in line:
            line = STREAM.sub("", line)
        if line and not line.lstrip().startswith(("```", "~~~")):
            lines.append(line)
    return [line for lines in tasks.values() for line in lines]


def split(source: str | Iterable[str]) -> Iterable[str]:
    """Return the lines of a text; of a long one, without making all of them at once."""
    if not isinstance(source, str):
        return (line.rstrip("\n") for line in source)
    if len(source) < CHUNK:
        return source.split("\n")
    return (line.group() for line in re.finditer(r"[^\n]+", source))


def others(lines: list[str], placed: list[tuple[int, Document]]) -> list[tuple[int, Document]]:
    """Name the tools whose printouts look alike; their matrices are one document."""
    strange = [at for at, document in placed if isinstance(document, Unsupported)]
    text = "\n".join(lines)
    named = []
    for order, (what, titles) in enumerate(OTHERS.items()):
        found = [at for title in titles if (at := text.find(title)) >= 0]
        if found and (strange or order < SURE):
            named.append((text.count("\n", 0, min(found)), what))
    if not named:
        return placed
    reason = words("field.other_reason")
    placed = [(at, document) for at, document in placed if at not in strange]
    return placed + [(at, Unsupported(what, reason)) for at, what in named]
