"""Cheap checks of arguments (a Python number stays one), and the legend of each formula."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, wraps
from inspect import isfunction, signature
from operator import call
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nvlearn.data import read_table

#: What a formula takes: numbers, or arrays that broadcast.
Num: TypeAlias = float | NDArray[Any]
#: What it gives: a float where every argument is a number, else an array. (A union would force a
#: cast on every caller.)
Out: TypeAlias = Any

#: Every public formula by its name.
FORMULAS: dict[str, Callable[..., Any]] = {}


def check(**values: Any) -> list[Any]:
    """Return the values as floats or float arrays; refuse what is outside the range of its name.

    Parameters
    ----------
    **values : float or array
        Arguments of a formula, by the names that the legends know.

    Raises
    ------
    ValueError
        If a value is no number, not finite, or outside the range of its name.

    Lesson 02.

    >>> check(ranks=8, message=1024)
    [8.0, 1024.0]
    """
    return [_reader(name)(value) for name, value in values.items()]


def guard(module: dict[str, Any]) -> None:
    """Let every formula of a module check its numbers, the arguments declared as `Num`, first.

    Parameters
    ----------
    module : dict
        What the module's ``globals()`` gives, at its end.

    Lesson 05.

    >>> from nvlearn.formulas import full_mesh_links
    >>> full_mesh_links(0)
    Traceback (most recent call last):
    ...
    ValueError: n (GPUs) is 0; expected a whole number, at least 1: GPUs that take part.
    """
    for name, value in list(module.items()):
        if isfunction(value) and value.__module__ == module["__name__"]:
            FORMULAS[name] = module[name] = _guarded(value)


def _guarded(formula: Callable[..., Any]) -> Callable[..., Any]:
    readers = {name: _reader(name) if argument.annotation is Num else _same
               for name, argument in signature(formula).parameters.items()}
    order = tuple(readers.values())

    @wraps(formula)
    def checked(*values: Any, **named: Any) -> Any:
        named = {name: readers.get(name, _same)(value) for name, value in named.items()}
        # A value too many and a name that is not known are Python's to refuse.
        return formula(*map(call, order, values), *values[len(order) :], **named)

    return checked


def _same(value: Any) -> Any:
    return value


@cache
def _reader(name: str) -> Callable[[Any], Any]:
    """Return what reads the values of a name; its range is looked up once, not at every call."""
    legends = read_table("legends")
    entry = legends["arguments"].get(name, {})
    low, high, whole, words = legends["ranges"][entry.get("range", "positive")]

    def read(value: Any) -> Any:
        if type(value) in (float, int) and low <= value <= high and not (whole and value % 1):
            return float(value)
        shown, given = "", np.asarray(value)
        if given.dtype.kind in "iuf":
            array: NDArray[np.float64] = given.astype(np.float64, copy=False)
            inside = not array.size or (low <= array.min() and array.max() <= high)  # not if NaN
            parts = whole and given.dtype.kind == "f" and (array != np.rint(array)).any()
            if inside and not parts:
                return array if array.ndim else float(array)
            shown = next(f"{x:g}" for x in array.flat if not low <= x <= high or (whole and x % 1))
        raise ValueError(f"{name} ({entry['unit']}) is {shown or repr(value)}; "
                         f"expected {words}: {entry['meaning']}.")

    return read


def require(fine: Any, sentence: str) -> None:
    """Raise a ValueError with the sentence unless all is fine.

    Parameters
    ----------
    fine : bool or array
        What must hold.
    sentence : str
        What is wrong otherwise, without a full stop.

    Raises
    ------
    ValueError
        If anything is not fine.

    Lesson 02.

    >>> require(2 > 1, "ranks is 1: nothing moves")

    """
    if fine is not True and not np.all(fine):
        raise ValueError(f"{sentence}.")


def pick(table: Mapping[str, Any], key: str, kind: str) -> Any:
    """Return the entry of a table, or say which names come near.

    Parameters
    ----------
    table : mapping
        Entries by name.
    key : str
        Name that is wanted.
    kind : str
        What the table holds, for the sentence.

    Raises
    ------
    ValueError
        If the table has no such name; the nearest names are in the sentence.

    Lesson 02.

    >>> pick({"ring": 2}, "ring", "algorithm")
    2
    """
    if key not in table:
        near = get_close_matches(key, table, cutoff=0.4) or table
        raise ValueError(f"There is no {kind} {key!r}; there is {', '.join(near)}.")
    return table[key]


def larger(a: Any, b: Any) -> Any:
    """Return the larger of two floats, or of each pair of two arrays.

    Parameters
    ----------
    a, b : float or array
        What is compared.

    Lesson 07.

    >>> larger(1.0, 2.0)
    2.0
    """
    return max(a, b) if type(a) is type(b) is float else np.maximum(a, b)


def log2(n: Any) -> Any:
    """Return the binary logarithm.

    Parameters
    ----------
    n : float or array
        Number above 0.

    Lesson 07.

    >>> log2(8.0)
    3.0
    """
    return math.log2(n) if type(n) is float else np.log2(n)


# --- legends ---------------------------------------------------------------------


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
