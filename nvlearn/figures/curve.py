"""A closed form as a curve over one of its arguments, with the point that is looked at."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from nvlearn.figures import style
from nvlearn.figures.drawing import Picture
from nvlearn.figures.plot import Axes, Plot, Scale, log_ticks, value_scale
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
