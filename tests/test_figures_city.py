"""The city map: every machine has a map that is true, readable and recognisable."""

from __future__ import annotations

import re
from collections.abc import Callable
from xml.etree import ElementTree

import pytest
from picture_checks import SVG, assert_fits

from nvlearn import catalog
from nvlearn.figures import Picture, layout, style
from nvlearn.figures.city import city_map, level
from nvlearn.topology import (
    Topology,
    all_to_all_pattern,
    cluster,
    full_mesh,
    loads,
    neighbour_pattern,
    pcie_tree,
    ring,
    switched,
    system,
    with_pcie,
)

MACHINES: dict[str, Callable[[], Topology]] = {
    **{name: (lambda name=name: system(name)) for name in catalog.systems()},
    **{f"ring {n}": (lambda n=n: ring(n, 25e9)) for n in range(2, 17)},
    **{f"mesh {n}": (lambda n=n: full_mesh(n, 25e9)) for n in range(2, 9)},
    **{f"tree {n}": (lambda n=n: pcie_tree(n, 32e9)) for n in (2, 4, 8, 16, 64)},
    "mixed": lambda: with_pcie(system("DGX-1 V100"), 16e9),
    "board and roads": lambda: with_pcie(system("DGX H100"), 64e9),
    "two cities": lambda: cluster(system("DGX H100"), 2, 50e9),
    "four cities": lambda: cluster(system("DGX H100"), 4, 50e9),
    "32 cities": lambda: cluster(system("DGX H100"), 32, 50e9, nics=4),
    "8 racks": lambda: cluster(system("GB200 NVL72"), 8, 50e9),
    "576": lambda: switched(576, 50e9, (18,)),
    "two large boards": lambda: switched(144, 50e9, (9, 9), boards=2, trunk=100),
    "spines of cities": lambda: cluster(
        switched(64, 50e9, (9,), boards=8, trunk=4, spine=True), 2, 50e9
    ),
    "cut": lambda: system("DGX-1 V100").without_link(0, 3).with_slow_link(4, 5, 0.5),
}
each_machine = pytest.mark.parametrize("name", MACHINES)
LOADED = {
    "mesh 8": all_to_all_pattern(8), "tree 8": all_to_all_pattern(8),
    "ring 8": neighbour_pattern(8), "mixed": all_to_all_pattern(8),
    "two cities": all_to_all_pattern(16), "GB200 NVL72": neighbour_pattern(72),
    "32 cities": neighbour_pattern(256),
    "cut": [(0, 1), (4, 5)],
}  # fmt: skip


def drawn(name: str) -> Picture:
    machine = MACHINES[name]()
    return city_map(machine, loads(machine, LOADED[name]) if name in LOADED else None)


def places(name: str) -> dict[str, complex]:
    return {station: s.at for station, s in drawn(name).data["stations"].items()}


def width_of(name: str) -> dict[frozenset[str], float]:
    return {frozenset((line.a, line.b)): line.width for line in drawn(name).data["lines"]}


@each_machine
def test_a_map_is_well_formed_and_the_same_each_time(name: str) -> None:
    picture = drawn(name)
    root = ElementTree.fromstring(picture.svg)
    assert root.attrib["aria-label"] == picture.description
    assert (picture.width, picture.height) == (960, 600)
    assert drawn(name).svg == picture.svg
    for unwanted in (" id=", "<script", "href", "<animate", "e-0", "nan", '"inf', "url("):
        assert unwanted not in picture.svg.removeprefix('<svg xmlns="http://www.w3.org/2000/svg"')


@each_machine
def test_words_stay_on_the_sheet_and_can_be_read(name: str) -> None:
    for element in ElementTree.fromstring(drawn(name).svg).iter(f"{SVG}text"):
        assert_fits(element, 960, 594)


@each_machine
def test_every_station_has_a_place_of_its_own(name: str) -> None:
    machine = MACHINES[name]()
    plan = layout.plan(machine)
    members = [m for s in plan.stations.values() for m in s.members]
    assert sorted(members) == sorted(machine.fabric.nodes)
    places = [(s.at, s.half) for s in plan.stations.values()]
    for at, half in places:
        assert half.real <= at.real <= 960 - half.real
        assert at.imag - half.imag >= 70
        assert at.imag + half.imag <= 512
    for i, (a, one) in enumerate(places):
        for b, other in places[:i]:
            gap, room = a - b, (one + other) * 0.99
            assert abs(gap.real) >= room.real or abs(gap.imag) >= room.imag


