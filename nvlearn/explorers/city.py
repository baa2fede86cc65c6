"""The explorers of lesson 01: three cities, the generations, the steps of an all-reduce."""

from functools import cache

from nvlearn import catalog, collectives, topology
from nvlearn.explorers.explorer import Explorer, NumberControl, choice, drawn
from nvlearn.figures import Picture, city_map, collective_step, generations
from nvlearn.i18n import words
from nvlearn.units import GB, MIB, format_rate, format_size, format_time

GPUS, RANKS, MESSAGE = 8, 4, 64 * MIB
TRAFFIC = ("all", "ring", "pair")
RING = collectives.ring_all_reduce(RANKS)


# --- three cities -------------------------------------------------------------


@cache
def pattern(traffic: str, gpus: int = GPUS) -> list[tuple[int, int]]:
    """Return who sends to whom; the ring of eight is the widest that a DGX-1 offers."""
    if traffic == "all":
        return topology.all_to_all_pattern(gpus)
    if traffic == "pair":
        return [(0, gpus - 1)]
    if traffic == "next" or gpus != GPUS:
        return topology.neighbour_pattern(gpus)
    mesh = topology.system("DGX-1 V100")
    links = mesh.link_matrix()
    stops = max(topology.rings(mesh), key=lambda ring: links[ring, (*ring[1:], 0)].min())
    return list(zip(stops, (*stops[1:], 0), strict=True))


@cache
def city(roads: str) -> topology.Topology:
    """Return eight V100 joined by roads alone, by lines to some or all, or by an interchange."""
    gpu = catalog.gpu(catalog.system("DGX-1 V100").gpu)
    road, line = gpu.pcie_raw.one_way, gpu.per_link.one_way
    between = catalog.fact("Intel socket link").value.one_way
    if roads == "switch":
        wires = catalog.system("DGX-2").links_to_chips
        return topology.switched(GPUS, line, wires, name=words("city_explorer.board"))
    if roads == "mesh":
        return topology.with_pcie(topology.system("DGX-1 V100"), road, socket_rate=between)
    if roads == "full":
        return topology.with_pcie(topology.full_mesh(GPUS, line), road, socket_rate=between)
    return topology.pcie_tree(GPUS, road, socket_rate=between)


def city_explorer() -> Explorer:
    """Return the map of three cities under three kinds of traffic; it opens on a jam."""
    controls = [
        choice("city_explorer", "roads", ("pcie", "mesh", "switch"), "pcie"),
        choice("city_explorer", "traffic", TRAFFIC, "all"),
        NumberControl("wish", words("city_explorer.wish"), 1, 60, 1, 12)]
    return Explorer(city_picture, drawn, controls)


def city_picture(roads: str, traffic: str, wish: float) -> Picture:
    """Return the map when every GPU wants to send `wish` GB/s, and what they get of it."""
    flows = pattern(traffic)
    senders = {source for source, _ in flows}
    loads = topology.loads(city(roads), flows, wish * GB * len(senders) / len(flows))
    picture = city_map(city(roads), loads)
    wanted = words("city_explorer.sentence", wish=format_rate(wish * GB), map=picture.description)
    return picture.telling(wanted)


# --- generations --------------------------------------------------------------


def generations_explorer() -> Explorer:
    """Return NVLink and PCIe over the years; it opens as data sheets count, both ways."""
    controls = [
        choice("generations_explorer", "directions", (True, False), True),
        choice("generations_explorer", "scale", (False, True), False)]
    return Explorer(
        lambda directions, scale: generations(directions, scale), drawn, controls,
        lambda directions, scale: f"nvlearn.figures.generations({directions}, {scale})")


# --- an all-reduce ------------------------------------------------------------


def all_reduce_explorer() -> Explorer:
    """Return a ring all-reduce of four GPUs, step by step; it opens after the first."""
    controls = [
        NumberControl("step", words("all_reduce_explorer.step"), 0, 2 * (RANKS - 1), 1, 1),
        choice("all_reduce_explorer", "line", ("pcie", "nvlink"), "nvlink")]
    return Explorer(step_picture, drawn, controls)


def step_picture(step: int, line: str) -> Picture:
    """Return what every GPU holds after a step, and how long steps take over a line."""
    rate = (catalog.pcie("Gen5").raw if line == "pcie" else catalog.nvlink("4.0").per_gpu).one_way
    spent = collectives.time(RING, topology.ring(RANKS, rate), MESSAGE).seconds
    steps = 2 * (RANKS - 1)
    picture = collective_step(RING, step)
    return picture.telling(words(
        "all_reduce_explorer.sentence", picture=picture.description, steps=steps,
        size=format_size(MESSAGE, binary=True), one=format_time(spent / steps, 3),
        all=format_time(spent, 3), rate=format_rate(rate),
        line=words(f"all_reduce_explorer.line_{line}")))
