"""The one layer of SVG primitives: it escapes all text and prints all numbers one way."""

from html import escape

import numpy as np
from numpy.typing import ArrayLike

from nvlearn.figures import style
from nvlearn.figures.picture import Picture

Value = str | float | None
HALO: dict[str, Value] = {"paint_order": "stroke", "stroke": style.PAPER, "stroke_width": 4}


def number(value: float) -> str:
    """Return a coordinate with at most two decimals, so that a picture is the same everywhere."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def pen(form: str, *values: complex) -> str:
    """Return path data: a form filled with numbers; a complex number is a point and fills "x y"."""
    shown = [number(v.real) + f" {number(v.imag)}" * isinstance(v, complex) for v in values]
    return form.format(*shown)


def boxes(x: ArrayLike, y: ArrayLike, w: ArrayLike, h: ArrayLike) -> str:
    """Return path data of many boxes; a number that is the same for all may be given once."""
    rows = np.transpose(np.broadcast_arrays(x, y, w, h)).tolist()
    return "".join(f"M{a:.1f} {b:.1f}h{c:.1f}v{d:.1f}h-{c:.1f}z" for a, b, c, d in rows)


def element(tag: str, content: str = "", /, **attributes: Value) -> str:
    """Return one SVG element; `stroke_width` becomes stroke-width, None leaves the attribute out.

    The content is SVG already: text goes through `Drawing.text`, which escapes it.
    """
    parts = [tag]
    for key, value in attributes.items():
        if value is not None:
            shown = escape(value) if isinstance(value, str) else number(value)
            parts.append(f'{key.rstrip("_").replace("_", "-")}="{shown}"')
    return f"<{' '.join(parts)}>{content}</{tag}>" if content else f"<{' '.join(parts)}/>"


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

    def line(self, x1: float, y1: float, x2: float, y2: float, stroke: str, **more: Value) -> None:
        """Put down a straight line."""
        self.add("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke=stroke, **more)

    def path(self, d: str, fill: str = "none", **more: Value) -> None:
        """Put down a path."""
        self.add("path", d=d, fill=fill, **more)

    def circle(self, x: float, y: float, r: float, fill: str, **more: Value) -> None:
        """Put down a circle."""
        self.add("circle", cx=x, cy=y, r=r, fill=fill, **more)

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

    def hatch(self, x: float, y: float, w: float, h: float, stroke: str) -> None:
        """Fill a rectangle with slanted lines, cut by arithmetic (a clip path would need an id)."""
        cuts = []
        for start in range(1, int((w + h) // 6) + 1):
            reach = start * 6.0
            left, right = max(0.0, reach - h), min(w, reach)
            cuts += [complex(x + left, y + reach - left), complex(x + right, y + reach - right)]
        self.path(pen("M{}L{}" * (len(cuts) // 2), *cuts), stroke=stroke, stroke_width=1.5)

    def picture(self, description: str, **data: object) -> Picture:
        """Close the sheet and return it as a Picture."""
        paper = element("rect", width=self.width, height=self.height, fill=style.PAPER)
        parts = ["".join(marks) for marks in self.layers]
        layers = (self.svg(paper + parts[0]), *map(self.svg, parts[1:]))
        whole = self.svg(paper + "".join(parts), role="img", aria_label=description)
        return Picture(whole, description, self.width, self.height, layers, data)

    def svg(self, marks: str, **more: Value) -> str:
        """Return marks as SVG text of the size of the sheet."""
        return element(
            "svg", marks, xmlns="http://www.w3.org/2000/svg",
            viewBox=f"0 0 {number(self.width)} {number(self.height)}",
            width=self.width, height=self.height, font_family=style.FONT,
            style="max-width:100%;min-width:700px;height:auto", **more)
