"""Read what `nvidia-smi topo -m` prints: how the GPUs of a machine are joined."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

NEAR = {"PIX": 0, "PXB": 1, "PHB": 2, "NODE": 3, "SYS": 4, "SOC": 4}
PLAIN = {*NEAR, "X", "C2C", *(f"NV{n}" for n in range(37))}
LABEL = re.compile(r"NV\d{1,3}|PIX|PXB|PHB|NODE|SYS|SOC|C2C|X", re.IGNORECASE)
LABELS = re.compile(f"(?:{LABEL.pattern})+", re.IGNORECASE)
LOST = {"N/A", "NA", "ERR!", "ERR", "-", "?", "Unknown"}
LOST |= {label[:n] for label in ("NV", *NEAR) for n in range(1, len(label))} | {"NV"}  # torn
FOREIGN = re.compile(r"[A-Z]{2,6}\d{0,2}|\d{1,4}")
NAME = re.compile(r"[A-Za-z][\w.@-]*\d[\w.@-]*")
GLUE = re.compile(r"(\d)(?=(?:GPU|NIC|mlx)\d|CPU)")  # names of a narrow header run together
TORN = {word[:n] for word in ("GPU", "NIC", "mlx", "CPU") for n in (1, 2, 3)}
TAIL = {"CPU", "NUMA", "Node", "CPUAffinity", "CPU_Affinity", "Affinity"}
WORTH = re.compile(r"GPU\d|NIC\d|SYS|NODE|PIX|PHB|PXB|NV\d|SOC|mlx|topo -|Affinity")
MOST_BLOCKS, MOST_COLUMNS = 32, 256


class Row(NamedTuple):
    """A row: its name, its cells and what stands behind them; a header's name is empty."""

    name: str
    cells: list[str | None]
    tail: list[str]

    @property
    def known(self) -> int:
        """How many words of the row were read."""
        return len(self.tail) + sum(cell is not None and cell[0] != "?" for cell in self.cells)


@dataclass
class Block:
    """The lines of one matrix: the names of its header, and its rows by name."""

    start: int
    pcie_only: bool
    columns: list[str] = field(default_factory=list)
    headed: bool = False
    closed: bool = False  # the header goes on to its affinity columns, so none of it is lost
    rows: dict[str, Row] = field(default_factory=dict)

    def take(self, row: Row) -> None:
        """Take a row or the header."""
        if row.name:
            self.rows[row.name] = row
        else:
            self.columns, self.headed, self.closed = [*map(str, row.cells)], True, bool(row.tail)

    def lacks(self, row: Row) -> bool:
        """Tell whether a row or the header could go on."""
        short = len(row.cells) < len(self.columns) or row.cells[-1] is None
        return short if row.name else not row.tail

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
        cells = [cell for row in self.rows.values() for cell in row.cells if cell]
        strange = [cell for cell in cells if cell[0] == "?"]
        labels = [cell for cell in strange if cell[1].isalpha()]  # one alone is a slip
        return len(strange) > 1 and ("X" not in cells or len(labels) > len({*labels}))

    @cached_property
    def labels(self) -> dict[tuple[str, str], str]:
        """The labels that were read, by the names of row and column."""
        return {(name, column): cell for name, cells, _ in self.rows.values() for column, cell
                in zip(self.columns, cells, strict=False) if cell and cell[0] != "?"}

    def whole(self, name: str) -> bool:
        """Tell whether all cells of a row were read."""
        return all((name, column) in self.labels for column in self.columns)

    def complete(self) -> Block:
        """Name the columns that the header does not name, and drop rows that do not fit."""
        width = max((len(row.cells) for row in self.rows.values()), default=0)
        if not self.closed and width > len(self.columns):
            gpus = min(self.count_gpus(), width) if all(map(is_gpu, self.columns)) else 0
            others = [name for name in self.rows if not is_gpu(name)]
            names = dict.fromkeys([*self.columns, *map("GPU{}".format, range(gpus)), *others])
            spare = [nic for nic in map("NIC{}".format, range(width)) if nic not in names]
            self.columns = [*names, *spare[:max(width - len(names), 0)]]
        tails = any(row.tail for row in self.rows.values())
        for name, cells, tail in list(self.rows.values()):
            short = len(cells) < len(self.columns) or (tails and not tail)
            if short and (cells[-1] or "").startswith("NV"):
                cells.pop()  # "NV1" may be what is left of "NV18"
            own = cells[self.columns.index(name):][:1] if name in self.columns else []
            if own and own[0] not in ("X", "?0"):
                del self.rows[name]
        return self

    def count_gpus(self) -> int:
        """Count the GPUs without a header: a NIC's own cell is behind them, no NIC has NV."""
        rows = self.rows.values()
        nics = [row.cells.index("X") for row in rows if not is_gpu(row.name) and "X" in row.cells]
        last = [i for row in rows for i, c in enumerate(row.cells) if c and c[:2] == "NV"]
        last += map(number, filter(is_gpu, self.rows))
        return min(nics, default=1 + max(last, default=-1))


