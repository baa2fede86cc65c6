"""Find the rows of nccl-tests and its kin in a text, and what the lines around them say."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise, takewhile
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nvlearn.data import read_table
from nvlearn.formulas import PASSES

Floats = NDArray[np.float64]

LOGS = read_table("logs")
TYPES, COLUMNS = {*LOGS["types"]}, LOGS["columns"]
SIZE = re.compile(r"(\d+(?:\.\d+)?)([KMGT]?)(?:i?B)?")
COUNT = re.compile(r"[0-9]{1,29}")
NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|nan|inf)")
NAME = re.compile(r"(all_?reduce|all_?gather|reduce_?scatter|all_?to_?allv?|send_?recv|broadcast"
                  r"|reduce|gather|scatter|hypercube)_(?:perf|test)")
NAMES = {name.replace("_", ""): name for name in (*PASSES, "alltoallv", "hypercube")}
# A comma that may be in a number, found fast; then numbers alone between blanks, so that a table
# apart by commas stays one.
COMMA = re.compile(r",(?<=\d,)(?:\d+(?![\d,.-])|\d{3}\.)")
GROUPED = re.compile(r"[1-9](?<![\w,.-].)\d{0,2}(?:,\d{3})+(?=\.|[\s;]|$)")
DECIMAL = re.compile(r"(\d(?<![\w,.-].)\d*),(\d+)(?![\d,.])")
MOST = 1e18  # no number of a log is larger
HEADER = re.compile(r"size|count|type|redop|root|time|algbw|busbw|wrong|timestamp|[#i]_?\w+%?")
SAYS = [(word, kind, stage, re.compile(pattern.replace("NAME", NAME.pattern)))
        for word, kind, stage, pattern in LOGS["says"]]
SETTINGS = re.compile(r"(nThread|nGpus|minBytes|maxBytes|validation|step)s?(?::| to|) *(\d{1,18})")
COMMAND = re.compile(r"(?:\s(?:-np?|--ntasks)[ =](\d{1,9})\b.*)?_perf\b(?:.*?\s-g *(\d{1,9}))?")


class Row(NamedTuple):
    """One size as printed: bytes, elements, type, operator, and the numbers behind them."""

    size: float
    elements: int
    dtype: str
    redop: str
    cells: list[str]

    @property
    def rooted(self) -> bool:
        """Whether the first number is the root, not the time: bandwidths have decimals."""
        first, _, algbw, busbw = self.cells[:4]
        return first == "-1" or (first.isdecimal() and "." in algbw and "." in busbw)


class Half(NamedTuple):
    """The columns of one half of a table, nan where nothing stands: us, GB/s, GB/s, a count."""

    time: Floats
    algbw: Floats
    busbw: Floats
    wrong: Floats


class Table(NamedTuple):
    """Rows of one type, operator and root: the columns of bytes, elements and both halves."""

    dtype: str
    redop: str
    root: int
    size: Floats
    elements: list[int]
    out: Half
    back: Half


@dataclass
class Run:
    """The lines of one run of a test, from its command to its average."""

    start: int = 0
    stage: int = 0
    name: str = ""
    header: tuple[str, ...] = ()
    devices: dict[int, tuple[str, int, str]] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)
    said: dict[str, re.Match[str]] = field(default_factory=dict)
    torn: int = 0
    mean: float | None = None

    def rest(self, line: str, tokens: list[str], before: str) -> bool:
        """Take a line of bare numbers: the rest of a row, a row without type, or a torn one."""
        tokens = tokens[tokens[:1] == ["#"]:]
        found = cells(tokens)
        if not found or len(found) < len(tokens):
            return False
        last = self.rows[-1].cells if self.rows else []
        broken = last and not line[0].isspace() and before.endswith(last[-1]) and (
            len(last) < 8 or re.fullmatch(r"\d+\.\d\d?", last[-1] + found[0]))
        if "size" in self.header and "type" not in self.header:
            if len(found) >= len(self.header):
                self.rows.append(Row(float(found[0]), 0, "", "", found))
        elif self.rows and (broken or (len(last) < 8 and "." in "".join(found))):
            if broken:  # by a narrow window, inside a number
                found[0] = last.pop() + found[0]
            last += cells(found)
        elif self.stage == 5 and found[0].lstrip("-").isdecimal() and len(found) <= 2:
            self.torn += 1
        return True

    def take(self, kind: str, line: str, hit: re.Match[str]) -> None:
        """Take what a line says that is no row."""
        self.said[kind] = self.said.get(kind, hit) if kind == "failed" else hit
        if kind == "header":
            self.header = columns(line)
        elif kind == "device":
            host = " ".join(hit[2].split()).partition("on ")[2]
            self.devices[int(hit[1][:9])] = (host, int(hit[3][:9]), hit[4].strip())
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
        return float(found[0]) if found and abs(float(found[0])) < MOST else None

    def tables(self) -> list[Table]:
        """Return the rows that were read whole, a table for each restart of the sizes, or one."""
        rows, roots, halves = self.whole()
        kinds = [(row.dtype, row.redop, int(root)) for row, root in zip(rows, roots, strict=True)]
        kinds = kinds or [("", "", -1)]
        sizes = [row.size if row.size < MOST else 0.0 for row in rows]
        starts = [0]
        for at in range(1, len(rows)):
            again = sizes[at] < sizes[at - 1] and sizes[at] <= sizes[starts[-1]]
            if again or kinds[at] != kinds[at - 1]:
                starts.append(at)
        parts = [slice(*ends) for ends in pairwise([*starts, len(rows)])]
        return [Table(*kinds[part.start], np.array(sizes[part]), [r.elements for r in rows[part]],
                      *(Half(*columns[:, part]) for columns in halves)) for part in parts]

    def whole(self) -> tuple[list[Row], Floats, Floats]:
        """Return the rows that have as many numbers as most, their roots, and both halves."""
        rooted = [row.rooted for row in self.rows[-99:] if len(row.cells) > 3]
        first = int(2 * sum(rooted) > len(rooted) if rooted else "root" in self.header)
        if bare := self.header and "type" not in self.header:
            first = next(i for i, name in enumerate(self.header) if name in Half._fields)
        widths = Counter(len(row.cells) - first for row in self.rows)
        width = max(widths, key=lambda w: (widths[w], w), default=0)
        names = half(self.header, width)
        need = first + len(names) * (2 if width >= 2 * len(names) else 1)
        rows = [row for row in self.rows if len(row.cells) >= need]
        found = np.array([[*map(float, row.cells[:need])] for row in rows]).reshape(-1, need).T
        found = np.where(abs(found) < MOST, found, np.nan)
        halves = np.full((2, len(Half._fields), len(rows)), np.nan)
        for at, name in enumerate(names):
            if name in Half._fields:
                columns = found[first + at::len(names)]
                halves[:len(columns), Half._fields.index(name)] = columns
        roots = np.nan_to_num(found[0]) if first and not bare else np.full(len(rows), -1.0)
        good = ~np.isnan(halves[0, 2])
        rows, halves = [rows[at] for at in np.flatnonzero(good).tolist()], halves[:, :, good]
        self.mean = average(halves[:, 2])
        self.torn += len(self.rows) - len(rows)
        return rows, roots[good], halves


def average(rates: Floats) -> float | None:
    """Return the mean of bus bandwidths, as the last line of a log has it."""
    rates = rates[~np.isnan(rates)]
    return float(rates.mean()) if rates.size else None


def row_of(tokens: list[str]) -> Row | None:
    """Return the row of a line that holds a type, or None."""
    at = 2 if tokens[2:] and tokens[2] in TYPES else 0
    if not at and (types := TYPES.intersection(tokens)):
        at = tokens.index(min(types))
    size = SIZE.fullmatch(tokens[at - 2]) if at > 1 else None
    if not size or not COUNT.fullmatch(tokens[at - 1]):
        return None
    rest = tokens[at + 1:]
    redop = rest.pop(0) if rest and rest[0].isalpha() and rest[0].islower() else ""
    scale = 1024 ** " KMGT".index(size[2] or " ")
    return Row(float(size[1]) * scale, int(tokens[at - 1]), tokens[at], redop, cells(rest))


def cells(tokens: list[str]) -> list[str]:
    """Return the numbers at the beginning of a line, as printed."""
    try:
        return tokens if [*map(float, tokens)] else []
    except ValueError:  # there are words, too
        return [*takewhile(NUMBER.fullmatch, tokens)]


@lru_cache(64)
def columns(line: str) -> tuple[str, ...]:
    """Return the names of a header's columns, from the size on; empty if it is prose."""
    plain = re.findall(r"#?[a-z_][\w%]*", re.sub(r"\([^)]*\)", " ", line.lower()))
    names = [COLUMNS.get(name, name) for name in plain]
    names = names[names.index("size"):] if "size" in names else []
    known = "busbw" in names and all(HEADER.fullmatch(name) for name in names)
    return tuple(names) if known else ()


