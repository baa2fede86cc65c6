"""The cost model against NCCL's own constants and against every published table."""

from __future__ import annotations

import csv
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from nvlearn import formulas
from nvlearn.catalog import CatalogError
from nvlearn.data import read_table
from nvlearn.nccl import (
    ALGORITHMS,
    COLLECTIVES,
    Fit,
    Machine,
    Table,
    fit,
    fit_line,
    machine,
    predict,
    tables,
)
from nvlearn.topology import cluster, system

PUBLISHED = Path(formulas.__file__).parents[1] / "data" / "published"
MIB = 2**20
#: The single-domain all-reduce tables that count (models of NCCL, without the noisy profiles).
COUNTED = (
    "8x P100", "8x V100", "8x A100, Azure", "8x A100", "8x RTX 4090",
    "8x RTX 4090, patched driver", "8x H200", "8x B200", "8x GB200, CUDA graph",
)  # fmt: skip
TWO_NODES = (
    "2 nodes of 8x H100, EFA", "2 nodes of 8x H100, EFA, NCCL 2.20.3",
    "2 nodes of 8x H100, EFA, NCCL 2.22.3 no tuner",
    "2 nodes of 8x H100, EFA, NCCL 2.22.3 OFI tuner", "2 nodes of 8x A100, Sophia",
)  # fmt: skip


@cache
def table(name: str, collective: str = "all_reduce", ranks: int | None = None) -> Table:
    """The one published table of a name."""
    found = [t for t in tables() if t.name == name and t.collective == collective
             and ranks in (None, t.ranks)]  # fmt: skip
    assert len(found) == 1, name
    return found[0]


@cache
def fitted(name: str) -> Fit:
    """The fit of a table of which every size counts."""
    t = table(name)
    return fit(t.machine, t.sizes, t.times, t.collective)


@cache
def held_out(name: str) -> float:
    """Median error on every second size, fitted on the others, both ways."""
    t, errors = table(name), []
    for odd in (0, 1):
        seen = np.arange(t.sizes.size) % 2 == odd
        found = fit(t.machine, t.sizes[seen], t.times[seen]).machine
        time = predict(found, t.collective, t.sizes[~seen]).time
        errors.extend(np.abs(time / t.times[~seen] - 1))
    return float(np.median(errors))


# --- the published tables ---------------------------------------------------------------------


@pytest.mark.parametrize("path", sorted(PUBLISHED.glob("*.csv")), ids=lambda p: p.stem)
def test_every_published_row_agrees_with_itself(path: Path) -> None:
    rows = list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
    assert rows
    for row in rows:
        if not (row["bytes"] and row["time_us"]):
            continue
        moved = float(row["time_us"]) * 1e-6 * float(row["algbw_GBps"]) * 1e9
        assert moved == pytest.approx(float(row["bytes"]), rel=0.02), row
        factor = formulas.busbw_factor(int(row["ranks"]), row["collective"])
        bus = float(row["algbw_GBps"]) * factor
        assert float(row["busbw_GBps"]) == pytest.approx(bus, rel=0.03), row


def test_the_index_names_every_file_and_every_row() -> None:
    index = read_table("published")
    assert set(index["sources"]) == {path.stem for path in PUBLISHED.glob("*.csv")}
    for name in index["sources"]:
        text = (PUBLISHED / f"{name}.csv").read_text(encoding="utf-8")
        rows = [row for row in csv.DictReader(text.splitlines()) if row["bytes"]]
        assert sum(t.sizes.size for t in tables() if t.about["file"] == name) == len(rows), name


def test_tables_ascend_and_describe_their_machine() -> None:
    for t in tables():
        assert (np.diff(t.sizes) > 0).all(), t.name
        assert (t.times > 0).all()
        if t.machine:
            assert t.machine.ranks == t.ranks, t.name
            assert t.machine.efficiency == 1
        else:
            assert "kernel" in t.name