def is_gpu(name: str) -> bool:
    """Tell whether a name is that of a GPU."""
    return name[:3] == "GPU" and name[3:].isdecimal() and len(name) < 8


def number(name: str) -> int:
    """Return the number of a GPU."""
    return int(name[3:])


def blocks(lines: list[str]) -> list[Block]:
    """Take every matrix out of a paste; a header, or a row seen before, begins a new one."""
    made: list[Block] = []
    none, last, before, end, pcie_only = Block(0, False), Row("", [], []), "", -1, False
    for at, line in enumerate(lines):
        block = made[-1] if made else none
        broken = bool(made) and at == end + 1 and block.lacks(last)
        if not (broken or WORTH.search(line)) or len(made) > MOST_BLOCKS:
            continue
        pcie_only = "topo -mp" in line if "topo -" in line else pcie_only
        row, whole = read_row(line, block), None
        if broken and not (row and row.name in block.columns):
            text = f"{before}{' ' if before.endswith((*NEAR,)) else ''}{line}"
            whole = read_row(text, block)
        if whole and whole.name == last.name and whole.known > last.known and "=" not in line:
            row, line = whole, text  # a narrow window broke it
        elif row and (not row.name or not made or block.rows.get(row.name, row).cells != row.cells):
            if row.name and not (is_gpu(row.name) and "X" in row.cells):
                continue
            made.append(block := Block(at, pcie_only))
        if row:
            block.take(row)
            last, before, end, lines[at] = row, line, at, ""
    return [block.complete() for block in made[:MOST_BLOCKS]]


def read_row(line: str, block: Block) -> Row | None:
    """Split a header or a row into its name, its cells and what stands behind them."""
    tokens = line.split()
    return header_of(tokens) or row_of(tokens, block)


def header_of(tokens: list[str]) -> Row | None:
    """Return a header: names, and the titles of what stands behind them."""
    if not PLAIN.isdisjoint(tokens):
        return None
    tokens = GLUE.sub(r"\1 ", " ".join(tokens)).split()
    first = next((i for i, token in enumerate(tokens) if is_gpu(token)), 0)
    while first and NAME.fullmatch(tokens[first - 1]):
        first -= 1
    end = next((i for i, token in enumerate(tokens) if token in TAIL), len(tokens))
    names = tokens[first:end]
    if names and names[-1] in TORN:
        names.pop()
    if not names or any(not NAME.fullmatch(t) or LABELS.fullmatch(t) for t in names):
        return None
    sure = len(names) <= MOST_COLUMNS and (end < len(tokens) or sum(map(is_gpu, names)) > 1)
    return Row("", [*dict.fromkeys(names)], tokens[end:]) if sure else None


def row_of(tokens: list[str], block: Block) -> Row | None:
    """Return a row, if one begins among the first words."""
    known = block.columns
    start = next((i + 1 for i, t in enumerate(tokens[:8]) if is_gpu(t) or t in known), 0)
    start = start or next((i for i, t in enumerate(tokens[:8]) if i and LABELS.fullmatch(t)), 0)
    if not start or not NAME.fullmatch(name := tokens[start - 1]) or name in PLAIN:
        return None
    cells: list[str | None] = []
    width = len(known) if block.closed else MOST_COLUMNS
    rest = tokens[:start - 1:-1]
    while rest and len(cells) < width:
        if rest[-1] in PLAIN:
            cells.append(rest[-1])
        elif LABELS.fullmatch(rest[-1]):
            cells += LABEL.findall(rest[-1].upper())
        elif len(cells) < len(known) and (rest[-1] in LOST or FOREIGN.fullmatch(rest[-1])):
            cells.append(None if rest[-1] in LOST else f"?{rest[-1]}")
        else:
            break
        rest.pop()
    return Row(name, cells, rest[::-1]) if cells else None