@each_machine
def test_width_is_bandwidth(name: str) -> None:
    lines = drawn(name).data["lines"]
    total = sum(sum(line.capacity) for line in lines)
    machine = MACHINES[name]()
    plan = layout.plan(machine)
    home = {m: n for n, s in plan.stations.items() for m in s.members}
    between = [b for b in machine.bundles if home[b.source] != home[b.target]]
    assert total == pytest.approx(sum(b.capacity for b in between))
    wide = [line for line in lines if line.width > 2]
    for line in wide:
        assert line.width / line.nominal == pytest.approx(wide[0].width / wide[0].nominal)


def test_the_layout_tells_the_machine() -> None:
    v100 = places("DGX-1 V100")
    sides = [{g for g, at in v100.items() if (at.real < 480) == left} for left in (True, False)]
    assert sides[0] == {f"GPU{i}" for i in range(4)}
    assert v100["GPU0"].imag == v100["GPU4"].imag  # partners face each other
    dgx2 = places("DGX-2")
    assert all((dgx2[f"GPU{i}"].real < 480) == (i < 8) for i in range(16))
    assert places("DGX H100")["NVSwitch board 0"] == 480 + 289j
    rack = places("GB200 NVL72")
    rows = {at.imag for n, at in rack.items() if n.startswith("GPU")}
    assert len(rows) == 18
    assert sum(y < rack["NVSwitch board 0"].imag for y in rows) == 10
    tree = places("tree 8")
    assert tree["GPU0"].imag < tree["PCIeSwitch0"].imag < tree["CPU0"].imag
    assert len(places("8 racks")) == 9


def test_only_a_cube_mesh_is_two_quads() -> None:
    import networkx as nx

    joined = nx.complete_bipartite_graph(4, 4)  # eight of four neighbours each, and no quad
    graph = nx.MultiDiGraph()
    graph.add_nodes_from((f"GPU{i}" for i in range(8)), kind="gpu")
    for a, b in [*joined.edges, *(edge[::-1] for edge in joined.edges)]:
        graph.add_edge(f"GPU{a}", f"GPU{b}", kind="nvlink", capacity=1e9, nominal=1e9, latency=0.0)
    assert not layout.two_quads(Topology(graph, "crossed"))
    assert not layout.two_quads(ring(8, 25e9))
    assert len(layout.two_quads(system("DGX-1 P100"))) == 8


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("DGX-1 V100", "DGX-1 V100: 16 of 28 pairs have a line of their own"),
        ("mesh 8", "full mesh of 8: every pair of GPUs has a line of its own"),
        ("tree 4", "PCIe tree: no pair has a line of its own, all traffic shares the roads"),
        ("cut", "15 of 28 pairs"),
        ("DGX-2", "DGX-2: 2 interchanges"),
        ("two cities", "2 x DGX H100: a GPU has 450 GB/s one way inside, 50 GB/s one way"),
    ],
)
def test_the_title_states_what_the_links_say(name: str, title: str) -> None:
    picture = city_map(MACHINES[name]())
    assert title in picture.description
    assert f">{title}" in picture.svg or name == "cut"
    assert ">mine</text>" in city_map(MACHINES[name](), title="mine").svg


def test_the_loaded_title_names_the_bottleneck() -> None:
    machine = pcie_tree(8, 32e9)
    said = city_map(machine, loads(machine, all_to_all_pattern(8))).description
    assert said.startswith("All to all: the road between CPUs is full.")
    said = city_map(machine, loads(machine, [(0, 1)])).description
    assert said.startswith("One flow: 2 of 12 PCIe roads are full.")
    assert "each sender gets 32 GB/s one way" in said


