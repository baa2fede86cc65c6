"""The one layer of SVG primitives, and the Picture that every function of this package returns.

It escapes all text and prints all numbers one way.
"""

import base64
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from nvlearn.data import write_whole
from nvlearn.figures import style

Value = str | float | None
Points = tuple[complex, ...]  # x + y j, y downwards
HALO: dict[str, Value] = {"paint_order": "stroke", "stroke": style.PAPER, "stroke_width": 4}


@dataclass(frozen=True, slots=True)
class Picture:
    """A finished drawing with the sentence that says the same in words, and its numbers.

    The layers are the same drawing in parts, from the ground up, each of the whole size.
    """

    svg: str
    description: str
    width: float
    height: float
    layers: tuple[str, ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    def telling(self, description: str) -> "Picture":
        """Return the same picture with other words."""
        return replace(self, description=description)

    def html(self) -> str:
        """Return the still form: an image with its caption, which needs no kernel."""
        source = base64.b64encode(self.svg.encode()).decode()
        words = escape(self.description)
        return (f'<figure><img src="data:image/svg+xml;base64,{source}" alt="{words}">'
                f'<figcaption style="white-space:pre-line">{words}</figcaption></figure>')

    def save(self, path: str | Path) -> Path:
        """Write the SVG to a file, whose name ends in .svg, and return its path."""
        return write_whole(Path(path), self.svg, ".svg")

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/html": self.html(), "text/plain": self.description}


def number(value: float) -> str:
    """Return a coordinate with at most two decimals, so that a picture is the same everywhere."""
    return f"{round(value, 2) + 0.0:.12g}"  # the sum makes -0 a 0


@lru_cache(8192)
def path(way: Points, by: float = 0.0) -> str:
    """Return path data of a way, moved to the right of travel; the same ways come up often."""
    if by:
        ends = zip((way[0], *way), (*way[1:], way[-1]), strict=False)
        turns = [(after - before) or 1 for before, after in ends]
        way = tuple(p + t / abs(t) * by * 1j for p, t in zip(way, turns, strict=False))
    return "M" + "L".join(f"{number(p.real)} {number(p.imag)}" for p in way)


def boxes(x: ArrayLike, y: ArrayLike, w: ArrayLike, h: ArrayLike) -> str:
    """Return path data of many boxes; a number that is the same for all may be given once."""
    rows = np.transpose(np.broadcast_arrays(x, y, w, h)).tolist()
    return "".join(f"M{a:.1f} {b:.1f}h{c:.1f}v{d:.1f}h-{c:.1f}z" for a, b, c, d in rows)


def element(tag: str, content: str = "", /, **attributes: Value) -> str:
    """Return one SVG element; `stroke_width` becomes stroke-width, None leaves the attribute out.

    The content is SVG already: text goes through `Drawing.text`, which escapes it.
    """
    shown = {key.rstrip("_").replace("_", "-"): value if isinstance(value, str) else number(value)
             for key, value in attributes.items() if value is not None}
    head = tag + "".join(f' {key}="{escape(value)}"' for key, value in shown.items())
    return f"<{head}>{content}</{tag}>" if content else f"<{head}/>"


def text_width(text: str, size: float, bold: bool = False) -> float:
    """Return a cautious estimate of a text's width in the typeface of `style`."""
    narrow = sum(text.count(letter) for letter in "iljtfrI.,:;'|!()[] ")
    wide = sum(text.count(letter) for letter in "mwMW@%")
    units = 0.57 * (len(text) - narrow - wide) + 0.32 * narrow + 0.87 * wide
    return units * size * (1.06 if bold else 1.0)


class Drawing:
    """A sheet of a given size on which marks are put one after the other."""

    def __init__(self, width: float, height: float) -> None:
        """Open an empty sheet; it has its own background, so it reads in a dark theme."""
        self.width, self.height = width, height
        self.layers: list[list[str]] = [[]]

    def layer(self) -> None:
        """Begin a layer above the others; one that stays the same is not sent again."""
        self.layers.append([])

    def add(self, tag: str, content: str = "", /, **attributes: Value) -> None:
        """Put down any element."""
        self.layers[-1].append(element(tag, content, **attributes))

    def rect(self, x: float, y: float, w: float, h: float, fill: str, **more: Value) -> None:
        """Put down a rectangle."""
        self.add("rect", x=x, y=y, width=w, height=h, fill=fill, **more)

    def path(self, d: str, fill: str = "none", **more: Value) -> None:
        """Put down a path."""
        self.add("path", d=d, fill=fill, **more)

    def text(self, x: float, y: float, words: str, size: float = style.BODY,
             fill: str = style.INK, anchor: str | None = None, bold: bool = False,
             halo: bool = False) -> None:
        """Put down one line of text; `anchor` is start (the default), middle or end.

        A halo keeps it readable on grid lines.
        """
        self.add(
            "text", escape(words, quote=False), x=x, y=y, font_size=size, fill=fill,
            text_anchor=anchor, font_weight="bold" if bold else None, **(HALO if halo else {}))

    def heading(self, title: str, subtitle: str = "") -> None:
        """Put down the title, which states the finding, and the line under it."""
        self.text(24, 35, title, style.TITLE, bold=True)
        self.text(24, 58, subtitle, style.BODY, style.MUTED)

    def legend(self, entries: Iterable[tuple[str, str]], y: float) -> None:
        """Put down samples, each drawn around (0, 0), with their names, in rows from `y` on."""
        x = 24.0
        for name, sample in entries:
            wide = 44 + text_width(name, style.SMALL)
            if x + wide > self.width - 24:
                x, y = 24.0, y + 20
            self.add("g", sample, transform=f"translate({x + 16:.1f} {y:.1f})")
            self.text(x + 40, y + 4, name, style.SMALL, style.MUTED)
            x += wide + 18

    def picture(self, description: str, **data: object) -> Picture:
        """Close the sheet and return it as a Picture."""
        paper = element("rect", width=self.width, height=self.height, fill=style.PAPER)
        parts = ["".join(marks) for marks in self.layers]
        # A tab stop: keys scroll it in a narrow window.
        layers = (self.svg(paper + parts[0], tabindex="0"), *map(self.svg, parts[1:]))
        whole = self.svg(paper + "".join(parts), role="img", aria_label=description)
        return Picture(whole, description, self.width, self.height, layers, data)

    def svg(self, marks: str, **more: Value) -> str:
        """Return marks as SVG text of the size of the sheet."""
        return element(
            "svg", marks, xmlns="http://www.w3.org/2000/svg",
            viewBox=f"0 0 {number(self.width)} {number(self.height)}",
            width=self.width, height=self.height, font_family=style.FONT,
            style="max-width:100%;min-width:700px;height:auto", **more)


def sketch(draw: Callable[..., None], *given: Any, **more: Any) -> str:
    """Return the marks that a function puts on a sheet, such as the sample of a legend."""
    sheet = Drawing(0, 0)
    draw(sheet, *given, **more)
    return "".join(sheet.layers[0])
