"""Where the source document is right and where not, with both numbers computed by the formulas."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

from nvlearn import answers
from nvlearn.data import read_table
from nvlearn.formulas.checks import pick
from nvlearn.i18n import words
from nvlearn.units import format_value

VERDICTS = ("wrong", "inconsistent", "misleading", "outdated", "unsourced", "right")


@dataclass(frozen=True)
class Number:
    """One number of an entry: computed by a formula, or quoted where it has none.

    The unit is a base unit with its direction, such as "B/s both ways"; the tolerance is relative.
    """

    label: str
    side: str
    value: float
    unit: str
    tolerance: float
    formula: str = ""
    args: Mapping[str, Any] | None = None

    def compute(self) -> float:
        """Return the number afresh from its formula; a quoted number is its stored value."""
        return answers.compute(vars(self)) if self.formula else self.value

    def text(self) -> str:
        """Return the stored value with its unit and direction."""
        base, _, way = self.unit.partition(" ")
        if base == "share":
            return f"{100 * self.value:.4g} %"
        if base == "s" and self.value >= 0.01:  # one unit where times are compared
            return f"{self.value:.4g} s"
        return format_value(float(f"{self.value:.6g}"), base, way, digits=6)


@dataclass(frozen=True, repr=False)
class Erratum:
    """One entry: what the source document says, what holds, and the numbers of both."""

    id: str
    title: str
    said: str
    holds: str
    verdict: str
    lesson: str
    source: tuple[str, ...]
    numbers: tuple[Number, ...] = ()

    def rows(self) -> list[tuple[str, str]]:
        """Return the entry for a reader: both sentences, then each number with its unit."""
        numbers = [(words(f"errata.{n.side}"), f"{n.label}: {n.text()}") for n in self.numbers]
        document, holds = words("errata.document"), words("errata.holds")
        return [(document, self.said), (holds, self.holds), *numbers]

    @property
    def heading(self) -> str:
        """The id, the title and the verdict."""
        return f"{self.id} · {self.title} ({words(f'errata.{self.verdict}')})"

    def __repr__(self) -> str:
        """Return the entry as plain text."""
        return "\n".join([self.heading, *(f"  {head}: {text}" for head, text in self.rows())])

    def _repr_markdown_(self) -> str:
        rows = (f"| {head} | {text.replace('|', chr(92) + '|')} |" for head, text in self.rows())
        return "\n".join([f"**{self.heading}**", "", "| | |", "|:--|:--|", *rows])


@cache
def entries() -> dict[str, Erratum]:
    """Return all entries by their id, in order."""
    found = dict[str, Erratum]()
    for row in read_table("errata")["erratum"]:
        numbers = tuple(Number(**number) for number in row.get("numbers", ()))
        found[row["id"]] = Erratum(**{**row, "source": tuple(row["source"]), "numbers": numbers})
    return found


def entry(key: str) -> Erratum:
    """Return one entry, such as "A1"."""
    return cast(Erratum, pick(entries(), key, "erratum"))

