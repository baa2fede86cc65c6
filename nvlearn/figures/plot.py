"""Anything with axes: a frame that matplotlib draws once, and what moves written over it.

The frame of each set of axes is kept; a change of data alone only turns numbers into SVG
paths, through the same transform that matplotlib used for the frame.
"""

import hashlib
import io
import math
import re
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nvlearn.figures import style
from nvlearn.figures.drawing import Drawing, Picture, Value, element
from nvlearn.figures.step import tick_step
from nvlearn.i18n import words

WIDTH, MARGIN = 960.0, 24.0
MARKERS = {"circle": "m-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0z", "square": "m-4 -4h8v8h-8z",
           "diamond": "m0 -5.5l5.5 5.5l-5.5 5.5l-5.5 -5.5z", "triangle": "m0 -5.5l5.5 9.5h-11z"}
ROUND = [digit * 10.0**power for power in range(-12, 19) for digit in (1, 2, 5)]
TWOS = [2.0**power for power in range(70)]
Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Scale:
    """One axis: its two ends, each tick with its words, what it counts; linear unless `log`."""

    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    label: str = ""
    log: bool = False

    def share(self, values: ArrayLike) -> Array:
        """Return how far along the axis values lie: 0 at its low end, 1 at its high end."""
        parts = self.low, self.high, np.asarray(values, dtype=float)
        with np.errstate(divide="ignore", invalid="ignore"):
            low, high, given = (np.log10(part) if self.log else part for part in parts)
        return np.asarray((given - low) / (high - low))


@dataclass(frozen=True, slots=True)
class Axes:
    """The field of a plot in pixels, its two scales, and the family that names its ids."""

    family: str
    x: Scale
    y: Scale
    left: float = 96.0
    top: float = 110.0
    right: float = WIDTH - MARGIN
    bottom: float = 440.0
    height: float = 520.0

    def at(self, xs: ArrayLike, ys: ArrayLike) -> tuple[Array, Array]:
        """Return the pixels of points, where matplotlib has them; the infinite is cut far away."""
        across = self.left + self.x.share(xs) * (self.right - self.left)
        down = self.bottom - self.y.share(ys) * (self.bottom - self.top)
        return np.clip(across, -WIDTH, 2 * WIDTH), np.clip(down, -WIDTH, 2 * WIDTH)


def log_ticks(low: float, high: float, binary: bool = False) -> list[float]:
    """Return round numbers between the ends, the closest set that has at most eleven of them."""
    every, steps = (TWOS, (1, 2, 5, 10)) if binary else (ROUND, (1, 3, 9))
    inside = [[tick for tick in every[::step] if low <= tick <= high] for step in steps]
    return next((ticks for ticks in inside if len(ticks) <= 11), inside[-1])


def value_scale(values: ArrayLike, label: str, log: bool, say: Callable[[float], str]) -> Scale:
    """Return an axis for values; its ends are round numbers, so that it stays while they move."""
    seen = [value for value in np.ravel(values).tolist() if 0 < value < math.inf]
    least, most = min(seen), max(seen)
    step = tick_step(most)
    ticks = [step * count for count in range(math.ceil(1.02 * most / step) + 1)]
    low, high = ticks[0], ticks[-1]
    if log:
        low = max(tick for tick in ROUND if 1.02 * tick <= least)
        high = min(tick for tick in ROUND if tick >= 1.1 * most)
        ticks = log_ticks(low, high)
    return Scale(low, high, tuple((tick, say(tick)) for tick in ticks), label, log)


@lru_cache(maxsize=64)
def frame(axes: Axes) -> tuple[str, str]:
    """Return the still marks of a plot, with its words as SVG text, and a name for its clip."""
    svg = " ".join(render(axes).split())
    sheet, low, small = Drawing(0, 0), axes.bottom + 18, (style.SMALL, style.MUTED)
    # No id is left and no style sheet: an inlined picture shares its page with all others.
    sheet.layers[0] = [re.sub(r' id="[^"]*"', "", svg[svg.index("<g ") : svg.rindex("</g>") + 4])]
    for tick, said in axes.x.ticks:
        sheet.text(float(axes.at(tick, axes.y.high)[0]), low, said, *small, "middle")
    for tick, said in axes.y.ticks:
        sheet.text(axes.left - 8, float(axes.at(axes.x.high, tick)[1]) + 4, said, *small, "end")
    sheet.text((axes.left + axes.right) / 2, low + 20, axes.x.label, *small, "middle")
    sheet.text(MARGIN, axes.top - 14, axes.y.label, *small)
    sign = hashlib.sha256(repr(axes).encode()).hexdigest()[:8]
    return "".join(sheet.layers[0]), f"nv-{axes.family}-{sign}"


