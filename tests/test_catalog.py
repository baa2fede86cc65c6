"""Every number in the tables has its provenance, multiplies out, and can be asked for."""

from __future__ import annotations

import copy
import re
from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from nvlearn import catalog, units
from nvlearn.catalog.tables import PROVENANCE, TABLES, Figure, key_of, read_row
from nvlearn.data import read_table
from nvlearn.i18n import words

RECORDS = [record for table in TABLES.values() for record in table.all().values()]
FIGURES = [
    pytest.param(figure, id=f"{type(record).__name__} {record.name} {name}")
    for record in RECORDS
    for name, figure in record.figures.items()
]
SWITCHED = [s for s in catalog.systems().values() if s.layout == "switched"]
JOINED = [s for s in catalog.systems().values() if s.layout in ("mesh", "pairs")]


def named(records: list[Any]) -> list[Any]:
    return [pytest.param(record, id=record.name) for record in records]


# --- provenance -------------------------------------------------------------


@pytest.mark.parametrize("figure", FIGURES)
def test_a_figure_says_what_it_is_and_is_the_product_of_its_factors(figure: Figure) -> None:
    assert all(getattr(figure, key) for key in PROVENANCE)
    assert figure.source in catalog.sources()
    if figure.factors:
        assert figure.product() == pytest.approx(figure.value, rel=1e-12)


def test_every_source_is_complete_and_used() -> None:
    used = {record.source for record in RECORDS}
    used |= {figure.source for record in RECORDS for figure in record.figures.values()}
    assert used == set(catalog.sources())
    for source in catalog.sources().values():
        assert source.kind in ("vendor", "measurement", "secondary")
        assert source.document
        assert source.publisher
        assert source.read


def gpu_table() -> tuple[dict[str, Any], dict[str, Any]]:
    table = copy.deepcopy(read_table("catalog/gpus"))
    return table["columns"], next(r for r in table["rows"] if r["name"] == "H100 SXM")


def refused(columns: dict[str, Any], row: dict[str, Any]) -> str:
    with pytest.raises(catalog.CatalogError) as error:
        read_row(catalog.Gpu, "gpus.toml", row, columns)
    assert str(error.value).startswith("gpus.toml, row 'H100 SXM'")
    return str(error.value)


@pytest.mark.parametrize("key", PROVENANCE)
def test_a_number_without_provenance_does_not_load(key: str) -> None:
    columns, row = gpu_table()
    if key == "source":
        row.pop("source")
        row["memory_rate"].pop("source")
    else:
        columns["memory_rate"].pop(key)
    for field in ("year", "links", "nvlink_total", "memory"):
        row.pop(field)
    assert f"field 'memory_rate': no {key} given" in refused(columns, row)


@pytest.mark.parametrize("key", ["direction", "kind", "source"])
def test_an_unknown_kind_of_provenance_does_not_load(key: str) -> None:
    columns, row = gpu_table()
    row["memory_rate"][key] = "hearsay"
    assert f"{key} 'hearsay' is not one of" in refused(columns, row)


@pytest.mark.parametrize("value", ["a lot", True, None])
def test_what_is_no_number_does_not_load(value: object) -> None:
    columns, row = gpu_table()
    row["links"] = {"value": value}
    assert "field 'links': a number was expected" in refused(columns, row)


def test_a_number_without_a_column_does_not_load() -> None:
    columns, row = gpu_table()
    row["watts"] = 700
    assert "field 'watts': no column" in refused(columns, row)


def test_a_row_without_a_needed_word_does_not_load() -> None:
    columns, row = gpu_table()
    row.pop("pattern")
    assert "pattern" in refused(columns, row)


def test_wiring_needs_a_source_too() -> None:
    table = copy.deepcopy(read_table("catalog/systems"))
    row = next(r for r in table["rows"] if r["name"] == "DGX H100")
    row.pop("source")
    with pytest.raises(catalog.CatalogError, match="source"):
        read_row(catalog.System, "systems.toml", row, table["columns"])


def test_records_cannot_be_changed() -> None:
    record = catalog.nvlink("4.0")
    with pytest.raises(FrozenInstanceError):
        record.name = "mine"  # type: ignore[misc]
    with pytest.raises(TypeError):
        record.figures["links"] = record.lanes  # type: ignore[index]
    with pytest.raises(FrozenInstanceError):
        record.lanes.value = 3.0  # type: ignore[misc]
    assert len({record, catalog.nvlink("NVLink 4.0")}) == 1


def test_a_missing_figure_is_a_sentence() -> None:
    with pytest.raises(catalog.MissingFigureError, match="no 'memory_rate' for V100 SXM2 16GB"):
        _ = catalog.gpu("V100").memory_rate
    assert catalog.gpu("V100").get("memory_rate") is None
    assert not hasattr(catalog.gpu("V100"), "wheels")


def test_a_figure_without_a_direction_is_not_halved() -> None:
    with pytest.raises(catalog.CatalogError, match="without a direction"):
        _ = catalog.rival("Trainium2").per_gpu.one_way


def test_every_column_has_its_words() -> None:
    assert all(words(f"catalog.{name}") for record in RECORDS for name in record.figures)