def test_fill_follows_the_load() -> None:
    machine = system("DGX-1 V100")
    picture = city_map(machine, loads(machine, [(0, 1), (0, 4), (2, 1)]))
    used = {(line.a, line.b): line.use for line in picture.data["lines"] if max(line.use) > 0}
    assert used == {("GPU0", "GPU1"): [1, 0], ("GPU0", "GPU4"): [1, 0], ("GPU1", "GPU2"): [0, 1]}
    texts = [e.text for e in ElementTree.fromstring(picture.layers[4]).iter(f"{SVG}text")]
    assert texts.count("100%") == 3
    fills = [e.attrib for e in ElementTree.fromstring(picture.layers[1]).iter(f"{SVG}path")]
    assert {f["stroke"] for f in fills} == {style.JAM}
    ways = sum(f["d"].count("M") for f in fills)
    assert ways == 3
    trains = ElementTree.fromstring(picture.layers[2]).iter(f"{SVG}path")
    assert sum(t.attrib["d"].count("M") for t in trains) == 3  # stations and signs lie above them


@pytest.mark.parametrize(("use", "is_level"), [(0, 0), (0.6, 0), (0.61, 1), (0.94, 1), (0.95, 2)])
def test_levels(use: float, is_level: int) -> None:
    assert level(use) == is_level


def test_only_what_changes_is_sent_again() -> None:
    machine = system("DGX-1 V100")
    one = city_map(machine, loads(machine, [(0, 1)])).layers
    other = city_map(machine, loads(machine, [(1, 0), (0, 1), (2, 3)])).layers
    assert len(one) == 5
    assert one[3] == other[3]
    assert all(one[i] != other[i] for i in (1, 2, 4))


def test_trains_go_on_while_lines_only_fill() -> None:
    machine = system("DGX-1 V100")
    pattern = [(0, 1), (0, 4)]
    one, other = (city_map(machine, loads(machine, pattern, rate)).layers for rate in (5e9, 9e9))
    assert one[1] != other[1]
    assert one[2] == other[2]
    assert one[4] != other[4]


def test_trains_are_faster_on_more_bandwidth_and_move_only_where_wanted() -> None:
    pace = []
    for name in ("tree 2", "DGX-1 P100", "DGX H100"):
        layer = city_map(MACHINES[name]()).layers[2]
        assert "@media (prefers-reduced-motion:no-preference)" in layer
        assert "animation:" not in layer.partition("@media")[0]
        pace.append(min(map(float, re.findall(r"animation-duration:([\d.]+)s", layer))))
    others = [*city_map(MACHINES["tree 2"]()).layers]
    assert "nv-city" in others.pop(2)
    assert "nv-city" not in "".join(others)
    assert pace[1] > pace[2]
    assert pace[0] > pace[2]


def test_a_cut_line_carries_no_train_and_is_crossed() -> None:
    whole, cut = (city_map(m) for m in (system("DGX-1 V100"),
                                        system("DGX-1 V100").without_link(0, 3)))  # fmt: skip
    count = [sum(e.attrib["d"].count("M") for e in ElementTree.fromstring(p.layers[2]).iter(
        f"{SVG}path")) for p in (whole, cut)]  # fmt: skip
    assert count[0] - count[1] == 2
    assert "out of order" in cut.svg
    assert "out of order" not in whole.svg


def test_the_legend_names_only_what_is_there() -> None:
    assert "PCIe" not in city_map(system("DGX H100")).svg
    assert "NVLink" not in city_map(pcie_tree(4, 32e9)).svg
    mixed = city_map(MACHINES["mixed"]()).svg
    for text in ("NVLink, 25 GB/s one way", "NVLink, 2 links, 50 GB/s one way", "PCIe, 16 GB/s"):
        assert f">{text}" in mixed


def test_ways_meet_their_stations() -> None:
    plan = layout.plan(system("DGX H100"))
    for gpu in [n for n, s in plan.stations.items() if s.kind == "gpu"]:
        way = plan.way(gpu, "NVSwitch board 0")
        assert way == plan.way("NVSwitch board 0", gpu)[::-1]
        for name, end in ((gpu, way[0]), ("NVSwitch board 0", way[-1])):
            away, half = end - plan.stations[name].at, plan.stations[name].half
            assert abs(away.real) < half.real
            assert abs(away.imag) < half.imag
