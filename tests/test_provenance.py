"""Where a number comes from: every figure of the tables can be asked for."""

from __future__ import annotations

import pytest

from nvlearn import catalog, units
from nvlearn.catalog.tables import TABLES, Record
from nvlearn.provenance import why

RECORDS = [record for table in TABLES.values() for record in table.all().values()]


def told(text: str) -> str:
    return "\n".join(why(text))


def test_why_900() -> None:
    text = told("900 GB/s")
    for part in (
        "NVLink 4.0, per GPU: 900 GB/s both ways, that is 450 GB/s one way",
        "18 links x 25 GB/s one way x 2 directions = 900 GB/s both ways",
        "2 lanes x 100 Gb/s / 8 bits per byte = 25 GB/s one way",
        "HGX H200, ring bus bandwidth: 367.61 GB/s one way, 82% of 450 GB/s one way",
        "HGX H200, NVLS bus bandwidth: 482.26 GB/s",
        "NVIDIA Hopper Architecture In-Depth",
        "NVSwitch 1, total",
    ):
        assert part in text
    assert "NVLink 4.0, per GPU: 900 GB/s" in told("450 GB/s one way")
    assert "NVLink 4.0, per GPU: " not in told("450 GB/s both ways")


def test_why_64_names_both_readings() -> None:
    text = told("64 GB/s")
    assert "PCIe Gen5, x16 raw: 64 GB/s one way" in text
    assert "PCIe Gen4, x16 raw, both ways: 64 GB/s both ways" in text


@pytest.mark.parametrize(
    ("asked", "part"),
    [
        ("25 GB/s", "NVLink 3.0, per link: 25 GB/s one way"),
        ("1.8 TB/s", "NVLink 5.0, per GPU: 1.8 TB/s both ways"),
        ("3.6 TB/s", "not settled"),
        ("26.562 GB/s", "NVLink 4.0, per link, on the wire"),
        ("14.06 GB/s", "NVLink 3.0 (GA102), per link"),
        ("367 GB/s", "HGX H200, ring bus bandwidth"),
        ("400 Gb/s", "ConnectX-7"),
        ("32 GT/s", "PCIe Gen5"),
        ("72 GPUs", "GB200 NVL72"),
        ("5,184 cables", "Cables of the NVL72 spine"),
        ("1.7 us", "Load from a peer's memory"),
        ("80 GB", "The same holds for: H100 SXM"),
        ("1.28 TB/s", "direction not stated"),
        ("H100", "NVLink per GPU: 18 links x 25 GB/s one way x 2 directions"),
        ("NVLink 4.0", "announced or supported domain: 256 GPUs"),
        ("DGX H100", "GPU ports in all: 8 GPUs x 18 links = 144 links"),
        ("3090", "4 links x 14.0625 GB/s one way x 2 directions = 112.5 GB/s both ways"),
    ],
)
def test_why_finds(asked: str, part: str) -> None:
    assert part in told(asked)


@pytest.mark.parametrize(("asked", "part"), [
    ("busbw", "a factor of the collective"), ("NV18", "over # NVLinks"), ("pix", "PCIe switch"),
    ("InfiniBand", "the railway"), ("P2P", "without a copy"), ("tree", "[lesson 06]"),
])  # fmt: skip
def test_why_knows_the_words_of_the_glossary(asked: str, part: str) -> None:
    (told,) = why(asked)
    assert part in told


def test_why_does_not_call_what_left_nvlink_reached_over_it() -> None:
    assert "8x A100 PCIe" not in told("600 GB/s").replace("8x A100 PCIe,", "").split("Reached")[-1]
    for asked, never in (("600 GB/s", "20 GB/s one way, 7%"), ("1.8 TB/s", "over 2 racks"),
                         ("1.8 TB/s", "4x8 B200"), ("H800", "107%"), ("H100 PCIe", "107%")):
        assert never not in told(asked), asked


def test_why_keeps_unlike_chains_apart() -> None:
    text = told("600 GB/s")
    first = text.split("Source:")[0]
    assert "H100 PCIe" not in first
    assert "not settled" in text


def test_memory_has_no_direction() -> None:
    assert told("3.35 TB/s").startswith("H100 SXM, memory bandwidth: 3.35 TB/s (advertised")
    assert "one way" not in told("3.35 TB/s")
    assert "memory bandwidth" not in told("6.7 TB/s")


@pytest.mark.parametrize(
    "asked", ["-5", "-900 GB/s", "\u2212450 GB/s", "900 " + " " * 50_000 + "x", "", " "]
)
def test_why_refuses_what_is_no_question(asked: str) -> None:
    with pytest.raises(ValueError, match=r"negative|characters"):
        why(asked)


def test_why_reads_a_number_as_a_sheet_writes_it() -> None:
    assert told("900 GB/s per GPU") == told("900 GB/s")
    assert "18 links x 26.5625 GB/s one way" in told("478 GB/s")


def test_why_says_what_it_does_not_know() -> None:
    (line,) = why("14 GB/s")
    assert line.startswith("No figure in the tables is 14 GB/s; the nearest: 14.062 GB/s one way")
    (line,) = why("0 GB/s")
    assert line.startswith("No figure in the tables is 0 GB/s; the nearest: ")
    with pytest.raises(catalog.CatalogError, match=r"No record is called .*H100 SXM"):
        why("H1000")
    with pytest.raises(units.UnitError, match="has no unit"):
        why("900")


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.name)
def test_why_explains_every_record_and_every_figure(record: Record) -> None:
    assert told(record.name)
    for figure in record.figures.values():
        if figure.unit in ("B/s", "bit/s", "s", "B", "T/s") and figure.value:
            assert "No figure" not in told(figure.text), figure.text