# --- what the tables hold ---------------------------------------------------


@pytest.mark.parametrize(
    ("name", "total"),
    [("1.0", 160), ("2.0", 300), ("3.0", 600), ("4.0", 900), ("5.0", 1800), ("GA102", 112.5)],
)
def test_lanes_rate_links_and_directions_give_the_advertised_total(
    name: str, total: float
) -> None:
    made = catalog.nvlink(name)
    assert made.per_gpu.kind == "advertised"
    assert made.lanes.value * made.lane_rate.value * made.links.value * 2 / 8 == total * units.GB
    assert made.per_gpu.value == total * units.GB


def test_nvlink_6_is_links_by_rate_and_not_settled() -> None:
    made = catalog.nvlink("6.0")
    assert made.links.value * made.per_link_both_ways.value == made.per_gpu.value == 3.6 * units.TB
    assert not any(figure.settled for figure in made.figures.values())


def test_the_wire_is_a_seventeenth_faster() -> None:
    for name in ("4.0", "5.0"):
        made = catalog.nvlink(name)
        assert made.per_link.value / made.wire_per_link.value == pytest.approx(16 / 17)
    assert catalog.nvlink("4.0").wire_per_gpu.value == 478.125e9
    assert catalog.nvlink("5.0").wire_per_gpu.value == 956.25e9


def test_both_ways_is_twice_one_way() -> None:
    pairs = [
        (record.figures[one], record.figures[both])
        for record in RECORDS
        for one, both in (
            ("per_link", "per_link_both_ways"), ("raw", "raw_both_ways"), ("one_way", "total"),
            ("framed", "framed_both_ways"), ("per_gpu_one_way", "per_gpu"),
        )
        if {one, both} <= set(record.figures)
    ]  # fmt: skip
    assert len(pairs) > 15
    for one, both in pairs:
        assert (one.direction, both.direction) == ("one way", "both ways")
        assert both.value == pytest.approx(2 * one.value, rel=1e-12)
        assert one.both_ways == pytest.approx(both.value)
        assert both.one_way == pytest.approx(one.value)


@pytest.mark.parametrize(
    ("name", "raw", "framed"),
    [("Gen3", 16, 15.75), ("Gen4", 32, 31.51), ("Gen5", 64, 63.02), ("Gen6", 128, 118)],
)
def test_pcie_before_and_after_framing(name: str, raw: float, framed: float) -> None:
    made = catalog.pcie(name)
    assert made.raw.value == raw * units.GB
    assert made.framed.value == pytest.approx(framed * units.GB, rel=3e-4)


@pytest.mark.parametrize("system", named(SWITCHED))
def test_ports_of_gpus_and_chips_add_up(system: catalog.System) -> None:
    if not system.links_to_chips:
        assert system.status == "announced"
        return
    assert sum(system.links_to_chips) == system.links.count
    assert len(system.links_to_chips) == system.chips_per_board.count
    ports = catalog.switch(system.switch).ports.count
    on_board = system.gpus.count // system.boards.count
    trunk = figure.count if (figure := system.get("trunk_links")) else 0
    used = [on_board * links + trunk for links in system.links_to_chips]
    assert max(used) <= ports
    assert sum(used) * system.boards.count == (
        system.gpu_ports.count + trunk * system.chips.count
    )


def test_port_counts_as_published() -> None:
    two = catalog.system("DGX-2")
    assert two.gpu_ports.count == 96 == two.chips.count * two.trunk_links.count
    assert catalog.system("DGX A100").gpu_ports.count == 96 == 6 * 16
    assert catalog.system("DGX H100").gpu_ports.count == 144 == 2 * 40 + 2 * 32
    assert catalog.system("HGX B200").gpu_ports.count == 144 == 2 * 72
    assert catalog.system("NVL72").gpu_ports.count == 1296 == 18 * 72
    rubin, chip = catalog.system("Vera Rubin NVL72"), catalog.switch("NVLink 6 Switch")
    assert rubin.chips.count * chip.total.value == pytest.approx(rubin.domain_total.value)
    assert not rubin.domain_total.settled
    assert not chip.total.settled


@pytest.mark.parametrize("system", named(JOINED))
def test_a_matrix_of_links_is_symmetric_and_uses_every_link(system: catalog.System) -> None:
    matrix, gpus = system.matrix, system.gpus.count
    to_cpu = figure.count if (figure := system.get("cpu_links")) else 0
    assert [len(row) for row in matrix] == [gpus] * gpus
    for i, row in enumerate(matrix):
        assert row[i] == 0
        assert all(matrix[j][i] == count for j, count in enumerate(row))
        assert sum(row) + to_cpu == system.links.count


def test_dgx_1_has_sixteen_pairs_and_its_links() -> None:
    for name, links in (("DGX-1 P100", 16), ("DGX-1 V100", 24)):
        cells = [n for row in catalog.system(name).matrix for n in row]
        assert sum(cells) == 2 * links
        assert sum(n > 0 for n in cells) == 2 * 16


