"""The records of the catalog: what a figure and a row are once they are read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from nvlearn import units

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

    The status says whether it is shipped, supported or announced, where that matters.
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
