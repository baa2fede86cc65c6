"""Closed forms as curves, the map of winners, and a learner's own calibration."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from nvlearn.answers import slip_sentence
from nvlearn.figures import style
from nvlearn.figures.drawing import Drawing, Picture, text_width
from nvlearn.figures.plot import Axes, Plot, Scale, log_ticks, trail, value_scale
from nvlearn.formulas import FORMULAS, legend, require
from nvlearn.i18n import words
from nvlearn.units import GB, format_rate, format_size, format_time

Say = Callable[[float], str]
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
    wide = log and every.max() > 30 * every[every > 0].min(initial=math.inf)
    value = words("curve.value", unit=legends[0].result)
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


#: Fills by the algorithm's name, each readable under ink.
FILLS = {"ring": "#9CD3F2", "tree": "#F2C879", "nvls": "#7FD1B5", "nvls_tree": "#BFE3D3",
         "direct": "#E3B7CF", "hierarchical": "#F0E68C"}


def winner_map(winners: ArrayLike, ranks: Sequence[int], sizes: Sequence[float], title: str = "",
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
        border(plot, np.asarray(over, dtype=str))
    parts = [words("winners.part", name=name, size=said[at]) for name, at, _ in runs(names[-1])]
    told = words("winners.title", ranks=ranks[-1], parts=", ".join(parts))
    return plot.picture(title or told, words("winners.subtitle"), told, winners=names.tolist())


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


NEAR, MOST, SHOWN = 1.1, 100.0, 24  # a ratio that is near; where the axis ends; predictions drawn


def calibration(records: Sequence[Mapping[str, Any]]) -> Picture:
    """Draw the last predictions of the learner's record: guess / truth on a logarithmic axis."""
    given = [record for record in records if (record.get("ratio") or 0) > 0][-SHOWN:]
    ratios = np.array([record["ratio"] for record in given])
    ticks = tuple((10.0**k, words("calibration.times", ratio=f"{10.0**k:g}"))
                  for k in (-2, -1, 0, 1, 2))
    rows = tuple((-float(i), str(record["id"])) for i, record in enumerate(given))
    tall = 22.0 * max(len(given), 1)
    plot = Plot(Axes("calibration", Scale(1 / MOST, MOST, ticks, words("calibration.x"), log=True),
                     Scale(0.4 - len(given), 0.6, rows), 150, bottom=150 + tall, height=230 + tall))
    plot.curve([1, 1], [plot.axes.y.low, plot.axes.y.high], style.INK, "4 4", 1.5)
    off = np.where([bool(record.get("slip")) for record in given], "slip", "off")
    kinds = np.where((ratios >= 1 / NEAR) & (ratios <= NEAR), "right", off)
    looks = {"right": ("circle", style.FREE), "slip": ("diamond", style.JAM),
             "off": ("square", style.MUTED)}
    for name, (marker, colour) in looks.items():
        here = np.flatnonzero(kinds == name)
        plot.points(np.clip(ratios[here], 1 / MOST, MOST), -here, colour, marker,
                    name=words(f"calibration.{name}"))
    slips = Counter(record["slip"] for record in given if record.get("slip")).most_common(3)
    lines = [words("calibration.count", count=n, of=len(given), slip=slip_sentence(code))
             for code, n in slips]
    title = words("calibration.title" if given else "calibration.none", of=len(given),
                  right=(kinds == "right").sum(), slips=(kinds == "slip").sum())
    return plot.picture(title, words("calibration.subtitle"), " ".join([f"{title}.", *lines]),
                        kinds=kinds.tolist())