@pytest.mark.parametrize("system", named(list(catalog.systems().values())))
def test_what_a_system_names_exists(system: catalog.System) -> None:
    assert catalog.gpu(system.gpu).name == system.gpu
    assert system.layout in ("mesh", "switched", "pairs", "pcie")
    assert system.status in ("shipped", "announced")
    assert (system.layout == "switched") == bool(system.switch)
    assert not system.nic or catalog.nic(system.nic).name == system.nic
    assert not system.switch or catalog.switch(system.switch).name == system.switch
    if system.layout == "pcie":
        assert catalog.gpu(system.gpu).nvlink == "none"


@pytest.mark.parametrize("gpu", named(list(catalog.gpus().values())))
def test_what_a_gpu_names_exists(gpu: catalog.Gpu) -> None:
    assert gpu.nvlink == "none" or catalog.nvlink(gpu.nvlink).name == gpu.nvlink
    assert not gpu.pcie or catalog.pcie(gpu.pcie).name == gpu.pcie
    assert not gpu.c2c or catalog.c2c(gpu.c2c).name == gpu.c2c


def test_what_a_single_figure_is_about_exists() -> None:
    names = {record.name for record in RECORDS}
    assert {fact.of for fact in catalog.facts().values()} - {""} <= names


def test_first_gpus_and_reductions() -> None:
    assert all(catalog.gpu(g.first_gpu).nvlink == g.name for g in catalog.nvlinks().values())
    adds_up = [s.name for s in catalog.switches().values() if s.in_network_reduction]
    assert adds_up == ["NVSwitch 3", "NVSwitch 4", "NVLink 6 Switch"]
    sizes = [d.shipped.count for d in catalog.domains().values() if "shipped" in d.figures]
    assert sizes == [8, 16, 8, 8, 72]  # NVLink 6 is announced


# --- names ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("printed", "name"),
    [
        ("NVIDIA H100 80GB HBM3", "H100 SXM"),
        ("NVIDIA H100 PCIe", "H100 PCIe"),
        ("NVIDIA H100 NVL", "H100 NVL"),
        ("NVIDIA H200", "H200 SXM"),
        ("NVIDIA H200 NVL", "H200 NVL"),
        ("NVIDIA H20", "H20"),
        ("NVIDIA H800", "H800"),
        ("NVIDIA GH200 480GB", "GH200"),
        ("Tesla P100-SXM2-16GB", "P100 SXM2"),
        ("Tesla V100-SXM2-16GB", "V100 SXM2 16GB"),
        ("Tesla V100-SXM2-32GB", "V100 SXM2 32GB"),
        ("Tesla V100-SXM3-32GB", "V100 SXM2 32GB"),
        ("A100-SXM4-80GB", "A100 SXM 80GB"),
        ("NVIDIA A100-SXM4-40GB", "A100 SXM 40GB"),
        ("NVIDIA A100 80GB PCIe", "A100 PCIe"),
        ("A100-PCIE-40GB", "A100 PCIe"),
        ("NVIDIA A800-SXM4-80GB", "A800"),
        ("NVIDIA A30", "A30"),
        ("NVIDIA A40", "A40"),
        ("NVIDIA RTX A6000", "RTX A6000"),
        ("NVIDIA GeForce RTX 3090", "RTX 3090"),
        ("NVIDIA GeForce RTX 4090", "RTX 4090"),
        ("NVIDIA GeForce RTX 5090", "RTX 5090"),
        ("NVIDIA GeForce RTX 2080 Ti", "RTX 2080 Ti"),
        ("NVIDIA TITAN RTX", "Titan RTX"),
        ("Quadro RTX 8000", "Quadro RTX"),
        ("NVIDIA B200", "B200"),
        ("NVIDIA B300 SXM6 AC", "B300"),
        ("NVIDIA GB200", "GB200"),
        ("NVIDIA GB300", "GB300"),
        ("NVIDIA L40S", "L40S"),
    ],
)
def test_a_printed_name_finds_its_gpu_and_no_other(printed: str, name: str) -> None:
    assert catalog.gpu(printed).name == name
    assert [g.name for g in catalog.gpus().values() if re.search(g.pattern, printed)] == [name]


def test_short_names() -> None:
    assert catalog.gpu("h100").name == "H100 SXM"
    assert catalog.gpu("A100").nvlink_total.one_way == 300e9
    assert catalog.gpu("3090").nvlink_total.value == 112.5e9
    assert catalog.nic("NDR").name == "ConnectX-7"
    assert catalog.system("dgx 1v").name == "DGX-1 V100"
    assert catalog.pcie("Gen 5").name == "PCIe Gen5"


def test_no_name_stands_for_two_records_of_a_table() -> None:
    for table in TABLES.values():
        records = table.all().values()
        keys = [key for r in records for key in {key_of(n) for n in (r.name, *r.aliases)}]
        assert len(keys) == len(set(keys)), table.file


def test_a_wrong_name_gets_the_nearest() -> None:
    with pytest.raises(catalog.CatalogError) as error:
        catalog.system("DGX H10")
    assert str(error.value).startswith("No system is called 'DGX H10'; the nearest names are DGX H")
