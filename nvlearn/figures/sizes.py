"""Time or bus bandwidth of a collective against the size of its message."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import cycle, pairwise

import numpy as np
from numpy.typing import ArrayLike

from nvlearn.figures import style
from nvlearn.figures.drawing import Picture, text_width
from nvlearn.figures.plot import MARGIN, WIDTH, Axes, Plot, Scale, log_ticks, value_scale
from nvlearn.formulas.checks import require
from nvlearn.i18n import words
from nvlearn.units import GB, format_rate, format_size, format_time

SHAPES, DASHES = ("circle", "square", "diamond", "triangle"), ("none", "10 4", "3 3", "12 3 3 3")
PLACES, SAME = 2000, 1e-3
Say = Callable[..., str]


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
                line_rate: float = 0.0, log: bool = True) -> Picture:
    """Draw curves over measured points; the quantity is "busbw" or "time".

    The line rate is bytes per second, one way; `log` is about the axis of the values.
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
    y = value_scale(np.concatenate([*values, [line_rate if rates else 0]]),
                    words(f"sizes.y.{quantity}"), log, gigabytes if rates else format_time)
    plot = Plot(Axes("sizes", x, y, top=146, bottom=470, height=560))
    for each, dash in zip(curves, cycle(DASHES), strict=False):
        plot.curve(each.sizes, each.values, each.way.fill, dash, 3, each.name)
    for each, shape in zip(points, cycle(SHAPES), strict=False):
        plot.points(each.sizes, each.values, each.way.dark, shape, True, each.name)
    if line_rate:  # what the line itself would do: a level, or the time to send the message once
        reach = np.geomspace(x.low, x.high, PLACES // 10)
        plot.curve(reach, line_rate + 0 * reach if rates else reach / line_rate, style.INK, "4 4",
                   1.5, words(f"sizes.line_{quantity}", rate=format_rate(line_rate)))
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
    turns = [0, *(np.flatnonzero(np.diff(best)) + 1).tolist(), PLACES - 1]
    ends = np.exp(places).tolist()
    return [(curves[best[a]], ends[a], ends[b]) for a, b in pairwise(turns)]


def story(curves: Sequence[Series], parts: Sequence[Part], size: Say, say: Say) -> list[str]:
    """Return the title, the finding in full, and a sentence for each curve."""
    best = [words("sizes.best", name=w.name, size=size(high, digits=2)) for w, _, high in parts]
    (first, _, turn), (last, _, end) = parts[0], parts[-1]
    kind = "one" if len(curves) == 1 else ("always", "two", "more")[min(len(parts), 3) - 1]
    finding = title = words(
        f"sizes.title.{kind}", first=first.name, turn=size(turn, digits=2), last=last.name,
        end=size(end), value=say(first.values[-1], digits=3), best=", ".join(best))
    if text_width(title, style.TITLE, bold=True) > WIDTH - 2 * MARGIN:
        title = words("sizes.title.long", count=len(parts))
    return [title, *[f"{finding}."] * (len(curves) > 1), *(
        words("sizes.ends", name=each.name, small=size(each.sizes[0]), large=size(each.sizes[-1]),
              low=say(each.values[0], digits=3), high=say(each.values[-1], digits=3))
        for each in curves)]
