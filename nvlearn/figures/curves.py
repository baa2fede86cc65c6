"""Plots: over sizes, closed forms, winners, a learner's own calibration, generations."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import cycle, pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from nvlearn import catalog
from nvlearn.answers import slip_sentence
from nvlearn.figures import style
from nvlearn.figures.drawing import Drawing, Picture, text_width
from nvlearn.figures.plot import MARGIN, WIDTH, Axes, Plot, Scale, log_ticks, trail, value_scale
from nvlearn.formulas import FORMULAS, growth, legend, require
from nvlearn.i18n import words
from nvlearn.units import GB, format_rate, format_size, format_time

Say = Callable[..., str]


# --- time or bus bandwidth against the size of a message ----------------------

SHAPES, DASHES = ("circle", "square", "diamond", "triangle"), ("none", "10 4", "3 3", "12 3 3 3")
PLACES, SAME = 2000, 1e-3


class Series:
    """Values (bytes per second one way, or seconds) at sizes in bytes, of a model or measured.

    `source` says where measured values are published.
    """

    def __init__(self, name: str, sizes: ArrayLike, values: ArrayLike, way: str = "nvlink",
                 source: str = "") -> None:
        """Keep sizes and values as arrays; `way` names the colour."""
        self.name, self.source, self.way = name, source, style.WAYS[way]
        self.sizes, self.values = np.asarray(sizes, float), np.asarray(values, float)


Part = tuple[Series, float, float]


def size_curves(curves: Sequence[Series], points: Sequence[Series] = (), quantity: str = "busbw",
                log: bool = True) -> Picture:
    """Draw curves over measured points; the quantity is "busbw" or "time".

    `log` is about the axis of the values.
    """
    rates, series = quantity == "busbw", [*points, *curves]
    sizes, values = [each.sizes for each in series], [each.values for each in series]
    fine = all(len(part) and ((part > 0) & (part < math.inf)).all() for part in sizes + values)
    require(bool(curves) and quantity in ("busbw", "time") and fine,
            'Size curves need "busbw" or "time", and one curve or more of two points or more, with '
            "ascending sizes and values above 0")
    # Powers of two are told in binary units.
    binary = all(math.frexp(each[end])[0] == 0.5 for each in sizes for end in (0, -1))
    size = partial(format_size, binary=binary)
    every = np.concatenate(sizes).tolist()
    low, high = min(every) / 1.3, max(every) * 1.3
    ticks = tuple((tick, size(tick)) for tick in log_ticks(low, high, binary))
    x = Scale(low, high, ticks, words("sizes.x"), log=True)
    y = value_scale(np.concatenate(values), words(f"sizes.y.{quantity}"), log,
                    gigabytes if rates else format_time)
    plot = Plot(Axes("sizes", x, y, top=146, bottom=470, height=560))
    for each, dash in zip(curves, cycle(DASHES), strict=False):
        plot.curve(each.sizes, each.values, each.way.fill, dash, 3, each.name)
    for each, shape in zip(points, cycle(SHAPES), strict=False):
        plot.points(each.sizes, each.values, each.way.dark, shape, True, each.name)
    parts = winners(curves, 1 if rates else -1)
    title, *told = story(curves, parts, size, format_rate if rates else format_time)
    subtitle = words(f"sizes.subtitle.{'both' if points else 'model'}")
    return plot.picture(title, subtitle, " ".join(told), [each.source for each in points],
                        winners=[(best.name, *ends) for best, *ends in parts])


def gigabytes(rate: float) -> str:
    """Return a rate as its axis prints it, the unit in the label."""
    return np.format_float_positional(rate / GB, trim="-")


def winners(curves: Sequence[Series], better: int) -> list[Part]:
    """Return which curve is best between which sizes; a tie goes to the one named first."""
    logs = [(np.log(each.sizes), better * np.log(each.values)) for each in curves]
    places = np.linspace(min(x[0] for x, _ in logs), max(x[-1] for x, _ in logs), PLACES)
    scores = np.array([np.interp(places, x, y, -np.inf, -np.inf) for x, y in logs])
    best = (scores >= np.nanmax(scores, axis=0) - SAME).argmax(axis=0)
    ends = np.exp([*places, places[-1]]).tolist()
    return [(curves[int(at)], ends[a], ends[b]) for at, a, b in runs(best)]


def story(curves: Sequence[Series], parts: Sequence[Part], size: Say, value: Say) -> list[str]:
    """Return the title, the finding in full, and a sentence for each curve."""
    best = [words("sizes.best", name=w.name, size=size(high, digits=2)) for w, _, high in parts]
    (first, _, turn), (last, _, end) = parts[0], parts[-1]
    kind = "one" if len(curves) == 1 else ("always", "two", "more")[min(len(parts), 3) - 1]
    finding = title = words(
        f"sizes.title.{kind}", first=first.name, turn=size(turn, digits=2), last=last.name,
        end=size(end), value=value(first.values[-1], digits=3), best=", ".join(best))
    if text_width(title, style.TITLE, bold=True) > WIDTH - 2 * MARGIN:
        title = words("sizes.title.long", count=len(parts))
    return [title, *[f"{finding}."] * (len(curves) > 1), *(
        words("sizes.ends", name=each.name, small=size(each.sizes[0]), large=size(each.sizes[-1]),
              low=value(each.values[0], digits=3), high=value(each.values[-1], digits=3))
        for each in curves)]


# --- closed forms -------------------------------------------------------------

#: What writes a value of a unit of the legends, and what writes it at a tick.
SAYS: dict[str, tuple[Say, Say]] = {
    "s": (partial(format_time, digits=3),) * 2, "bytes": (partial(format_size, digits=3),) * 2,
    "bytes/s": (partial(format_rate, digits=3), lambda rate: f"{rate / GB:,g} GB/s"),
    "share": ("{:.1%}".format, "{:.0%}".format)}


def say(unit: str) -> tuple[Say, Say]:
    """Return what writes a value of a unit of the legends, and what writes a tick."""
    base = unit.split(",")[0].removesuffix(" of the step").removesuffix(" of the ideal time")
    return SAYS.get(base, (lambda value: f"{value:,.4g} {base}", lambda value: f"{value:,g}"))


def formula_curve(formulas: Sequence[str], over: str, ends: tuple[float, float], at: float,
                  log: bool = True, **given: float) -> Picture:
    """Draw closed forms that share a unit over one argument, and mark where it is `at`.

    The other arguments are `given`, in base units; each formula takes those it knows.
    """
    legends = [legend(name) for name in formulas]
    units = {found.result for found in legends}
    require(len(units) == 1 and ends[0] < ends[1], words(
        "curve.units", formulas=", ".join(formulas), units=", ".join(sorted(units))))
    row = next(row for row in legends[0].rows if row.argument == over)
    whole = row.unit in ("GPUs", "domains", "stages", "links", "micro-batches", "buckets")
    xs = np.geomspace(*ends, 300) if log else np.linspace(*ends, 300)
    xs = np.unique(xs.round()) if whole else xs
    (told, tick), (place, step) = say(legends[0].result), say(row.unit)
    lines = {found.name: curve(found.name, over, xs, given) for found in legends}
    values = {name: float(curve(name, over, np.array([at]), given)[0]) for name in lines}
    ticks = log_ticks(*ends) if log else np.linspace(*ends, 6).tolist()
    label = words("curve.axis", meaning=row.meaning, unit=row.unit)
    x = Scale(*ends, tuple((t, step(t)) for t in ticks), label, log)
    every = np.concatenate([*lines.values()])
    wide = log and legends[0].result in ("s", "bytes", "bytes/s")
    value = words(f"curve.of.{legends[0].result}")
    plot = Plot(Axes("curve", x, value_scale(every, value, wide, tick), top=132))
    parts = {name: words("curve.part", name=words(f"formula.{name}"), value=told(value))
             for name, value in values.items()}
    for way, (name, ys) in zip(style.WAYS.values(), lines.items(), strict=False):
        plot.curve(xs, ys, way.fill, way.dash, 3, parts[name])
        plot.points([at], [values[name]], way.dark)
    case, least = "title" if len(parts) == 1 else "least", min(values, key=values.__getitem__)
    title = words(f"curve.{case}", part=parts[least], over=place(at))
    told_all = words("curve.sentence", parts=", ".join(parts.values()), over=place(at))
    return plot.picture(title, words("curve.subtitle"), told_all, values=values)


def curve(name: str, over: str, xs: np.ndarray, given: Mapping[str, float]) -> np.ndarray:
    """Return the values of a formula over one argument."""
    known = {row.argument for row in legend(name).rows}
    others = {key: value for key, value in given.items() if key in known}
    return np.broadcast_to(np.asarray(FORMULAS[name](**{over: xs}, **others)), xs.shape)


# --- who wins, and the learner ------------------------------------------------

#: Fills by the algorithm's name, each readable under ink.
FILLS = {"ring": "#9CD3F2", "tree": "#F2C879", "nvls": "#7FD1B5", "nvls_tree": "#BFE3D3",
         "direct": "#E3B7CF", "hierarchical": "#F0E68C"}


def winner_map(winners: ArrayLike, ranks: Sequence[int], sizes: Sequence[float],
               over: ArrayLike | None = None) -> Picture:
    """Draw names of winners, a row for each number of ranks, a column for each size in bytes.

    Names such as "ring LL" take the colour of their first word. `over` is a second table of names:
    a thick line shows where its winners change.
    """
    names = np.asarray(winners, dtype=str)
    require(names.shape == (len(ranks), len(sizes)) and names.size > 0, words(
        "winners.shape", shape=names.shape, ranks=len(ranks), sizes=len(sizes)))
    said = [format_size(size, binary=True) for size in sizes]
    columns = tuple((place + 0.5, said[place])
                    for place in range(0, len(sizes), max(1, round(len(sizes) / 10))))
    rows = tuple((place + 0.5, str(count)) for place, count in enumerate(ranks))
    plot = Plot(Axes("winners", Scale(0, len(sizes), columns, words("winners.sizes")),
                     Scale(len(ranks), 0, rows, words("winners.ranks")), left=92, right=936))
    across, (top, low) = (edges.tolist() for edges in plot.axes.at(range(len(sizes) + 1), [0, 1]))
    for row, line in enumerate(names):
        for name, first, last in runs(line):
            x, wide = across[first], across[last] - across[first]
            box(plot.sheet, name, x, top + row * (low - top), wide, low - top)
    if over is not None:
        border(plot, np.asarray(over))
    parts = [words("winners.part", name=name, size=said[at]) for name, at, _ in runs(names[-1])]
    title = told = words("winners.title", ranks=ranks[-1], parts=", ".join(parts))
    if text_width(title, style.TITLE, bold=True) > WIDTH - 2 * MARGIN:
        title = words("winners.title_long", ranks=ranks[-1], turns=len(parts) - 1)
    return plot.picture(title, words("winners.subtitle"), told, winners=names.tolist())


def runs(names: np.ndarray) -> list[tuple[str, int, int]]:
    """Return each name with the place where it begins and the place before which it ends."""
    turns = [0, *(np.flatnonzero(names[1:] != names[:-1]) + 1).tolist(), len(names)]
    return [(str(names[a]), a, b) for a, b in pairwise(turns)]


def box(sheet: Drawing, name: str, x: float, y: float, wide: float, tall: float) -> None:
    """Draw neighbours with the same winner as one box, with its name where it fits."""
    sheet.rect(x, y, wide, tall, FILLS.get(name.split(" ")[0], style.WORK), stroke=style.PAPER)
    if text_width(name, style.TINY) < wide - 4 and tall > 12:
        sheet.text(x + wide / 2, y + tall / 2 + 4, name, style.TINY, anchor="middle")


def border(plot: Plot, names: np.ndarray) -> None:
    """Draw a line wherever the second table changes."""
    for change, right, down in ((names[:, 1:] != names[:, :-1], 1, 0),
                                (names[1:] != names[:-1], 0, 1)):
        row, column = np.nonzero(change)
        xs = np.transpose([column + right, column + 1, column * np.nan])
        ys = np.transpose([row + down, row + 1, row])
        plot.sheet.path(trail(*plot.axes.at(xs, ys)), stroke=style.INK, stroke_width=2.5)


#: A ratio that is near; predictions drawn; the end of the axis; how far from it a mark is whole.
NEAR, SHOWN, MOST, EDGE = 1.1, 24, 100.0, 1.15


def judged(record: Mapping[str, Any]) -> str:
    """Return how a guess was judged; older records do not say whether it was right."""
    near = 1 / NEAR <= (record["ratio"] or 0) <= NEAR and not record.get("slip")
    return "right" if record.get("right", near) else "slip" if record.get("slip") else "off"


def calibration(records: Sequence[Mapping[str, Any]]) -> Picture:
    """Draw the learner's first guess of each number: guess / truth on a logarithmic axis.

    A later guess knows the truth. The last ones that were made are drawn.
    """
    firsts = {record["id"]: record for record in reversed(records)}
    given = [record for record in records if firsts[record["id"]] is record and (
        record.get("ratio") is not None or "right" in record)][-SHOWN:]
    # Where the truth is 0 there is no ratio: right, or beyond the end.
    ratios = np.array([(1.0 if r.get("right") else MOST) if r["ratio"] is None else r["ratio"]
                       for r in given])
    ticks = tuple((10.0**k, words("calibration.times", ratio=f"{10.0**k:g}"))
                  for k in (-2, -1, 0, 1, 2))
    rows = tuple((-float(i), str(record["id"])) for i, record in enumerate(given))
    tall = 22.0 * max(len(given), 1)
    plot = Plot(Axes("calibration", Scale(1 / MOST, MOST, ticks, words("calibration.x"), log=True),
                     Scale(0.4 - len(given), 0.6, rows), 150, bottom=150 + tall, height=230 + tall))
    plot.curve([1, 1], [plot.axes.y.low, plot.axes.y.high], style.INK, "4 4", 1.5)
    kinds = np.array([judged(record) for record in given], dtype=str)
    looks = {"right": ("circle", style.FREE), "slip": ("diamond", style.JAM),
             "off": ("square", style.MUTED)}
    for name, (marker, colour) in looks.items():
        here = np.flatnonzero(kinds == name)
        plot.points(np.clip(ratios[here], EDGE / MOST, MOST / EDGE), -here, colour, marker,
                    name=words(f"calibration.{name}"))
    slips = Counter(record["slip"] for record in given if record.get("slip")).most_common(3)
    lines = [words("calibration.count", count=n, of=len(given), slip=slip_sentence(code))
             for code, n in slips]
    title = words("calibration.title" if given else "calibration.none", of=len(given),
                  right=(kinds == "right").sum(), slips=(kinds == "slip").sum())
    return plot.picture(title, words("calibration.subtitle"), " ".join([f"{title}.", *lines]),
                        kinds=kinds.tolist())


# --- generations over the years -----------------------------------------------

DOUBT, BEFORE, TREAD = ("3 4", "none"), 1.5, 0.9
CELLS = ("name", "gpu", "nvlink", "factor", "pcie", "ratio")


class Row:
    """One generation: the GPU that brought it, and the totals of that GPU in GB/s."""

    def __init__(self, made: catalog.NVLink, way: str) -> None:
        """Read the numbers of a generation, "one_way" or "both_ways"."""
        gpu, self.year = catalog.gpu(made.first_gpu), made.year.value
        figures = (made.year, made.per_gpu, catalog.pcie(gpu.pcie).raw)
        self.settled = made.year.settled and made.per_gpu.settled
        self.doubt = "" if self.settled else words("generations.doubt")
        self.gpu, self.road = gpu.name.split()[0], gpu.pcie.split()[-1]
        self.nvlink, self.pcie = (getattr(figure, way) / GB for figure in figures[1:])
        self.ratio, self.factor, self.name = self.nvlink / self.pcie, "", made.name.split()[-1]
        self.sources = [catalog.sources()[figure.source].document for figure in figures]


def generations(both_ways: bool = True, log: bool = False, trend: float | None = None) -> Picture:
    """Draw NVLink and PCIe of one GPU against the years, and a `trend`, a growth in % a year."""
    way = "both_ways" if both_ways else "one_way"
    rows = [Row(made, way) for made in catalog.nvlinks().values() if made.get("year")]
    for before, row in pairwise(rows):
        row.factor = words("generations.factor", factor=row.nvlink / before.nvlink)
    first, *_, last = (row for row in rows if row.settled)
    told = {
        "first": first, "last": last, "years": last.year - first.year,
        "grown": last.nvlink / first.nvlink, "road_grown": last.pcie / first.pcie,
        "way": words(f"generations.{way}"), "scale": words("generations.log") if log else ""}
    x = Scale(rows[0].year - BEFORE, rows[-1].year + TREAD,
              tuple((row.year, f"{row.year:g}") for row in rows))
    levels = [value for row in rows for value in (row.nvlink, row.pcie)]
    # a trend is drawn up to 10 TB/s, so that the axis stays while it moves
    y = value_scale(levels + [10_000] * (trend is not None), words("generations.y", **told), log,
                    "{:,g}".format)
    plot = Plot(Axes("generations", x, y, left=150, top=126, bottom=356, height=560))
    stairs(plot, rows, "nvlink", "circle")
    stairs(plot, rows, "pcie", "square")
    table(plot, rows)
    sentence = words("generations.sentence", **told)
    if trend is not None:
        years = np.array([last.year, rows[-1].year, *np.linspace(first.year, x.high)])
        levels = growth(first.nvlink, trend / 100, years - first.year)
        name = words("generations.line_trend", trend=trend)
        plot.curve(years[2:], levels[2:], style.INK, "8 4", 2, name)
        sentence = words("generations.trend", trend=trend, levels=levels, end=rows[-1], **told)
    return plot.picture(
        words("generations.title", **told), words("generations.subtitle"), sentence,
        [name for row in rows for name in row.sources],
        **{part: [getattr(row, part) for row in rows] for part in (*CELLS, "year")})


def stairs(plot: Plot, rows: list[Row], part: str, marker: str) -> None:
    """Draw stairs: a tread lasts until the next GPU; what is not settled is dashed and hollow."""
    way, name = style.WAYS[part], words(f"generations.line_{part}")
    levels, ends = [getattr(row, part) for row in rows], [row.year for row in rows[1:]]
    steps = zip(rows, levels[:1] + levels, levels, [*ends, rows[-1].year + TREAD], strict=False)
    for row, before, level, end in steps:
        places = [row.year, row.year, end], [before, level, level]
        plot.curve(*places, way.fill, DOUBT[row.settled], 3, name if row is rows[0] else "")
        plot.points([row.year], [level], way.dark, marker, hollow=not row.settled)


def table(plot: Plot, rows: list[Row]) -> None:
    """Write the numbers under their years."""
    for line, part in enumerate(CELLS):
        y, bold = plot.axes.bottom + 48 + 20 * line, part == "ratio"
        plot.sheet.text(MARGIN, y, words(f"generations.row_{part}"), style.SMALL, style.MUTED)
        for row in rows:
            x, ink = plot.axes.at(row.year, 1)[0], style.INK if row.settled else style.MUTED
            cell = words(f"generations.cell_{part}", **vars(row))
            plot.sheet.text(float(x), y, cell, style.SMALL, ink, "middle", bold)