def half(header: Sequence[str], width: int) -> tuple[str, ...]:
    """Return the columns of one half of a row, from the header or from the number of cells."""
    first = next((i for i, name in enumerate(header) if name in Half._fields), len(header))
    names = tuple(name for name in header[first:] if name != "timestamp")
    count = names.index(names[0], 1) if names[:1] and names[0] in names[1:] else len(names)
    told = count < len(names) or 0 < count in (width, width / 2)
    return names[:count] if told else Half._fields[: 3 if width in (3, 6) else 4]


def scan(lines: Sequence[str]) -> list[Run]:
    """Return every run of a test that a text holds, in order."""
    runs = [Run()]
    lines = [DECIMAL.sub(r"\1.\2", GROUPED.sub(lambda hit: hit[0].replace(",", ""), line))
             if COMMA.search(line) else line for line in lines]  # 1,024 is 1024 and 3,5 is 3.5
    for number, line in enumerate(lines):
        if not line:
            continue
        run = runs[-1]
        plain = line.replace("N/A", "nan").replace("GB/s", "")
        tokens = plain.replace(",", " ").replace(";", " ").replace("*", " ").split()
        row = row_of(tokens)
        row = row if row and (len(row.cells) > 1 or run.stage > 3) else None
        if not row and run.stage in (4, 5) and run.rest(line, tokens, lines[number - 1]):
            continue
        kind, stage, hit = ("row", 5, None) if row else classify(line, run)
        if run.stage > 3 and kind:
            opens = 0 < stage < 5 and not (kind == "device" and hit and int(hit[1][:9]))
            if opens or (run.stage == 6 and row):
                run = Run()
                runs.append(run)
        if stage:
            run.start = number if run.stage <= (stage == 1) else run.start
            run.stage = max(run.stage, stage)
        if row:
            run.rows.append(row)
        elif hit:
            run.take(kind, line, hit)
    return [run for run in runs if run.rows or run.header or "nGpus" in run.numbers]


def classify(line: str, run: Run) -> tuple[str, int, re.Match[str] | None]:
    """Return what a line says, the part of a printout that it belongs to, and its match."""
    for word, kind, stage, pattern in SAYS:
        if word in line and (hit := pattern.search(line)):
            early = run.stage < 4 and (stage == 6 or kind == "elided")
            idle = (kind == "header" and not columns(line)) or (kind == "name" and "NCCL" in line)
            if not early and not idle:
                return kind, stage, hit
    return "", 0, None
