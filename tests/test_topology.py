"""Topologies: the machines as published, and laws that hold on any graph."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nvlearn import catalog
from nvlearn.topology import (
    all_to_all_pattern,
    cluster,
    disjoint_rings,
    full_mesh,
    loads,
    mesh,
    neighbour_pattern,
    pcie_tree,
    ring,
    rings,
    switched,
    system,
    with_pcie,
)

# nvidia-smi topo -m of a DGX-1 with P100 (NV1 where 1) and with V100.
P100 = [
    [0, 1, 1, 1, 1, 0, 0, 0],
    [1, 0, 1, 1, 0, 1, 0, 0],
    [1, 1, 0, 1, 0, 0, 1, 0],
    [1, 1, 1, 0, 0, 0, 0, 1],
    [1, 0, 0, 0, 0, 1, 1, 1],
    [0, 1, 0, 0, 1, 0, 1, 1],
    [0, 0, 1, 0, 1, 1, 0, 1],
    [0, 0, 0, 1, 1, 1, 1, 0],
]
V100 = [
    [0, 1, 1, 2, 2, 0, 0, 0],
    [1, 0, 2, 1, 0, 2, 0, 0],
    [1, 2, 0, 2, 0, 0, 1, 0],
    [2, 1, 2, 0, 0, 0, 0, 1],
    [2, 0, 0, 0, 0, 1, 1, 2],
    [0, 2, 0, 0, 1, 0, 2, 1],
    [0, 0, 1, 0, 1, 2, 0, 2],
    [0, 0, 0, 1, 2, 1, 2, 0],
]


@pytest.mark.parametrize(
    ("name", "matrix", "links", "cut"), [("DGX-1 P100", P100, 16, 4), ("DGX-1 V100", V100, 24, 6)]
)
def test_dgx1_is_the_published_matrix(name, matrix, links, cut):
    machine = system(name)
    rate = {"DGX-1 P100": 20e9, "DGX-1 V100": 25e9}[name]
    assert machine.link_matrix().tolist() == matrix
    assert machine.graph.size() == 2 * links
    assert machine.diameter() == 2
    unlinked = np.triu(machine.hop_matrix()) == 2
    assert unlinked.sum() == 12
    assert machine.cut([0, 1, 2, 3]) == cut * rate
    assert np.flatnonzero(machine.link_matrix()[0]).tolist() == [1, 2, 3, 4]


def test_the_v100_mesh_carries_thirteen_triples_of_rings():
    triples = disjoint_rings(system("DGX-1 V100"), 3)
    doubled = (0, 3, 2, 1, 5, 6, 7, 4)
    assert len(triples) == 13
    assert ((0, 1, 3, 7, 5, 4, 6, 2), doubled, doubled) in triples
    for triple in triples:
        used = np.zeros((8, 8), dtype=int)
        for stops in triple:
            for a, b in zip(stops, stops[1:] + stops[:1], strict=True):
                used[a, b] += 1
                used[b, a] += 1
        assert used.tolist() == V100  # all 24 links, none twice


def test_the_p100_mesh_carries_two_disjoint_rings_at_most():
    machine = system("DGX-1 P100")
    assert ((0, 1, 2, 3, 7, 5, 6, 4), (0, 2, 6, 7, 4, 5, 1, 3)) in disjoint_rings(machine, 2)
    assert disjoint_rings(machine, 3) == []


@pytest.mark.parametrize("name", sorted(catalog.systems()))
def test_every_system_of_the_catalog_is_built_with_its_gpus_and_links(name):
    record = catalog.system(name)
    machine = system(name)
    assert machine.ranks == record.gpus.count
    assert machine.name == name
    nvlinks = [sum(kind == "nvlink" for *_, kind in machine.graph.out_edges(gpu, data="kind"))
               for gpu in machine.gpus]
    if record.layout in ("mesh", "switched"):
        assert set(nvlinks) == {catalog.gpu(record.gpu).links.count}
        assert (machine.hop_matrix() >= 0).all()


@pytest.mark.parametrize(
    ("name", "one_way", "switches"),
    [("DGX-2", 150e9, 1), ("DGX A100", 300e9, 1), ("DGX H100", 450e9, 1),
     ("HGX B200", 900e9, 1), ("GB200 NVL72", 900e9, 1)],
)
def test_switched_systems_give_a_gpu_all_its_links_to_any_peer(name, one_way, switches):
    machine = system(name)
    assert machine.cut([0]) == one_way
    assert machine.hop_matrix(relay=False)[0, 1] == switches + 1
    assert machine.diameter() == (3 if name == "DGX-2" else 2)


def test_dgx2_has_two_boards_with_full_bandwidth_between_them():
    machine = system("DGX-2")
    chips = [n for n, kind in machine.graph.nodes(data="kind") if kind == "nvswitch"]
    assert len(chips) == 12
    assert {machine.graph.out_degree(chip) for chip in chips} == {16}  # of 18 ports
    assert machine.hop_matrix(relay=False)[0, 8] == 2 + 1  # over two switches
    assert machine.bisection() == 6 * 8 * 25e9


def test_bisections_of_the_field():
    assert ring(8, 25e9).bisection() == ring(64, 25e9).bisection() == 2 * 25e9
    assert full_mesh(8, 25e9).bisection() == 16 * 25e9
    assert system("DGX H100").bisection() == 4 * 450e9


def test_pcie_roads_meet_where_they_should():
    tree = pcie_tree(8, 32e9, socket_rate=20e9)
    stations = [[tree.bundles[i].target for i in tree.routes(0, peer)[0]] for peer in (1, 2, 4)]
    assert stations[0] == ["PCIeSwitch0", "GPU1"]
    assert stations[1] == ["PCIeSwitch0", "CPU0", "PCIeSwitch1", "GPU2"]
    assert stations[2] == ["PCIeSwitch0", "CPU0", "CPU1", "PCIeSwitch2", "GPU4"]
    assert tree.cut([0, 1, 2, 3]) == 20e9
    assert pcie_tree(2, 64e9, gpus_per_switch=0).cut([0]) == 64e9


def test_unlinked_gpus_of_a_dgx1_use_the_road_not_a_relay():
    machine = with_pcie(system("DGX-1 V100"), 16e9)
    kinds = {machine.bundles[i].kind for i in machine.routes(0, 5)[0]}
    assert kinds == {"pcie", "socket"}
    assert [machine.bundles[i].kind for i in machine.routes(0, 4)[0]] == ["nvlink"]


def test_three_patterns_on_a_ring_have_three_answers():
    eight, sixteen = ring(8, 25e9), ring(16, 25e9)
    assert loads(eight, neighbour_pattern(8)).delivered == 8 * 25e9
    assert loads(eight, all_to_all_pattern(8)).delivered == pytest.approx(175e9, rel=1e-12)
    assert loads(sixteen, all_to_all_pattern(16)).delivered == pytest.approx(187.5e9, rel=1e-12)
    assert loads(eight, [(0, 4)]).delivered == 50e9  # both ways round


def test_max_min_shares_are_fair_and_fill_a_bottleneck():
    found = loads(ring(4, 10e9, relay=True), [(0, 1), (0, 1), (2, 3)])
    assert found.rates.tolist() == [5e9, 5e9, 10e9]
    assert found.utilisation.max() == 1.0


def test_a_link_taken_away():
    dgx = system("DGX-1 V100")
    assert dgx.without_link(0, 3, links=1).link_matrix()[0, 3] == 1
    assert dgx.without_link(0, 3, links=1).cut([0]) == 5 * 25e9
    assert dgx.without_link(0, 3).hop_matrix()[0, 3] == 2
    around = ring(4, 25e9).without_link(0, 1)
    assert len(around.routes(0, 1)[0]) == 3
    with pytest.raises(ValueError, match=r"no route from GPU0 to GPU1 \(out of order: GPU0-GPU1"):
        full_mesh(4, 25e9).without_link(0, 1).routes(0, 1)
    slow = ring(8, 25e9).with_slow_link(0, 1, 0.01)
    assert len(slow.routes(0, 1)[0]) == 1  # a slow link is still taken


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda: mesh([[0, 1], [0, 0]], 1e9), "square, symmetric"),
        (lambda: mesh([[0, 1], [1, 0]], 0), "rate above 0"),
        (lambda: ring(1, 1e9), "at least 2 GPUs"),
        (lambda: switched(9, 1e9, (1,), boards=2), "fill 2 boards"),
        (lambda: cluster(ring(4, 1e9), 2, 1e9, nics=5), "1 to 4 NICs"),
        (lambda: ring(4, 1e9).cut([0, 1, 2, 3]), "GPUs on both sides"),
        (lambda: ring(4, 1e9).routes(0, 4), "0 to 3"),
        (lambda: ring(4, 1e9).with_slow_link(0, 1, 0), "without_link"),
        (lambda: ring(4, 1e9).with_slow_link(0, 2, 0.5), "0 links between GPU0 and GPU2"),
        (lambda: ring(4, 1e9).without_link(0, 1, 2), "1 links between"),
        (lambda: pcie_tree(4, 1e9).diameter(), "not joined by nvlink"),
        (lambda: loads(ring(4, 1e9), [(1, 1)]), "two different ranks"),
        (lambda: disjoint_rings(ring(4, 1e9), 0), "at least one ring"),
        (lambda: rings(ring(12, 1e9)), "3 to 9 GPUs"),
        (lambda: rings(full_mesh(1, 1e9)), "3 to 9 GPUs"),
        (lambda: switched(8, 1e9, (1,), boards=0), "fill 0 boards"),
        (lambda: mesh([[0, 0.9], [0.9, 0]], 1e9), "square, symmetric"),
        (lambda: mesh([[0, 1, 1], [1, 0, 1]], 1e9), "square, symmetric"),
        (lambda: ring(4, 1e9).without_link(0, 1, -1), "-1 cannot be broken"),
        (lambda: system("DGX-9"), "DGX"),
    ],
)
def test_wrong_input_gets_one_sentence(wrong, sentence):
    with pytest.raises(ValueError, match=sentence):
        wrong()


@st.composite
def meshes(draw):
    n = draw(st.integers(2, 7))
    upper = draw(st.lists(st.integers(0, 3), min_size=n * n, max_size=n * n))
    matrix = np.triu(np.array(upper).reshape(n, n), 1)
    chain = np.diag(np.ones(n - 1, dtype=int), 1)
    matrix = np.maximum(matrix, chain)  # connected
    return mesh(matrix + matrix.T, 25e9, relay=True)


@settings(max_examples=60)
@given(meshes(), st.data())
def test_shares_never_pass_more_than_links_and_cuts_allow(machine, data):
    ends = st.integers(0, machine.ranks - 1)
    flows = st.tuples(ends, ends).filter(lambda flow: flow[0] != flow[1])
    pattern = data.draw(st.lists(flows, min_size=1, max_size=12))
    found = loads(machine, pattern)
    assert (found.load <= machine.capacities * (1 + 1e-9)).all()
    assert (found.rates > 0).all()
    for rank in range(machine.ranks):
        leaving = sum(r for r, (a, _) in zip(found.rates, pattern, strict=True) if a == rank)
        assert leaving <= machine.cut([rank]) * (1 + 1e-9)


@settings(max_examples=40)
@given(meshes())
def test_hops_are_a_distance(machine):
    hops = machine.hop_matrix()
    assert (hops == hops.T).all()
    assert (np.diag(hops) == 0).all()
    for middle in range(machine.ranks):
        assert (hops <= hops[:, [middle]] + hops[[middle], :]).all()
    assert machine.bisection() <= machine.cut(range(machine.ranks // 2))


def test_a_demand_leaves_room_where_there_is_some() -> None:
    road, line = pcie_tree(8, 32e9, socket_rate=20e9), system("DGX H100")
    each = 14e9 / 7
    jammed = loads(road, all_to_all_pattern(8), each)
    free = loads(line, all_to_all_pattern(8), each)
    assert jammed.utilisation.max() == pytest.approx(1.0)
    assert jammed.delivered < 8 * 14e9
    assert (free.rates == each).all()
    assert free.utilisation.max() == pytest.approx(14 / 450)
    with pytest.raises(ValueError, match="demand above 0"):
        loads(line, [(0, 1)], 0.0)