# --- the structure ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "algorithm", "microseconds"),
    [
        ("DGX H100", "ring", 6.6 + 14 * 0.6),
        ("DGX H100", "tree", 6.8 + 14 * 0.6),
        ("DGX H100", "nvls", 25.0),
        ("8x RTX 4090", "ring", 6.6 + 14 * 1.0),
    ],
)
def test_latency_is_that_of_nccl(name: str, algorithm: str, microseconds: float) -> None:
    time = predict(machine(name, offset=0.0), "all_reduce", 1e-3, algorithms=[algorithm]).time
    assert float(time) * 1e6 == pytest.approx(microseconds, rel=1e-3)


def test_latency_of_a_ring_over_domains() -> None:
    m = machine("DGX A100", domains=2, offset=0.0, cpu="Intel")
    time = predict(m, "all_reduce", 1e-3, algorithms=["ring"]).time
    assert float(time) * 1e6 == pytest.approx(6.6 + 28 * 1.0 + 2 * 2.7)  # NIC post, net
    tree = predict(replace(m, domains=8), "all_reduce", 1e-3, algorithms=["tree"])
    assert float(tree.time) * 1e6 == pytest.approx(6.8 + 2 * (7 * 0.6 + 3 * 5.0))


@pytest.mark.parametrize(
    ("name", "file", "within"),
    [
        ("DGX-1 P100", "8x P100", 0.12),
        ("DGX-1 V100", "8x V100", 0.12),
        ("DGX A100", "8x A100, Azure", 0.12),
        ("HGX H200", "H200 sweep over ranks, NVLS off", 0.12),
        ("HGX B200", "B200 sweep over ranks, NVLS off", 0.12),
    ],
)
def test_ring_bandwidth_follows_from_links_and_rate(name: str, file: str, within: float) -> None:
    t = table(file, ranks=8)
    best = int(t.busbw.argmax())
    found = predict(machine(name), "all_reduce", t.sizes[best], algorithms=["ring"])
    assert float(found.busbw) == pytest.approx(t.busbw[best], rel=within)


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_every_collective_is_predicted_everywhere(collective: str) -> None:
    for m in (machine("DGX-1 V100"), machine("DGX H100", domains=4), machine("2x RTX 5090")):
        found = predict(m, collective, np.geomspace(8, 1e10, 9))
        assert np.isfinite(found.time).all()
        assert (found.time > m.offset).all()
        assert (np.diff(found.time) >= 0).all()
        np.testing.assert_allclose(found.algbw * found.time, np.geomspace(8, 1e10, 9))
        factor = formulas.busbw_factor(m.ranks, collective)
        np.testing.assert_allclose(found.busbw, found.algbw * factor)
        assert set(found.algorithm) <= set(ALGORITHMS)


def test_large_messages_come_near_the_closed_forms() -> None:
    size, m = 2.0**36, machine("HGX H200", offset=0.0)
    bus = m.links * m.per_link
    ring = predict(m, "all_reduce", size, algorithms=["ring"]).time
    assert float(ring) == pytest.approx(formulas.ring_all_reduce_time(size, 8, bus), rel=1e-3)
    nvls = predict(m, "all_reduce", size, algorithms=["nvls"]).time
    closed = formulas.nvls_all_reduce_time(size, 8, 0.85 * bus)
    assert float(nvls) == pytest.approx(closed, rel=1e-3)
    inside = formulas.hierarchical_all_reduce_time(size, 8, 4, bus, 48e9)
    four = replace(m, domains=4)
    both = predict(four, "all_reduce", size, algorithms=["hierarchical"]).time
    assert float(both) == pytest.approx(inside.serial, rel=1e-3)
    pairs = predict(four, "alltoall", size).time
    assert float(pairs) == pytest.approx(size * 24 / 32 / 48e9, rel=1e-3)


