"""Matrices: every cell says its number, in colour and in words that can be read on it."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from picture_checks import SVG, contrast, luminance

from nvlearn.figures import style
from nvlearn.figures.tables import colours, matrix
from nvlearn.topology import ring, system

V100 = system("DGX-1 V100")
CASES = {
    "links": (V100.link_matrix(), "links"),
    "hops": (V100.hop_matrix(), "hops"),
    "rack": (system("GB200 NVL72").hop_matrix(), "hops"),
    "16": (ring(16, 25e9).hop_matrix(), "hops"),
    "pairs": (system("8x A100 PCIe").hop_matrix(), "hops"),
    "nothing": (np.zeros((4, 4)), "links"),
    "one": ([[0]], "links"),
    "two": ([[0, -1], [-1, 0]], "links"),
}
each_case = pytest.mark.parametrize("name", CASES)


@each_case
def test_well_formed_deterministic_and_on_the_sheet(name: str) -> None:
    picture = matrix(*CASES[name])
    root = ElementTree.fromstring(picture.svg)
    assert matrix(*CASES[name]).svg == picture.svg
    assert (picture.width, picture.height) == (960, 600)
    assert not re.search(r' id=|<script|href|<animate|"nan|inf"', picture.svg)
    for text in root.iter(f"{SVG}text"):
        assert float(text.attrib["font-size"]) >= style.TINY
        assert 0 < float(text.attrib["y"]) < 600


@each_case
def test_each_cell_is_drawn_once_at_its_place(name: str) -> None:
    values, kind = CASES[name]
    n = len(values)
    size = 464 // n
    spots = [
        (int((float(x) - 84) // size), int((float(y) - 108) // size))
        for path in ElementTree.fromstring(matrix(values, kind).svg).iter(f"{SVG}path")
        for x, y in re.findall(r"M([\d.]+) ([\d.]+)h", path.attrib["d"])
    ]
    assert sorted(spots) == sorted((c, r) for r in range(n) for c in range(n))


def test_equal_values_have_equal_colours_and_larger_ones_are_darker() -> None:
    picture = matrix(V100.link_matrix(), "links")
    paints = {}
    for path in ElementTree.fromstring(picture.svg).iter(f"{SVG}path"):
        for x, y in re.findall(r"M([\d.]+) ([\d.]+)h", path.attrib["d"]):
            spot = int((float(y) - 108) // 58), int((float(x) - 84) // 58)
            paints[spot] = path.attrib["stroke"]
    by_value = {
        v: {paints[r, c] for r in range(8) for c in range(8)
            if r != c and V100.link_matrix()[r, c] == v}
        for v in (0, 1, 2)
    }  # fmt: skip
    assert all(len(found) == 1 for found in by_value.values())
    light = [luminance(by_value[v].copy().pop()) for v in (0, 1, 2)]
    assert light == sorted(light, reverse=True)


def test_ink_has_contrast_on_every_shade() -> None:
    light = []
    for share in np.linspace(0, 1, 101).tolist():
        paint, ink = colours(share)
        assert contrast(paint, ink) >= 4.5
        light.append(luminance(paint))
    assert light == sorted(light, reverse=True)


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("links", "16 of 28 pairs have links of their own, at most NV2"),
        ("hops", "12 of 28 pairs need 2 hops"),
        ("pairs", "24 of 28 pairs have no way over these links"),
        ("16", "8 of 120 pairs need 8 hops"),
        ("rack", "Every pair has the same number of hops: 2"),
        ("nothing", "Every pair shows the same NVLinks: 0"),
        ("two", "1 of 1 pairs have no way over these links"),
    ],
)
def test_the_title_is_what_the_numbers_say(name: str, title: str) -> None:
    assert matrix(*CASES[name]).description.startswith(title)


def test_values_are_written_while_they_can_be_read() -> None:
    small, large = (matrix(*CASES[name]).svg for name in ("links", "rack"))
    assert small.count(">NV2</text>") == 16 + 1  # and the legend
    assert large.count("<text") < 40


@pytest.mark.parametrize("values", [[[1, 2]], [1, 2, 3]])
def test_a_table_that_is_not_square_is_refused(values: list[object]) -> None:
    with pytest.raises(ValueError, match="square"):
        matrix(values, "links")
