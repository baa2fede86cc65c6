"""The tables of the catalog; a number that does not say what it is does not load."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from nvlearn import units
from nvlearn.data import read_table

KINDS = ("advertised", "derived", "measured")
DIRECTIONS = ("one way", "both ways", "none", "unstated")
PROVENANCE = ("unit", "direction", "scope", "kind", "source")


class CatalogError(ValueError):
    """A number without provenance or a name that no table has, in one sentence."""


class MissingFigureError(CatalogError, AttributeError):
    """A figure that the tables do not give for this record."""


@dataclass(frozen=True, slots=True)
class Source:
    """A document that figures come from; kind is vendor, measurement or secondary."""

    id: str
    document: str
    publisher: str
    kind: str
    read: str


@dataclass(frozen=True, slots=True)
class Figure:
    """One number with its provenance; the value is in base units, in the direction stated.

    The factors are the figures that multiply to this one, if its table names them.
    """

    value: float
    unit: str
    direction: str
    scope: str
    kind: str
    source: str
    settled: bool = True
    note: str = ""
    factors: tuple[Figure, ...] = field(default=(), compare=False, repr=False)

    @property
    def one_way(self) -> float:
        """The value of one direction; refused if the source does not say which it states."""
        if self.direction == "unstated":
            raise CatalogError(f"{self.text} is given without a direction by {self.source}.")
        return self.value / 2 if self.direction == "both ways" else self.value

    @property
    def both_ways(self) -> float:
        """The value of both directions together."""
        return 2 * self.one_way

    @property
    def count(self) -> int:
        """The value of something that is counted."""
        return round(self.value)

    @property
    def text(self) -> str:
        """The number as a reader sees it, with unit and direction."""
        return units.format_value(self.value, self.unit, self.direction, digits=6)

    @property
    def in_bytes(self) -> bool:
        """Whether the factors count bits, or transfers of one bit, and this counts bytes."""
        return self.unit == "B/s" and any(f.unit in ("bit/s", "T/s") for f in self.factors)

    @property
    def doubled(self) -> bool:
        """Whether this is both ways and no factor is."""
        ways = [self.direction, *(f.direction for f in self.factors)]
        return ways.count("both ways") == 1 and ways[0] == "both ways"

    def product(self) -> float:
        """Multiply the factors to what the value should be."""
        scale = (2 if self.doubled else 1) / (units.BITS_PER_BYTE if self.in_bytes else 1)
        return math.prod((f.value for f in self.factors), start=scale)


@dataclass(frozen=True, kw_only=True)
class Record:
    """A row of a table; its figures are attributes, such as `nvlink("4.0").per_link`.

    The status says whether it is shipped, supported, specified or announced, if that matters.
    """

    name: str
    source: str
    aliases: tuple[str, ...] = ()
    status: str = ""
    note: str = ""
    figures: Mapping[str, Figure] = field(hash=False, repr=False)

    def __getattr__(self, name: str) -> Figure:
        if name.startswith("_") or name == "figures":
            raise AttributeError(name)
        if figure := self.figures.get(name):
            return figure
        known = ", ".join(self.figures)
        raise MissingFigureError(f"The tables give no {name!r} for {self.name}; known: {known}.")

    def get(self, name: str) -> Figure | None:
        """Return a figure, or None if the tables do not give it."""
        return self.figures.get(name)


@dataclass(frozen=True, kw_only=True)
class NVLink(Record):
    """A generation of NVLink."""

    first_gpu: str


@dataclass(frozen=True, kw_only=True)
class Switch(Record):
    """A generation of NVSwitch chips."""

    nvlink: str
    in_network_reduction: bool


@dataclass(frozen=True, kw_only=True)
class Gpu(Record):
    """A GPU; `pattern` matches its name in nvidia-smi, `nvlink` is "none" if it has none."""

    pattern: str
    nvlink: str
    pcie: str = ""
    c2c: str = ""


@dataclass(frozen=True, kw_only=True)
class System(Record):
    """A machine; a mesh or pairs have a matrix of links, a switched one links to its chips."""

    gpu: str
    layout: str
    switch: str = ""
    nic: str = ""
    matrix: tuple[tuple[int, ...], ...] = ()
    links_to_chips: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Fact(Record):
    """A figure of its own, `value`, or a range up to `high`, about the record named by `of`."""

    of: str


# isort: on

R = TypeVar("R", bound=Record)


@cache
def sources() -> Mapping[str, Source]:
    """Return every source by its id."""
    table = read_table("sources")
    return MappingProxyType({key: Source(id=key, **row) for key, row in table.items()})


def read_figure(where: str, cell: Any, column: Mapping[str, Any], row: Mapping[str, Any]) -> Figure:
    """Return the figure of a cell; what the cell says goes before the column, then the row."""
    shared = {key: row[key] for key in ("source", "settled") if key in row}
    told = {**shared, **column, **(cell if isinstance(cell, dict) else {"value": cell})}
    if lacking := " and no ".join(key for key in PROVENANCE if not told.get(key)):
        raise CatalogError(f"{where}: no {lacking} given; a number needs {', '.join(PROVENANCE)}.")
    for key, known in (("direction", DIRECTIONS), ("kind", KINDS), ("source", sources())):
        if told[key] not in known:
            raise CatalogError(f"{where}: {key} {told[key]!r} is not one of {', '.join(known)}.")
    if type(told.get("value")) not in (int, float):
        raise CatalogError(f"{where}: a number was expected, not {told.get('value')!r}.")
    value, unit = units.to_base(told["value"], told["unit"])
    rest = {key: told[key] for key in (*PROVENANCE[1:], "settled", "note") if key in told}
    return Figure(value=value, unit=unit, **rest)


def read_row(record: type[R], file: str, row: Mapping[str, Any], columns: Mapping[str, Any]) -> R:
    """Return the record of a row, its figures stated, taken from elsewhere or computed."""
    where = f"{file}, row {row.get('name')!r}, field "
    texts = {f.name for f in fields(record)} - {"figures"}
    told: dict[str, Any] = {}
    for key, cell in row.items():
        if key in texts and isinstance(cell, str | bool | list):
            told[key] = _tuple(cell)
        elif key not in columns and key != "settled":
            raise CatalogError(f"{where}{key!r}: no column of the table says what it is.")
    known: dict[str, Figure] = {}
    for name, column in columns.items():
        figure, (table, _, there) = None, column.get("from", "").partition(".")
        if name in row and name not in told:
            figure = read_figure(f"{where}{name!r}", row[name], column, row)
        elif row.get(table, "none") != "none":
            figure = TABLES[table](row[table]).get(there)
        parts = [known.get(part) for part in column.get("product", ())]
        if parts and all(parts):  # its factors give it its value
            factors = tuple(filter(None, parts))
            derived = {"value": 0, "kind": "derived", "source": factors[0].source,
                       "settled": all(factor.settled for factor in factors)}
            made = replace(figure or read_figure(where, derived, column, {}), factors=factors)
            figure = made if figure else replace(made, value=made.product())
        if figure:
            known[name] = figure
    try:
        return record(**told, figures=MappingProxyType(known))
    except TypeError as lacking:
        raise CatalogError(f"{file}, row {row.get('name')!r}: {lacking}.") from None


def _tuple(cell: Any) -> Any:
    return tuple(map(_tuple, cell)) if isinstance(cell, list) else cell


def key_of(name: str) -> str:
    """Return what two spellings of a name have in common: "NVIDIA H100-SXM5" is "H100 SXM"."""
    plain = re.sub(r"nvidia|tesla|geforce|graphics|(?<=sxm)\d\b", "", name.casefold())
    return re.sub(r"[^a-z0-9.]", "", plain)


class Table(Generic[R]):
    """A table, read when first asked; called with a name it returns that record."""

    def __init__(self, record: type[R], file: str, what: str) -> None:
        self.record, self.file, self.what = record, file, what
        #: All records by name, in the order of the file.
        self.all = cache(self._records)

    def _records(self) -> Mapping[str, R]:
        table = read_table(f"catalog/{self.file.removesuffix('.toml')}")
        rows = [read_row(self.record, self.file, r, table["columns"]) for r in table["rows"]]
        return MappingProxyType({r.name: r for r in rows})

    @cached_property
    def keys(self) -> Mapping[str, R]:
        """All records by what the spellings of their names and aliases have in common."""
        return {key_of(n): r for r in self.all().values() for n in (r.name, *r.aliases)}

    def find(self, name: str) -> R | None:
        """Return the record of a name, an alias or a name that nvidia-smi prints, or None."""
        printed = (r for r in self.all().values()
                   if isinstance(r, Gpu) and re.search(r.pattern, name))
        return self.keys.get(key_of(name)) or next(printed, None)

    def __call__(self, name: str) -> R:
        """Return the record of a name; a wrong one gets the nearest names."""
        if record := self.find(name):
            return record
        raise CatalogError(unknown(name, self.what, self.keys))


def unknown(name: str, what: str, keys: Mapping[str, Record]) -> str:
    """Say that no record has a name, and which come nearest."""
    close = difflib.get_close_matches(key_of(name), keys, 6, 0)
    nearest = ", ".join([*dict.fromkeys(keys[key].name for key in close)][:3])
    return f"No {what} is called {name!r}; the nearest names are {nearest}."


nvlink = Table(NVLink, "nvlink.toml", "NVLink generation")
pcie = Table(Record, "pcie.toml", "PCIe generation")
switch = Table(Switch, "switches.toml", "switch chip")
gpu = Table(Gpu, "gpus.toml", "GPU")
system = Table(System, "systems.toml", "system")
nic = Table(Record, "nics.toml", "network adapter")
rival = Table(Record, "rivals.toml", "fabric of another maker")
domain = Table(Record, "domains.toml", "NVLink domain")
c2c = Table(Record, "c2c.toml", "NVLink-C2C")
fact = Table(Fact, "facts.toml", "single figure")
TABLES: Mapping[str, Table[Any]] = {
    "nvlink": nvlink, "pcie": pcie, "switch": switch, "gpu": gpu, "nic": nic, "system": system,
    "rival": rival, "domain": domain, "c2c": c2c, "fact": fact}
