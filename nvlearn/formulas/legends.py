"""The legend of each formula: LaTeX, symbols, units and city words."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from nvlearn.data import read_table
from nvlearn.formulas.checks import pick


class Row(NamedTuple):
    """One symbol of a formula.

    Attributes
    ----------
    symbol : str
        LaTeX of the symbol.
    argument : str
        Name of the argument in the function.
    unit : str
        Base unit.
    meaning : str
        In engineering words.
    city : str
        In the picture of the city.
    range : str
        Name of its range in the table of legends.

    Lesson 02.

    >>> legend("bandwidth_ratio").rows[0].argument
    'a'
    """

    symbol: str
    argument: str
    unit: str
    meaning: str
    city: str
    range: str = "positive"


@dataclass(frozen=True, repr=False)
class Legend:
    """A formula with its symbols.

    Attributes
    ----------
    name : str
        Name of the function.
    latex : str
        The formula.
    result : str
        Unit of the result.
    lesson : str
        Lesson that teaches it, two digits.
    rows : tuple of Row
        Its symbols, in the order of the arguments.
    document : bool
        Whether the source document has the formula.

    Lesson 05.

    >>> legend("amdahl_speedup").document
    True
    """

    name: str
    latex: str
    result: str
    lesson: str
    rows: tuple[Row, ...]
    document: bool = False

    def markdown(self) -> str:
        """Return the formula and a table of symbol, unit, meaning and city picture.

        Lesson 03.

        >>> legend("bandwidth_ratio").markdown().splitlines()[2]
        '| symbol | unit | meaning | in the city |'
        """
        cells = [(f"${row.symbol}$", row.unit, row.meaning, row.city) for row in self.rows]
        table = [read_table("legends")["columns"], ["---"] * 4, *cells]
        return "\n".join([f"$${self.latex}$$", "", *(f"| {' | '.join(line)} |" for line in table)])

    __repr__ = _repr_markdown_ = markdown


def legend(formula: str | Callable[..., Any]) -> Legend:
    """Return the legend of a formula.

    Parameters
    ----------
    formula : function or str
        The formula, or its name.

    Raises
    ------
    ValueError
        If there is no such formula; the nearest names are in the sentence.

    Lesson 06.

    >>> legend("ring_all_reduce_time").rows[1].symbol
    'N'
    """
    name = formula if isinstance(formula, str) else formula.__name__
    table = read_table("legends")
    entry = dict(pick(table["formulas"], name, "formula"))
    order, own = entry.pop("arguments"), entry.pop("own", {})
    rows = tuple(Row(argument=a, **table["arguments"][a] | own.get(a, {})) for a in order)
    return Legend(name=name, rows=rows, **entry)