def test_arrays_broadcast_over_sizes_and_ranks() -> None:
    m = machine("DGX H100", domains=72)
    sizes, ranks = np.geomspace(1e3, 1e10, 60), np.geomspace(2, 576, 60).round().astype(int)
    map_ = predict(m, "all_reduce", sizes, ranks[:, None])
    assert map_.time.shape == map_.algorithm.shape == (60, 60)
    assert {"ring", "tree", "nvls", "nvls_tree"} <= set(map_.algorithm.flat)
    for i, j in ((0, 0), (7, 30), (59, 59)):
        one = predict(m, "all_reduce", sizes[j], int(ranks[i]))
        assert float(one.time) == pytest.approx(map_.time[i, j])
        assert str(one.algorithm) == map_.algorithm[i, j]
    assert map_.algorithm[-1, 0] == "tree"  # small messages over many domains
    assert map_.algorithm[ranks == 8, -1].tolist() == ["nvls"] * (ranks == 8).sum()


def test_nothing_and_no_sizes_can_be_sent() -> None:
    for domains in (1, 2):
        m = machine("DGX H100", domains=domains)
        found = predict(m, "all_reduce", [0, 1])
        assert found.time[0] == pytest.approx(found.time[1], rel=1e-4)
        assert found.algorithm[0] == found.algorithm[1]
        assert found.busbw[0] == 0
    assert predict(m, "all_reduce", []).time.shape == (0,)


def test_meshes_know_how_few_links_a_part_of_them_has() -> None:
    dgx = machine("DGX-1 P100", offset=0.0)
    pair, board = predict(dgx, "all_reduce", 1e10, [2, 8]).busbw
    assert pair == pytest.approx(18e9, rel=0.01)
    assert board == pytest.approx(72e9, rel=0.01)
    assert machine("8x A100 PCIe").links_of(2) == 12
    assert machine("8x A100 PCIe").links_of(4) == 0


def test_a_topology_is_a_description() -> None:
    assert machine(system("DGX H100")) == machine("DGX H100")
    joined = machine(cluster(system("DGX A100"), 4, 25e9, nics=4))
    assert (joined.gpus, joined.domains, joined.nics, joined.nic_rate) == (8, 4, 4, 25e9)
    dgx = system("DGX-1 V100")
    rates = [float(predict(machine(t), "all_reduce", 1e10).busbw)
             for t in (dgx, dgx.without_link(0, 3), dgx.with_slow_link(0, 3, 0.5))]  # fmt: skip
    assert rates[1] / rates[0] == pytest.approx(4 / 6, rel=0.01)
    assert rates[2] / rates[0] == pytest.approx(1 / 2, rel=0.01)


def test_wrong_questions_get_a_sentence() -> None:
    m = machine("DGX H100")
    with pytest.raises(ValueError, match="nothing moves"):
        predict(m, "all_reduce", 1e6, 1)
    with pytest.raises(ValueError, match="no collective 'allreduce'; there is all_reduce"):
        predict(m, "allreduce", 1e6)
    with pytest.raises(ValueError, match="message"):
        predict(m, "all_reduce", [1e6, -1])
    with pytest.raises(ValueError, match="algorithm 'nvl'; there is nvls"):
        predict(m, "all_reduce", 1e6, algorithms=["nvl"])
    with pytest.raises(ValueError, match="no broadcast runs on tree"):
        predict(m, "broadcast", 1e6, algorithms=["tree"])
    with pytest.raises(ValueError, match="more domains"):
        machine("DGX H100", gpus=16)
    with pytest.raises(CatalogError, match="nearest"):
        machine("DGX H1000")
    with pytest.raises(ValueError, match="as many of both"):
        fit(m, [1e3, 1e6], [1e-5])


# --- laws that the tables show ----------------------------------------------------------------


@pytest.mark.parametrize(("gpu", "first"), [("H200", 5), ("B200", 6)])
def test_nvls_follows_one_law(gpu: str, first: int) -> None:
    added = {n: table(f"{gpu} sweep over ranks", ranks=n).busbw[0] for n in range(5, 9)}
    rings = {n: table(f"{gpu} sweep over ranks, NVLS off", ranks=n).busbw[0] for n in range(5, 9)}
    wire = [added[n] / formulas.busbw_factor(n) * (n + 1) / n for n in range(first, 9)]
    assert max(wire) / min(wire) - 1 < 0.025  # algbw = B n / (n + 1), one B for every n
    ring, nvls = np.mean(list(rings.values())), np.mean(wire)
    for n in range(first, 9):
        law = formulas.ring_nvls_ratio(n, ring, nvls)
        assert law == pytest.approx(added[n] / rings[n], rel=0.025)
    assert 3.9 < formulas.ring_nvls_crossover(ring, nvls) < 4.4


