"""Read what `nvidia-smi topo -m` prints: how the GPUs of a machine are joined."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count

NEAR = {"PIX": 0, "PXB": 1, "PHB": 2, "NODE": 3, "SYS": 4, "SOC": 4}
PLAIN = {*NEAR, "X", "C2C", *(f"NV{n}" for n in range(37))}
LABEL = re.compile(r"NV\d{1,3}|PIX|PXB|PHB|NODE|SYS|SOC|C2C|X", re.IGNORECASE)
LABELS = re.compile(f"(?:{LABEL.pattern})+", re.IGNORECASE)
LOST = {"N/A", "NA", "ERR!", "ERR", "-", "?", "Unknown"}
LOST |= {label[:n] for label in ("NV", *NEAR) for n in range(1, len(label))} | {"NV"}  # torn
FOREIGN = re.compile(r"[A-Z]{2,6}\d{0,2}|\d{1,4}")
NAME = re.compile(r"[A-Za-z][\w.@-]*\d[\w.@-]*")
GLUE = re.compile(r"(\d)(?=(?:GPU|NIC|mlx)\d)")
TAIL = {"CPU", "NUMA", "Node", "CPUAffinity", "CPU_Affinity", "Affinity"}
WORTH = re.compile("GPU|NIC|SYS|NODE|PIX|PHB|PXB|NV|SOC|mlx|topo -|Affinity")
LEGEND = re.compile(r"\b(NIC\d+): *(\S+)")
MOST_BLOCKS, MOST_COLUMNS = 32, 600

Row = tuple[str, list[str | None], list[str]]


@dataclass
class Block:
    """The lines of one matrix: the names of its header, the cells and the tail of each row."""

    start: int
    columns: list[str] = field(default_factory=list)
    headed: bool = False
    closed: bool = False  # the header goes on to its affinity columns, so none of it is lost
    rows: dict[str, list[str | None]] = field(default_factory=dict)
    tails: dict[str, list[str]] = field(default_factory=dict)
    legend: dict[str, str] = field(default_factory=dict)
    torn: list[str] = field(default_factory=list)
    pcie_only: bool = False
    places: dict[str, int] = field(default_factory=dict)

    @cached_property
    def gpus(self) -> list[str]:
        """The names of the GPUs, by number."""
        return sorted(filter(is_gpu, self.columns), key=number)

    @property
    def nics(self) -> list[str]:
        """The names of the other columns, in order."""
        return [name for name in self.columns if not is_gpu(name)]

    @property
    def foreign(self) -> bool:
        """Whether the cells hold words that nvidia-smi does not print."""
        cells = [c for row in self.rows.values() for c in row if c]
        strange = [c for c in cells if c.startswith("?")]
        return len(strange) > 1 and ("X" not in cells or any(c[1:].isalpha() for c in strange))

    def cell(self, row: str, column: str) -> str | None:
        """Return the label of a cell, or None if it was not read."""
        cells, at = self.rows.get(row, []), self.places[column]
        label = cells[at] if at < len(cells) else None
        return None if label and label.startswith("?") else label

    def whole(self, row: str) -> bool:
        """Tell whether all cells of a row were read."""
        cells = self.rows.get(row, [])
        return len(cells) >= len(self.columns) and None not in cells

    def complete(self) -> Block:
        """Name the columns that the header does not name, and drop rows that do not fit."""
        width = max(map(len, self.rows.values()), default=0)
        if not self.closed and width > len(self.columns):
            if all(map(is_gpu, self.columns)):
                known = {*self.columns} if self.headed else set()
                more = [f"GPU{n}" for n in range(min(self.count_gpus(), width))]
                self.columns += [name for name in more if name not in known]
            self.columns += [n for n in self.rows if not is_gpu(n) and n not in self.columns]
            names = (n for n in map("NIC{}".format, count()) if n not in self.columns)
            while len(self.columns) < width:
                self.columns.append(next(names))
        self.places = {name: at for at, name in enumerate(self.columns)}
        for name, cells in list(self.rows.items()):
            ends = not self.tails[name] and any(self.tails.values())
            if (ends or len(cells) < len(self.columns)) and (cells[-1] or "").startswith("NV"):
                cells.pop()  # "NV1" may be what is left of "NV18"
            at = self.places.get(name, -1)
            if at < 0 or (len(cells) > at and cells[at] not in ("X", "?0")):
                self.torn.append(name)
                del self.rows[name]
        return self

    def count_gpus(self) -> int:
        """Count the GPUs without a header: a NIC's own cell is behind them, no NIC has NV."""
        nics = [row.index("X") for name, row in self.rows.items() if not is_gpu(name) if "X" in row]
        last = [i for row in self.rows.values() for i, c in enumerate(row) if c and c[:2] == "NV"]
        last += map(number, filter(is_gpu, self.rows))
        return min(nics, default=1 + max(last, default=-1))


