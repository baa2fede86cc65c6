"""Find the rows of nccl-tests and its kin in a text, and what the lines around them say."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import NamedTuple

from nvlearn.formulas import PASSES

NOISE = re.compile(r"\x1b\[[0-9;?]*[@-~]|\[[^\[\]\s]*\d,\d+\]<std\w+>:?"
                   r"|[|,;\u2502]|(?<=\d) ?GB/s\b")
MARKS = frozenset("<|,;/\u2502\x1b")
TYPES = {"char", "uchar", "half", "float", "double", "bfloat16", "bf16", "int", "uint", "fp8"}
TYPES |= {f"{f}{sep}{bits}" for f in ("f8", "fp8", "float8") for sep in ("", "_")
          for bits in ("e4m3", "e5m2")}
TYPES |= {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
SIZE = re.compile(r"(\d+(?:\.\d+)?)([KMGT]?)(?:i?B)?")
NUMBERS = re.compile(r"(?:(?:[+-]?(?:\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\*?|nan|inf)|N/A) )*")
WHOLE, ROOTED = re.compile(r"-?\d+"), re.compile(r"\d+ \S+ \d+\.\d+ \d+\.\d+$")
NAME = re.compile(r"(all_?reduce|all_?gather|reduce_?scatter|all_?to_?allv?|send_?recv|broadcast"
                  r"|reduce|gather|scatter|hypercube)_(?:perf|test)")
NAMES = {name.replace("_", ""): name for name in (*PASSES, "alltoallv", "hypercube")}
COLUMNS = {"bytes": "size", "n": "count", "elements": "count", "op": "redop", "cputime": "time",
           "error": "wrong", "res": "wrong", "#wrong": "wrong"}
MOST = 1e18  # no number of a log is larger
METRICS = ("time", "algbw", "busbw", "wrong")
HEADER = re.compile(r"size|count|type|redop|root|time|algbw|busbw|wrong|timestamp|[#i]_?\w+%?")
# What a line that is no row may say: a word in it, the part of a printout (0: any), a pattern.
SAYS = [(word, kind, stage, re.compile(pattern)) for word, kind, stage, pattern in (
    ("ailure", "failed", 0, r"Test (?:\w+ )?failure|Cuda failure"),
    ("rror", "failed", 0, r"nccl[A-Z]\w*Error|unhandled \w+ error"),
    ("imeout", "failed", 0, r"Test timeout"),
    ("concluded", "done", 6, r"test"), ("Avg bus", "average", 6, r"bandwidth\s*:\s*([\d.]\S*)"),
    ("Out of bounds", "bounds", 6, r"values\s*:\s*(\d+)\s+(OK|FAILED)"),
    ("algbw", "header", 4, r"busbw"), ("nThread", "numbers", 2, r"nGpus"),
    ("maxBytes", "numbers", 0, r"Reducing maxBytes"),
    ("Rank ", "device", 3, r"Rank +(\d+)\b(?:.*?\bon\s+(\S+))?.*?device +(\d+) *\[[^\]]*\]? *(.*)"),
    ("anks ", "ranks", 0, r"\bn[rR]anks (\d+)"), ("_perf", "name", 1, NAME.pattern),
    ("_test", "name", 1, NAME.pattern), ("rccl", "kin", 0, ""), ("RCCL", "kin", 0, ""),
    ("...", "elided", 0, r"^[\s#>:\d-]*\.{3}"), ("\u2026", "elided", 0, r"^[\s#>:\d-]*\u2026"),
    ("snip", "elided", 0, r"^\W*snip"))]
SETTINGS = re.compile(r"(nThread|nGpus|minBytes|maxBytes|validation|step)s?(?::| to|) *(\d{1,18})")
COMMAND = re.compile(r"(?:\s(?:-np?|--ntasks)[ =](\d{1,9})\b.*)?_perf\b(?:.*?\s-g *(\d{1,9}))?")


class Half(NamedTuple):
    """One half of a row, out of place or in place: us, GB/s, GB/s, a count or an error."""

    time: float | None = None
    algbw: float | None = None
    busbw: float | None = None
    wrong: float | None = None


class Row(NamedTuple):
    """One size of a table: bytes, elements, type, operator, the cells behind, what they mean."""

    size: float
    elements: int
    dtype: str
    redop: str
    cells: list[str]
    root: int = -1
    out: Half = Half()
    back: Half = Half()

    @property
    def rooted(self) -> bool:
        """Whether the first cell is the root, not the time."""
        return self.cells[:1] == ["-1"] or ROOTED.match(" ".join(self.cells[:4])) is not None


@dataclass
class Run:
    """The lines of one run of a test, from its command to its average."""

    start: int = 0
    stage: int = 0
    stop: int = 0
    name: str = ""
    header: tuple[str, ...] = ()
    devices: dict[int, tuple[str, int, str]] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    raw: list[Row] = field(default_factory=list)
    said: dict[str, re.Match[str]] = field(default_factory=dict)
    failure: str = ""
    torn: int = 0
    mean: float | None = None
    both: bool = False

    def rest(self, tokens: list[str]) -> bool:
        """Take a line of bare numbers: the rest of a row, a row without type, or a torn one."""
        found = cells(tokens)
        if not found or len(found) < len(tokens):
            return False
        if "size" in self.header and "type" not in self.header:
            if len(found) >= len(self.header):
                self.raw.append(Row(value(found[0]) or 0.0, 0, "", "", found))
        elif self.raw and len(self.raw[-1].cells) < 8 and (len(found) > 2 or "." in "".join(found)):
            self.raw[-1].cells.extend(found)
        elif self.stage == 5 and WHOLE.fullmatch(found[0]) and len(found) <= 2:
            self.torn += 1
        return True

    def take(self, kind: str, line: str, hit: re.Match[str]) -> None:
        """Take what a line says that is no row."""
        self.said[kind] = hit
        if kind == "failed":
            self.failure = self.failure or " ".join(line.split())[:200]
        elif kind == "header":
            self.header = columns(line)
        elif kind == "device":
            self.devices[int(hit[1][:9])] = (hit[2] or "", int(hit[3][:9]), hit[4].strip())
        elif kind == "numbers":
            self.numbers |= {key: int(number) for key, number in SETTINGS.findall(line)}
        elif kind == "name":
            names = {NAMES[name.replace("_", "")] for name in NAME.findall(line)}
            self.name = names.pop() if len(names) == 1 else ""
            if found := COMMAND.search(line):
                self.numbers |= {k: int(n) for k, n in zip("pg", found.groups(), strict=True) if n}

    @property
    def average(self) -> float | None:
        """The printed average, if there is one that can be read."""
        found = cells([self.said["average"][1]]) if "average" in self.said else []
        return value(found[0]) if found else None

    def tables(self) -> list[list[Row]]:
        """Return the rows that were read whole, a list for each restart of the sizes."""
        tables: list[list[Row]] = []
        for row in self.rows():
            table = tables[-1] if tables else [row]
            again = row.size < table[-1].size and row.size <= table[0].size
            same = all(row[i] == table[-1][i] for i in (2, 3, 5))  # type, operator, root
            if not tables or again or not same:
                tables.append([])
            tables[-1].append(row)
        return tables

    def rows(self) -> list[Row]:
        """Return the rows that have as many cells as most; count the others as torn."""
        rooted = Counter(raw.rooted for raw in self.raw if len(raw.cells) > 3)
        first = int(rooted[True] > rooted[False] if rooted else "root" in self.header)
        if self.header and "type" not in self.header:
            first = next(i for i, name in enumerate(self.header) if name in METRICS)
        widths = Counter(len(raw.cells) - first for raw in self.raw)
        width = max(widths, key=lambda w: (widths[w], w), default=0)
        names = halves(self.header, width)
        whole = width >= 2 * len(names)
        order, rows = [names.index(m) if m in names else 99 for m in METRICS], []
        for row in self.raw:
            found = values(row.cells)
            out, back = found[first:][:len(names)], found[first + len(names):] if whole else []
            root = int(found[0] or 0) if first and row.dtype and found else -1
            row = Row(*row[:5], root, half(order, out), half(order, back))
            if row.out.busbw is not None and len(found) - first >= len(names) * (1 + whole):
                rows.append(row)
        self.torn += len(self.raw) - len(rows)
        self.mean, self.both = mean(rows), whole
        return rows


def mean(rows: Sequence[Row]) -> float | None:
    """Return the mean of all bus bandwidths, as the last line of a log has it; GB/s."""
    rates = [h.busbw for row in rows for h in (row.out, row.back) if h.busbw is not None]
    return fmean(rates) if rates else None


def row_of(tokens: list[str]) -> Row | None:
    """Return the row of a line that holds a type, or None."""
    at = next(i for i, token in enumerate(tokens) if i > 1 and token in TYPES)
    size, count, rest = SIZE.fullmatch(tokens[at - 2]), tokens[at - 1], tokens[at + 1:]
    if not size or not (count.isascii() and count.isdigit() and len(count) < 30):
        return None
    redop = rest.pop(0) if rest and rest[0].isalpha() and rest[0].islower() else ""
    scale = 1024 ** " KMGT".index(size[2] or " ")
    return Row((value(size[1]) or 0.0) * scale, int(count), tokens[at], redop, cells(rest))


def cells(tokens: Sequence[str]) -> list[str]:
    """Return the numbers at the beginning of a line, as printed."""
    text = " ".join(tokens) + " "  # the pattern always matches, if only nothing
    return text[:NUMBERS.match(text).end()].split()  # type: ignore[union-attr]


def values(tokens: Sequence[str]) -> list[float | None]:
    """Return the numbers of cells, None where one holds none."""
    try:
        found = [float(token) for token in tokens]
    except ValueError:
        return [value(token) for token in tokens]
    sane = all(-MOST < number < MOST for number in found)
    return [*found] if sane else [value(token) for token in tokens]


def value(token: str) -> float | None:
    """Return the number of a cell, or None if it holds none."""
    number = math.nan if token == "N/A" else float(token.rstrip("*"))
    return number if abs(number) < MOST else None


def columns(line: str) -> tuple[str, ...]:
    """Return the names of a header's columns, from the size on; empty if it is prose."""
    plain = re.findall(r"#?[a-z_][\w%]*", re.sub(r"\([^)]*\)", " ", line.lower()))
    names = [COLUMNS.get(name, name) for name in plain]
    names = names[names.index("size"):] if "size" in names else []
    return tuple(names) if all(HEADER.fullmatch(name) for name in names) else ()


