"""Pictures of every family, laid out by a real browser: no words on one another, none cut."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from browser import lab
from playwright.sync_api import Browser, Page

from nvlearn import collectives, field, figures, formulas, nccl, topology
from nvlearn.data import printout
from nvlearn.explorers import lessons
from nvlearn.figures import Picture, Series

pytestmark = pytest.mark.browser
SIZES = np.geomspace(1e3, 1e10, 60)


def sizes(quantity: str) -> Picture:
    curves = []
    for name, function, rate, latency in (
        ("ring", formulas.ring_all_reduce_time, 367e9, 3.4e-6),
        ("NVLS", formulas.nvls_all_reduce_time, 306e9, 25e-6),
    ):
        spent = function(SIZES, 8, rate, latency)
        shown = spent if quantity == "time" else formulas.busbw_from_algbw(SIZES / spent, 8)
        curves.append(Series(name, SIZES, shown, "nvlink" if name == "ring" else "nvswitch"))
    points = () if quantity == "time" else [Series(
        "8x H200", np.array([2**20, 2**26, 2**30]), np.array([72e9, 370e9, 464e9]),
        source="stas00/ml-engineering",
    )]  # fmt: skip
    return figures.size_curves(curves, points, quantity)


def loaded(machine: topology.Topology) -> Picture:
    pattern = topology.all_to_all_pattern(machine.ranks)
    return figures.city_map(machine, topology.loads(machine, pattern))


def trace(plan: collectives.Schedule, machine: topology.Topology) -> Picture:
    return figures.timeline(collectives.time(plan, machine, 8e6, 1e-6))


def roads() -> topology.Topology:
    return topology.with_pcie(topology.system("DGX-1 V100"), 16e9)


PICTURES: dict[str, Callable[[], Picture]] = {
    **{f"map of {name}": lambda name=name: figures.city_map(topology.system(name)) for name in (
        "DGX-1 V100", "DGX-2", "DGX H100", "GB200 NVL72", "DGX GH200", "8x A100 PCIe", "C4140",
    )},
    "loads of a DGX-1": lambda: loaded(topology.system("DGX H100")),
    "loads of roads": lambda: loaded(topology.pcie_tree(8, 16e9)),
    "loads of both": lambda: loaded(roads()),
    "cluster": lambda: figures.city_map(topology.cluster(topology.system("DGX H100"), 2, 50e9)),
    "links": lambda: figures.matrix(topology.system("DGX-1 V100").link_matrix(), "links"),
    "hops": lambda: figures.matrix(topology.ring(16, 25e9).hop_matrix(), "hops"),
    "generations": lambda: figures.generations(),
    "generations, one way, log": lambda: figures.generations(False, True),
    "sizes": lambda: sizes("busbw"), "times": lambda: sizes("time"),
    "ring of 4": lambda: figures.collective_step(collectives.ring_all_reduce(4), 3),
    "ring of 8": lambda: figures.collective_step(collectives.ring_all_reduce(8), 9),
    "in the switch": lambda: figures.collective_step(collectives.in_switch_all_reduce(4, 1), 2),
    "timeline": lambda: trace(collectives.ring_all_reduce(8), topology.ring(8, 25e9)),
    "timeline of 72": lambda: trace(
        collectives.ring_all_reduce(72), topology.system("GB200 NVL72")),
    "a printout": lambda: figures.reading(field.read(printout("off_fabric"), "B200")[0]),
    "a log": lambda: figures.reading(field.read(printout("log_h100"), "H100")[0]),
    "three machines": lambda: figures.size_curves([
        figures.Series(name, SIZES, nccl.predict(nccl.machine(name), "all_reduce", SIZES).busbw)
        for name in ("DGX-1 P100", "DGX H100", "GB200 NVL72")]),
    "winners": lambda: lessons.winners("DGX H100", True),
    "calibration": lambda: figures.calibration([
        {"id": f"0{n}-x", "ratio": r, "slip": s}
        for n, r, s in ((1, 2.0, "both_ways"), (2, 1.0, None), (3, 1e3, "thousand"))]),
    "formula": lambda: figures.formula_curve(
        ["ring_all_reduce_time", "nvls_all_reduce_time"], "message", (1e3, 1e10), 1e8, ranks=8.0,
        bandwidth=370e9, latency=3e-6),
    "train": lambda: figures.bandwidth_train(2, 100e9, 18),
}  # fmt: skip


@pytest.fixture(scope="module")
def sheet() -> Iterator[Page]:
    with lab.browser() as running:
        yield page_of(running)


def page_of(running: Browser) -> Page:
    return running.new_page(viewport={"width": 1000, "height": 800})


@pytest.mark.parametrize("name", PICTURES)
def test_words_stand_apart_and_on_the_sheet(sheet: Page, name: str) -> None:
    picture = PICTURES[name]()
    sheet.set_content(f"<body style='margin:0'><div class='nv-picture'>{picture.svg}</div></body>")
    assert lab.overlaps(sheet) == []
    outside = sheet.evaluate("""() => {
      const whole = document.querySelector('.nv-picture svg').getBoundingClientRect();
      return [...document.querySelectorAll('svg text')].filter(t => {
        const b = t.getBoundingClientRect();
        return b.left < whole.left - 1 || b.right > whole.right + 1 || b.bottom > whole.bottom + 2;
      }).map(t => t.textContent);
    }""")
    assert outside == []


def test_an_overlap_is_found(sheet: Page) -> None:
    two = "<text x='10' y='20'>one word</text><text x='30' y='22'>another</text>"
    sheet.set_content(f"<div class='nv-picture'><svg width='200' height='50'>{two}</svg></div>")
    assert lab.overlaps(sheet) == ["one word / another"]