def test_nvls_gain_of_h200_follows_from_the_description() -> None:
    m = machine("HGX H200")
    for n in range(5, 9):
        added, rings = (predict(m, "all_reduce", 2**33, n, a).busbw for a in (["nvls"], ["ring"]))
        t, off = (table(f"H200 sweep over ranks{x}", ranks=n) for x in ("", ", NVLS off"))
        assert float(added / rings) == pytest.approx(t.busbw[0] / off.busbw[0], rel=0.025)
    assert str(predict(m, "all_reduce", 2**33, 4).algorithm) != "nvls" or float(
        predict(m, "all_reduce", 2**33, 4).busbw) < 1.05 * 371e9  # fmt: skip


def test_h200_changes_to_nvls_within_a_power_of_two_of_2_mib() -> None:
    for m in (machine("HGX H200"), fitted("8x H200").machine):
        sizes = 2.0 ** np.arange(10, 30)
        found = predict(m, "all_reduce", sizes)
        first = sizes[(found.algorithm == "nvls").argmax()]
        assert MIB <= first <= 4 * MIB
        assert set(found.protocol[sizes < first]) == {"LL"}


def test_ring_latency_is_linear_and_tree_latency_logarithmic() -> None:
    def smallest(nodes: int, collective: str) -> tuple[int, float]:
        t = table(f"{nodes} nodes of 4x A100, Polaris", collective)
        return t.ranks, float(t.times[0])

    steps = [t / (n - 1) for n, t in (smallest(k, "all_gather") for k in (128, 256, 540))]
    assert max(steps) / np.mean(steps) < 1.04
    assert min(steps) / np.mean(steps) > 0.96
    times = {k: smallest(k, "all_reduce")[1] for k in (2, 8, 256, 540)}
    logs = np.log2(list(times))
    doubling = np.exp(np.mean(np.log(np.array(list(times.values())) / logs)))
    np.testing.assert_allclose(logs * doubling, list(times.values()), rtol=0.15)


def test_a_model_ring_is_linear_and_a_model_tree_logarithmic() -> None:
    m = machine("HGX A100 4-GPU", domains=540, offset=0.0)
    n = 4 * 2 ** np.arange(1, 9)
    ring = predict(m, "all_gather", 1, n).time
    np.testing.assert_allclose(np.diff(ring) / np.diff(n), np.diff(ring)[0] / 8, rtol=1e-5)
    tree = predict(m, "all_reduce", 1, n, ["tree"]).time
    np.testing.assert_allclose(np.diff(tree), 10e-6, rtol=1e-4)


# --- fits -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", COUNTED)
def test_two_numbers_fit_a_counted_table(name: str) -> None:
    left = fitted(name).left
    assert left.median <= 0.09
    assert left.worst <= 0.42
    assert held_out(name) <= 0.13


def test_two_numbers_fit_the_counted_tables_together() -> None:
    assert np.median([fitted(name).left.median for name in COUNTED]) <= 0.035
    assert np.median([held_out(name) for name in COUNTED]) <= 0.05
    large = [np.median(np.abs(fitted(name).left.errors[table(name).sizes >= 64 * MIB]))
             for name in COUNTED if table(name).sizes[-1] >= 64 * MIB]  # fmt: skip
    assert np.median(large) <= 0.03


@pytest.mark.parametrize("name", TWO_NODES)
def test_two_numbers_fit_two_nodes(name: str) -> None:
    assert fitted(name).left.median <= 0.16


@pytest.mark.parametrize("name", COUNTED[:-1])
def test_a_description_alone_predicts_the_plateau(name: str) -> None:
    t = table(name)
    found = predict(t.machine, "all_reduce", t.sizes[-1])
    assert float(found.busbw) == pytest.approx(t.busbw[-1], rel=0.16)