def halves(header: Sequence[str], width: int) -> tuple[str, ...]:
    """Return the columns of one half of a row, from the header or from the number of cells."""
    first = next((i for i, name in enumerate(header) if name in METRICS), len(header))
    names = tuple(name for name in header[first:] if name != "timestamp")
    count = names.index(names[0], 1) if names[:1] and names[0] in names[1:] else len(names)
    return names[:count] if 0 < count <= width else METRICS[: 3 if width in (3, 6) else 4]


def half(order: Sequence[int], cells: Sequence[float | None]) -> Half:
    """Return the cells of one half, by where its columns stand."""
    return Half(*[cells[at] if at < len(cells) else None for at in order])


def scan(lines: Sequence[str]) -> list[Run]:
    """Return every run of a test that a text holds, in order."""
    runs = [Run()]
    for number, line in enumerate(lines):
        run, hit = runs[-1], None
        line = line[:4000]
        if not MARKS.isdisjoint(line):
            line = NOISE.sub(" ", line)
        tokens = line.split()
        tokens = tokens[1:] if tokens[:1] == ["#"] else tokens
        raw = None if TYPES.isdisjoint(tokens[2:]) else row_of(tokens)
        raw = raw if raw and (len(raw.cells) > 1 or run.stage > 3) else None
        if not raw and run.stage in (4, 5) and run.rest(tokens):
            run.stop = number + 1
            continue
        kind, stage, hit = ("row", 5, None) if raw else classify(line, run)
        if not kind:
            continue
        opens = 0 < stage < 5 and not (kind == "device" and hit and int(hit[1][:9]))
        if (run.stage > 3 and opens) or (run.stage == 6 and raw):
            run = Run()
            runs.append(run)
        run.start = number if stage and run.stage <= (stage == 1) else run.start
        run.stage, run.stop = max(run.stage, stage), number + 1 if stage else run.stop
        if raw:
            run.raw.append(raw)
        elif hit:
            run.take(kind, line, hit)
    return [run for run in runs if run.raw or run.header or "nGpus" in run.numbers]


def classify(line: str, run: Run) -> tuple[str, int, re.Match[str] | None]:
    """Return what a line says, the part of a printout that it belongs to, and its match."""
    for word, kind, stage, pattern in SAYS:
        if word in line and (hit := pattern.search(line)):
            early = run.stage < 4 and (stage == 6 or kind == "elided")
            idle = (kind == "header" and not columns(line)) or (kind == "name" and "NCCL" in line)
            if not early and not idle:
                return kind, stage, hit
    return "", 0, None