def is_gpu(name: str) -> bool:
    """Tell whether a name is that of a GPU."""
    return name[:3] == "GPU" and name[3:].isdecimal() and len(name) < 8


def number(name: str) -> int:
    """Return the number of a GPU."""
    return int(name[3:])


def blocks(lines: Sequence[str]) -> list[Block]:
    """Find every matrix of a paste; a header, or a row seen before, begins a new one."""
    made: list[Block] = []
    pcie_only = False
    for at, line in enumerate(lines):
        if not WORTH.search(line):
            continue
        pcie_only = "topo -mp" in line if "topo -" in line else pcie_only
        tokens = GLUE.sub(r"\1 ", line).replace("|", " ").split()
        if "NIC" in line and (names := LEGEND.findall(line)):
            made[-1].legend.update(names) if made else None
        elif header := header_of(tokens):
            last = made[-1] if made else None
            if not last or last.rows or last.closed or {*header} & {*last.columns}:
                made.append(last := Block(at, headed=True, pcie_only=pcie_only))
            last.columns += header
            last.closed |= not TAIL.isdisjoint(tokens)
        elif row := row_of(tokens, made[-1] if made else Block(at)):
            name, cells, tail = row
            if not made or made[-1].rows.get(name, cells) != cells:
                if not is_gpu(name) or "X" not in cells:
                    continue
                made.append(Block(at, pcie_only=pcie_only))
            made[-1].rows[name], made[-1].tails[name] = cells, tail
        if len(made) > MOST_BLOCKS:
            break
    return [block.complete() for block in made[:MOST_BLOCKS]]


def header_of(tokens: list[str]) -> list[str]:
    """Return the names in a header, or in its further lines if a terminal broke it."""
    first = next((i for i, token in enumerate(tokens) if is_gpu(token)), 0)
    while first and NAME.fullmatch(tokens[first - 1]):
        first -= 1
    end = next((i for i, token in enumerate(tokens) if token in TAIL), len(tokens))
    if tokens[end - 1:end + 2] == ["GPU", "NUMA", "ID"]:
        end -= 1
    names = tokens[first:end]
    if not names or any(t in PLAIN or not NAME.fullmatch(t) or LABELS.fullmatch(t) for t in names):
        return []
    sure = end < len(tokens) or sum(map(is_gpu, names)) > 1
    return list(dict.fromkeys(names)) if sure and len(names) <= MOST_COLUMNS else []


def row_of(tokens: list[str], block: Block) -> Row | None:
    """Split a row into its name, its cells and what stands behind them."""
    starts = [i + 1 for i, t in enumerate(tokens[:8]) if is_gpu(t) or t in block.columns][:1]
    starts = starts or [i for i, t in enumerate(tokens[:8]) if i and LABELS.fullmatch(t)][:1]
    if not starts or not NAME.fullmatch(name := tokens[starts[0] - 1]) or name in PLAIN:
        return None
    cells: list[str | None] = []
    width = len(block.columns) if block.closed else MOST_COLUMNS
    at = starts[0]
    while at < len(tokens) and len(cells) < width:
        if (token := tokens[at]) in PLAIN:
            cells.append(token)
        elif LABELS.fullmatch(token):
            cells += LABEL.findall(token.upper())
        elif len(cells) < len(block.columns) and (token in LOST or FOREIGN.fullmatch(token)):
            cells.append(None if token in LOST else f"?{token}")
        else:
            break
        at += 1
    return (name, cells, tokens[at:]) if cells else None