def test_a_fit_finds_what_made_a_table() -> None:
    rng = np.random.default_rng(1)
    for m in (machine("DGX A100", offset=40e-6, efficiency=0.7), machine("DGX H100", domains=2),
              machine("8x RTX 4090", offset=-3e-6, efficiency=1.3)):  # fmt: skip
        sizes = 2.0 ** np.arange(8, 34)
        times = predict(m, "all_reduce", sizes).time * np.exp(rng.normal(0, 0.01, sizes.size))
        shuffled = rng.permutation(sizes.size)
        found = fit(m, sizes[shuffled], times[shuffled])
        assert found.machine.offset == pytest.approx(m.offset, abs=1e-6)
        assert found.machine.efficiency == pytest.approx(m.efficiency, rel=0.03)
        assert found.left.warning == ""
        assert found.left.median < found.left.p90 < found.left.worst < 0.06


@pytest.mark.parametrize(
    ("name", "collective", "word"),
    [
        ("4x GB300", "all_reduce", "Only 2 sizes"),
        ("8 nodes of 8x H100, SHARP", "all_reduce", "Only large sizes"),
        ("2 racks of 72x GB200", "all_reduce", "Only large sizes"),
        ("8x GB200, CUDA graph", "all_reduce", "Only small sizes"),
        ("2x A100, Vidur", "all_reduce", "Noise"),
        ("8 nodes of 4x A100, Polaris", "all_reduce", "not as described"),
    ],
)
def test_a_table_that_cannot_carry_a_fit_warns(name: str, collective: str, word: str) -> None:
    t = table(name, collective)
    assert word in fit(t.machine, t.sizes, t.times, collective).left.warning


def test_small_sizes_alone_warn_and_good_tables_do_not() -> None:
    t = table("8x A100, Azure")
    few = t.sizes <= 16384
    assert "Only small sizes" in fit(t.machine, t.sizes[few], t.times[few]).left.warning
    assert "Only small sizes" in fit_line(t.sizes[few], t.times[few], ranks=8).left.warning
    for name in COUNTED[:-1]:
        assert fitted(name).left.warning == "", name


def test_a_line_finds_latency_and_bandwidth() -> None:
    sizes = 2.0 ** np.arange(10, 34)
    times = 20e-6 + sizes * 1.75 / 300e9
    line = fit_line(sizes, times, ranks=8)
    assert line.latency == pytest.approx(20e-6, rel=1e-3)
    assert line.bandwidth == pytest.approx(300e9, rel=1e-3)
    assert line.left.worst < 1e-3
    flat = fit_line(sizes, np.full(sizes.size, 1e-5))
    assert (flat.latency, flat.bandwidth) == (pytest.approx(1e-5), np.inf)
    falling = fit_line([1, 2, 3, 4, 5, 6], [6e-6, 5e-6, 4e-6, 3e-6, 2e-6, 1e-6])
    assert falling.bandwidth == np.inf


def test_lines_over_the_single_domain_tables() -> None:
    single = [t for t in tables() if t.sizes.size > 1
              and (t.machine is None or t.machine.domains == 1)]  # fmt: skip
    two = [fit_line(t.sizes, t.times, t.collective, t.ranks).left for t in single]
    assert np.median([left.median for left in two]) <= 0.035
    large = [np.median(np.abs(left.errors[t.sizes >= 64 * MIB]))
             for left, t in zip(two, single, strict=True) if t.sizes[-1] >= 64 * MIB]  # fmt: skip
    assert np.median(large) <= 0.03


def test_a_machine_can_be_told_from_scratch() -> None:
    m = Machine(name="8x H800", generation="Hopper", gpus=8, links=8, per_link=20.6e9, pcie=48e9,
                nics=8, nic_rate=50e9, reduces=True)  # fmt: skip
    assert float(predict(m, "all_gather", 1e10).busbw) == pytest.approx(165e9, rel=0.01)
    with pytest.raises(ValueError, match="no generation 'Hoper'; there is Hopper"):
        predict(replace(m, generation="Hoper"), "all_reduce", 1e6)