def render(axes: Axes) -> str:
    """Return the SVG of the empty axes with their grid, made by matplotlib."""
    import matplotlib
    from matplotlib.figure import Figure

    x, y, page, wide, tall = axes.x, axes.y, io.StringIO(), WIDTH, axes.height
    box = (axes.left / wide, 1 - axes.bottom / tall,
           (axes.right - axes.left) / wide, (axes.bottom - axes.top) / tall)
    # The reader's own settings would change the bytes.
    with matplotlib.rc_context(matplotlib.rcParamsDefault):
        figure = Figure((wide / 72, tall / 72), dpi=72)
        field = figure.add_axes(
            box, xscale="log" if x.log else "linear", yscale="log" if y.log else "linear",
            xlim=(x.low, x.high), ylim=(y.low, y.high), xticks=[], yticks=[])
        field.minorticks_off()
        # Plain lines cost half of what matplotlib's own ticks cost.
        for lines in (field.vlines([*dict(x.ticks)], y.low, y.high),
                      field.hlines([*dict(y.ticks)], x.low, x.high)):
            lines.set(color=style.RULE, linewidth=1, clip_on=False)
        field.spines[["top", "right"]].set_visible(False)
        field.spines[["left", "bottom"]].set(color=style.MUTED, linewidth=1)
        figure.savefig(page, format="svg", transparent=True, metadata={"Date": None})
    return page.getvalue()


class Plot:
    """Marks on axes; marks are cut at the edge of the field, words are not."""

    def __init__(self, axes: Axes) -> None:
        """Take the frame of these axes, drawn before or now."""
        still, self.clip = frame(axes)
        self.axes, self.sheet = axes, Drawing(WIDTH, axes.height)
        self.sheet.layers = [[still], []]
        self.marks: list[str] = []
        self.keys: list[tuple[str, str]] = []

    def curve(self, xs: ArrayLike, ys: ArrayLike, stroke: str, dash: str = "none",
              width: float = 2.5, name: str = "") -> None:
        """Put down a line through points, with a gap where a number is missing."""
        self.mark(trail(*self.axes.at(xs, ys)), "M-15 0h30", name, fill="none", stroke=stroke,
                  stroke_width=width, stroke_dasharray=dash)

    def points(self, xs: ArrayLike, ys: ArrayLike, colour: str, marker: str = "circle",
               hollow: bool = False, name: str = "") -> None:
        """Put a marker at each point."""
        shape, paint = MARKERS[marker], style.PAPER if hollow else colour
        self.mark(trail(*self.axes.at(xs, ys), shape), f"M0 0{shape}", name,
                  fill=paint, stroke=colour, stroke_width=1.5)

    def mark(self, d: str, sample: str, name: str, **look: Value) -> None:
        """Put down a path; a name goes into the legend, beside a sample in the same look."""
        self.marks.append(element("path", d=d, **look))
        self.keys += [(name, element("path", d=sample, **look))] if name else []

    def picture(self, title: str, subtitle: str, sentence: str, sources: Iterable[str] = (),
                **data: object) -> Picture:
        """Close the plot: the frame is the lower layer, all else the upper one.

        Where the numbers come from stands at the foot of the sheet, each document once.
        """
        self.sheet.legend(self.keys, 82)  # above the field, where there is nothing to cover
        named = "; ".join(dict.fromkeys(filter(None, sources)))
        lines = textwrap.wrap(words("plot.sources", documents=named), 150) if named else []
        for row, line in enumerate(reversed(lines), 1):
            self.sheet.text(MARGIN, self.axes.height + 1 - 15 * row, line, style.TINY, style.MUTED)
        at = self.axes
        field = element("rect", x=at.left, y=at.top, width=at.right - at.left,
                        height=at.bottom - at.top)
        marks = element("g", "".join(self.marks), clip_path=f"url(#{self.clip})")
        self.sheet.layers[1].insert(0, element("clipPath", field, id=self.clip) + marks)
        self.sheet.heading(title, subtitle)
        return self.sheet.picture(sentence, **data)


def trail(xs: Array, ys: Array, shape: str = "") -> str:
    """Return a line through pixels, or a shape at each; there is a gap where a number lacks."""
    parts, pen = [], "M"
    for x, y in zip(xs.ravel().tolist(), ys.ravel().tolist(), strict=True):
        there = x == x and y == y
        parts.append(f"{pen}{x:.1f} {y:.1f}{shape}" if there else "")
        pen = "L" if there and not shape else "M"
    return "".join(parts)
