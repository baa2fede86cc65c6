"""What the tests of every picture ask: do its words fit on the sheet, can they be read."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from nvlearn.figures import drawing, style

SVG = "{http://www.w3.org/2000/svg}"


def assert_fits(word: Element, width: float, height: float) -> None:
    """Assert that a word is large enough and on its sheet, by a cautious estimate of its width."""
    size = float(word.attrib["font-size"])
    wide = drawing.text_width(word.text or "", size, "font-weight" in word.attrib)
    share = {"middle": 0.5, "end": 1.0}.get(word.attrib.get("text-anchor", ""), 0.0)
    left = float(word.attrib["x"]) - share * wide
    assert size >= style.TINY, word.text
    assert left >= 0, word.text
    assert left + wide <= width, word.text
    assert 0 < float(word.attrib["y"]) <= height, word.text


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour "#rrggbb", as WCAG 2 defines it."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of two colours, 1 to 21."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)
