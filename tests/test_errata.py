"""The errata: all are there, the formulas give both numbers of each, errors name the place."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import nvlearn
from nvlearn.errata import VERDICTS, Number, entries, entry
from nvlearn.formulas import FORMULAS

IDS = [
    "A1", "A2", "A3", "A4", "A5", "A6", "A7", "B1", "B2", "B3", "B4", "B5", "B6",
    "C1", "C2", "C3", "C4", "C5", "C6", "D1", "D2", "D3", "D4", "D5", "D6", "D7", "D8", "D9",
    "E1", "E2", "E3", "E4", "E5", "E6",
    "F1", "F2", "F3", "F4", "F5", "F6", "F7", "F8", "F9", "F10", "F11", "G1", "G2", "G3",
    "H1", "H2", "H3", "H4", "H5", "H6", "H7", "H8", "H9", "H10",
    "I1", "I2", "I3", "I4", "I5", "I6", "I7", "I8",
]  # fmt: skip
DATA = Path(nvlearn.__file__).parent / "data"
NUMBERS = [(key, i) for key, entry in entries().items() for i in range(len(entry.numbers))]


def test_every_entry_is_there_once() -> None:
    table = tomllib.loads((DATA / "errata.toml").read_text(encoding="utf-8"))
    assert [entry["id"] for entry in table["erratum"]] == IDS == list(entries())


@pytest.mark.parametrize(("key", "i"), NUMBERS)
def test_number_is_what_its_formula_gives(key: str, i: int) -> None:
    number = entry(key).numbers[i]
    assert number.side in ("said", "right")
    assert 0 < number.tolerance <= 0.02
    assert number.compute() == pytest.approx(number.value, rel=number.tolerance)
    assert bool(number.formula) == bool(number.args)
    assert number.text()
    if number.unit.startswith("B/s"):
        assert number.unit in ("B/s one way", "B/s both ways")


@pytest.mark.parametrize("key", IDS)
def test_entry_is_complete(key: str) -> None:
    made = entry(key)
    assert made.verdict in VERDICTS
    assert made.lesson in [f"{i:02}" for i in range(1, 14)]
    assert all((made.title, made.said, made.holds))
    assert made.holds.endswith(".")
    quoted = [n for n in made.numbers if n.side == "right" and not n.formula]
    assert made.source or not quoted, "a quoted right number needs a source"


def test_sources_are_known() -> None:
    known = tomllib.loads((DATA / "sources.toml").read_text(encoding="utf-8"))
    assert {source for entry in entries().values() for source in entry.source} <= set(known)


def test_the_demo_of_the_two_sides() -> None:
    assert computed("A1") == {"said": [1200e9, 66.67e9], "right": [1800e9]}
    said, right = computed("E1").values()
    assert said == [99]
    assert right[0] == pytest.approx(90.99, abs=0.005)
    assert computed("A2")["said"][0] == 2 * computed("A2")["right"][0]


def computed(key: str) -> dict[str, list[float]]:
    """Return the numbers of an entry, each afresh from its formula, by the side they are on."""
    numbers = entry(key).numbers
    return {s: [n.compute() for n in numbers if n.side == s] for s in ("said", "right")}


def test_an_entry_shows_both_sides_with_unit_and_direction() -> None:
    assert repr(entry("A1")).splitlines() == [
        "A1 · The total of NVLink 5.0 (wrong)",
        "  the source document: NVLink 5.0 (B200) has 1200 GB/s; elsewhere the same text says "
        "1.8 TB/s.",
        "  what holds: B200 has 18 links of 100 GB/s both ways: 1800 GB/s. 1200 over 18 links "
        "would be 66.7 GB/s a link, which no generation has.",
        "  said: B200 total: 1.2 TB/s both ways",
        "  said: one link that 1200 over 18 links needs: 66.67 GB/s both ways",
        "  right: 2 lanes x 200 Gb/s x 18 links x 2: 1.8 TB/s both ways",
    ]
    assert "right: exposed share, PCIe Gen5: 32.36 %" in repr(entry("G2"))
    markdown = entry("A1")._repr_markdown_().splitlines()
    assert markdown[0] == "**A1 · The total of NVLink 5.0 (wrong)**"
    assert markdown[-1] == "| right | 2 lanes x 200 Gb/s x 18 links x 2: 1.8 TB/s both ways |"


def test_unknown_id() -> None:
    with pytest.raises(ValueError, match=r"no erratum 'A11'; there is .*A1"):
        entry("A11")


def test_only_public_formulas_are_computed() -> None:
    assert "check" not in FORMULAS
    for name in ("check", "os.system", "eval", "__import__"):
        with pytest.raises(ValueError, match="There is no formula"):
            Number("x", "right", 1.0, "s", 0.1, name, {"ranks": 1}).compute()
