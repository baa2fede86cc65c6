"""Where a number comes from: every figure that matches it, its arithmetic and its source."""

import re
from collections.abc import Iterator
from functools import cache

from nvlearn import catalog, units
from nvlearn.catalog.tables import TABLES, unknown
from nvlearn.data import read_table
from nvlearn.i18n import language, words

LONGEST, NEAR = 200, 0.0035  # 367 finds 367.61 and 260 finds 259.2, but 900 does not find 896
Entry = tuple[catalog.Record, str, catalog.Figure]  # a figure in its place, with its title


def why(text: str) -> list[str]:
    """Return where a number such as "900 GB/s", or a record such as "H100", comes from."""
    if len(text) > LONGEST or not text.strip():
        raise units.UnitError(words("why.ask", length=LONGEST))
    tables = () if re.match(r"\s*[-\u2212]", text) else TABLES.values()
    if named := {id(r): r for table in tables if (r := table.find(text))}:
        return [line for record in named.values() for line in _about(record)]
    if told := _terms(text):
        return told
    if not re.match(r"[-\u2212~\u2248+\s]*\.?\d", text):
        keys = {key: r for table in TABLES.values() for key, r in table.keys.items()}
        raise catalog.CatalogError(unknown(text, "record", keys))
    asked = _read(text)
    groups: dict[tuple[str, str, bool], list[Entry]] = {}
    said: set[tuple[object, ...]] = set()
    for record, title, figure in sorted(_entries(), key=lambda e: e[2].value != asked.value):
        once = (record.name, figure.scope, figure.kind == "measured", min(_ways(figure).values()))
        if figure.unit == asked.unit and _close(figure, asked) and once not in said:
            said.add(once)
            which = "; ".join(_chains(figure)) or figure.text + title.removeprefix(record.name)
            groups.setdefault((figure.scope, which, figure.settled), []).append(
                (record, title, figure))
    return [line for group in groups.values() for line in _told(group)] or [_nothing(asked)]


def _terms(text: str) -> list[str]:
    """Return what the glossary says of a word such as "busbw", or of a label such as "NV18"."""
    asked = {text.strip().casefold(), re.sub(r"\d+", "#", text.strip().casefold())}
    return [words("why.term", **term) for term in read_table(f"glossary.{language()}")["term"]
            if asked & {*re.split(r", | \(|\)", term["term"].casefold())}]


@cache
def _entries() -> tuple[Entry, ...]:
    """Return every figure once; what a row takes from another table stands only there."""
    found: dict[int, Entry] = {}
    for record in (record for table in TABLES.values() for record in table.all().values()):
        for name, figure in record.figures.items():
            title = record.name if name == "value" else f"{record.name}, {words(f'catalog.{name}')}"
            found.setdefault(id(figure), (record, title, figure))
    return tuple(found.values())


def _read(text: str) -> units.Quantity:
    """Read a quantity, or a count of something that the tables count."""
    text = re.sub(r"\s+(?:per|a|of one)\s+(?:GPU|link|lane|port|chip|system|switch)\b", "", text)
    found = re.fullmatch(r"\s*([\d,]+)\s+([A-Za-z]+?)s?\s*", text)
    counted = {figure.unit.casefold(): figure.unit for _, _, figure in _entries()}
    if found and (noun := counted.get(f"{found[2]}s".casefold())):
        return units.Quantity(float(found[1].replace(",", "")), noun, "", text.strip())
    return units.read(text)


def _ways(figure: catalog.Figure) -> dict[str, float]:
    """Return the values by which a figure may be known, by direction."""
    if figure.unit == "B/s" and figure.direction in ("one way", "both ways"):
        return {"one way": figure.one_way, "both ways": figure.both_ways}
    return {figure.direction: figure.value}


def _close(figure: catalog.Figure, asked: units.Quantity) -> bool:
    ways = _ways(figure)
    return any(abs(value - asked.value) <= NEAR * abs(asked.value) for way, value in ways.items()
               if asked.direction in (way, "") or asked.direction not in ways)


def _chains(figure: catalog.Figure) -> list[str]:
    """Write the arithmetic of a figure, such as 18 links x 25 GB/s = ..., then of its factors."""
    if not figure.factors:
        return []
    parts = [units.format_value(f.value, f.unit, f.direction if f.unit == "B/s" else "", digits=6)
             for f in figure.factors]
    text = " x ".join(parts) + words("why.bits") * figure.in_bytes
    text += words("why.directions") * figure.doubled + f" = {figure.text}"
    return [text, *(line for factor in figure.factors for line in _chains(factor))]


def _state(figure: catalog.Figure) -> str:
    """Say of what kind a figure is, and what to mind about it."""
    unstated = words("why.unstated") * (figure.direction == "unstated")
    unsettled = words("why.unsettled") * (not figure.settled)
    return "; ".join(filter(None, (figure.kind, unstated, unsettled, figure.note)))


def _source(figure: catalog.Figure) -> str:
    source = catalog.sources()[figure.source]
    return f"{source.publisher}: {source.document}"


def _told(group: list[Entry]) -> Iterator[str]:
    """Yield the lines of one matching figure, and of the records that share it."""
    record, title, figure = group[0]
    other = [units.format_value(value, figure.unit, way) for way, value in _ways(figure).items()
             if way != figure.direction]
    text = figure.text + "".join(words("why.that_is", other=o) for o in other)
    yield words("why.head", title=title, text=text, state=_state(figure))
    yield from dict.fromkeys(f"  {line}" for line in _chains(figure))
    if group[1:]:
        yield words("why.same", names=", ".join(r.name for r, _, _ in group[1:]))
    if isinstance(record, catalog.NVLink) and figure.scope == "GPU" and figure.unit == "B/s":
        yield from _reached(record)
    yield words("why.source", source=_source(figure))


def _reached(made: catalog.NVLink) -> Iterator[str]:
    """Yield what was measured, one way, over a generation of NVLink."""
    limit = made.per_gpu.one_way
    for record, title, figure in _entries():
        of = getattr(record, "of", "")
        over = catalog.gpu(record.gpu).nvlink if isinstance(record, catalog.System) else of
        told = (over, figure.kind, figure.unit, figure.direction)
        if told == (made.name, "measured", "B/s", "one way") and figure.scope in ("GPU", "pair"):
            yield words("why.reached", made=made.name, title=title, text=figure.text,
                        share=figure.value / limit, limit=units.format_rate(limit),
                        source=_source(figure))


def _about(record: catalog.Record) -> Iterator[str]:
    """Yield every figure of a record."""
    yield f"{record.name}. {record.note}".strip(" .") + "."
    for name, figure in record.figures.items():
        yield words("why.figure", label=words(f"catalog.{name}"), state=_state(figure),
                    text=(_chains(figure) or [figure.text])[0], source=_source(figure))
    if isinstance(record, catalog.NVLink):
        yield from _reached(record)


def _nothing(asked: units.Quantity) -> str:
    """Say that no figure matches, and which come nearest."""
    far: dict[str, tuple[float, str]] = {}
    for _, title, figure in _entries():
        if figure.unit == asked.unit:
            distance = min(abs(value - asked.value) for value in _ways(figure).values())
            far.setdefault(figure.text, (distance, f"{figure.text} ({title})"))
    nearest = "; ".join(told for _, told in sorted(far.values())[:3]) or words("why.no_unit")
    return words("why.nothing", asked=asked.shown, nearest=nearest)
