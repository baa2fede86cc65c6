"""The explorers: maps, generations, collectives, formulas, steps, printouts, fits and plans."""

from collections import defaultdict
from collections.abc import Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from nvlearn import catalog, collectives, field, nccl, topology, training
from nvlearn.data import printout, read_table

# isort: off
from nvlearn.explorers.explorer import (
    Control, Explorer, NumberControl, controls, tell, text_field, written)
from nvlearn.figures import (
    Picture, Series, bandwidth_train, city_map, collective_step, drawable, formula_curve,
    generations, reading, size_curves, split_bars, step_timeline, timeline, unpictured, winner_map)
# isort: on
from nvlearn.formulas import legend
from nvlearn.i18n import words
from nvlearn.units import GB, KIB, MB, MIB, US, format_rate, format_size, format_time

GPUS, RANKS, MESSAGE = 8, 4, 64 * MIB
WIDEST = (0, 3, 2, 1, 5, 6, 7, 4)  # the ring of eight on which a DGX-1 has two links everywhere
PARAMETERS, COMPUTE, MICRO_STEPS = 3e9, 0.36, 4  # of the step that is tuned
#: What a slider counts, by the unit of the legend: its size in base units, and its name.
COUNTED = {"s": (US, "µs"), "bytes": (MB, "MB"), "bytes/s": (GB, "GB/s one way")}


# --- lesson 01: three cities, the steps of an all-reduce; 09: generations -------


@cache
def pattern(traffic: str, gpus: int = GPUS) -> list[tuple[int, int]]:
    """Return who sends to whom: all, a pair, or each to one that is ahead of it."""
    if traffic == "all":
        return topology.all_to_all_pattern(gpus)
    if traffic == "pair":
        return [(0, gpus - 1)]
    stops = WIDEST if traffic == "ring" and gpus == GPUS else range(gpus)
    ahead = GPUS if traffic == "rail" else 1
    return [(gpu, stops[(i + ahead) % gpus]) for i, gpu in enumerate(stops)]


@cache
def city(roads: str) -> topology.Topology:
    """Return eight V100 joined by roads alone, by lines to some or all, or by an interchange."""
    gpu = catalog.gpu(catalog.system("DGX-1 V100").gpu)
    road, line = gpu.pcie_raw.one_way, gpu.per_link.one_way
    between = catalog.fact("Intel socket link").value.one_way
    if roads == "switch":
        wires = catalog.system("DGX-2").links_to_chips
        return topology.switched(GPUS, line, wires, name=words("city_explorer.board"))
    if roads == "pcie":
        return topology.pcie_tree(GPUS, road, socket_rate=between)
    lines = topology.system("DGX-1 V100") if roads == "mesh" else topology.full_mesh(GPUS, line)
    return topology.with_pcie(lines, road, socket_rate=between)


def city_explorer() -> Explorer:
    """Return the map of three cities under three kinds of traffic; it opens on a jam."""
    return Explorer(city_picture, controls("city_explorer"))


def city_picture(roads: str, traffic: str, wish: float) -> Picture:
    """Return the map when every GPU wants to send `wish` GB/s, and what they get of it."""
    flows = pattern(traffic)
    senders = {source for source, _ in flows}
    loads = topology.loads(city(roads), flows, wish * GB * len(senders) / len(flows))
    return tell(city_map(city(roads), loads), "city_explorer", wish=format_rate(wish * GB))


def generations_explorer() -> Explorer:
    """Return NVLink and PCIe over the years; it opens as data sheets count, both ways."""
    return Explorer(generations, controls("generations_explorer"),
                    partial(written, "nvlearn.figures.generations"))


def growth_explorer() -> Explorer:
    """Return a growth per year laid over the generations; it opens on the source's least."""
    return Explorer(generations, controls("growth_explorer"),
                    partial(written, "nvlearn.figures.generations"))


def all_reduce_explorer() -> Explorer:
    """Return a ring all-reduce of four GPUs, step by step; it opens after the first."""
    return Explorer(step_picture, controls("all_reduce_explorer"))


def step_picture(step: int, line: str) -> Picture:
    """Return what every GPU holds after a step, and how long steps take over a line."""
    ring, steps = collectives.ring_all_reduce(RANKS), 2 * (RANKS - 1)
    rate = (catalog.pcie("Gen5").raw if line == "pcie" else catalog.nvlink("4.0").per_gpu).one_way
    spent = collectives.time(ring, topology.ring(RANKS, rate), MESSAGE).seconds
    return tell(
        collective_step(ring, step), "all_reduce_explorer", steps=steps, rate=format_rate(rate),
        size=format_size(MESSAGE, binary=True), one=format_time(spent / steps, 3),
        all=format_time(spent, 3), line=words(f"all_reduce_explorer.line_{line}"))


# --- lesson 02: the four factors of the bandwidth formula ---------------------


def bandwidth_explorer() -> Explorer:
    """Return lanes, rate, links and directions with sliders; it opens on an H100."""
    presets = {preset_name(made): factors(made) for made in catalog.nvlinks().values()}
    opening = controls("bandwidth", **factors(catalog.nvlink("4.0")))
    return Explorer(train, opening, None, presets, words("bandwidth.presets"))


def preset_name(made: catalog.NVLink) -> str:
    """Return the words on the button of a generation."""
    key = "preset" if made.lanes.settled else "preset_unsettled"
    generation, gpu = made.name.removeprefix("NVLink "), made.first_gpu.partition(" SXM")[0]
    return words(f"bandwidth.{key}", generation=generation, gpu=gpu)


def factors(made: catalog.NVLink) -> dict[str, Any]:
    """Return the three factors of a generation as the sliders take them."""
    return {"lanes": int(made.lanes.value), "links": int(made.links.value),
            "gbit_per_lane": made.lane_rate.value / 1e9}


def train(lanes: int, gbit_per_lane: float, links: int, directions: int) -> Picture:
    """Draw the train of four factors."""
    return bandwidth_train(lanes, gbit_per_lane * 1e9, links, directions)


# --- lesson 11: what a link costs a training step -----------------------------


def demo_explorer() -> Explorer:
    """Return the demo with sliders; it opens on the source document's 7B model."""
    opening = controls("demo_explorer", gpus=training.GPUS, compute=training.COMPUTE)
    presets = {words("demo_explorer.model", billions=b): {"billions": b} for b in (1, 7, 70)}
    return Explorer(demo, opening, None, presets, words("demo_explorer.presets"))


def demo(billions: float, bytes_per_gradient: int, gpus: int, compute: float, show: str) -> Picture:
    """Draw the demo's step on every interconnect."""
    return step_timeline(
        training.demo_rows(billions * 1e9, bytes_per_gradient, gpus, compute), show)


# --- any closed form ----------------------------------------------------------


def formula_explorer(formulas: str | Sequence[str], over: str, log: bool = True,
                     fixed: dict[str, float] | None = None, **ranges: Sequence[float]) -> Explorer:
    """Return sliders for the arguments of closed forms over a curve along one of them.

    A range is low, high, step and start, in what the slider counts: GPUs, µs, GB/s, MB.
    `fixed` are further arguments in base units.
    """
    names = [formulas] if isinstance(formulas, str) else list(formulas)
    rows = {row.argument: row for name in names for row in legend(name).rows}
    scale = {name: COUNTED.get(rows[name].unit, (1.0, rows[name].unit)) for name in ranges}
    said = {name: row.meaning.partition(",")[0] for name, row in rows.items()}
    sliders = [NumberControl(name, f"{said[name]}, {scale[name][1]}", *limits)
               for name, limits in ranges.items()]
    ends = tuple(ranges[over][end] * scale[over][0] for end in (0, 1))

    def given(values: dict[str, float]) -> dict[str, Any]:
        base = {name: value * scale[name][0] for name, value in values.items()}
        return {"formulas": names, "over": over, "ends": ends, "at": base.pop(over), "log": log,
                **base, **(fixed or {})}

    return Explorer(
        lambda **values: formula_curve(**given(values)), sliders,
        lambda **values: written("nvlearn.figures.formula_curve", **given(values)))


# --- lessons 03 to 08: ways and machines, collectives, tuning, clusters ---------


#: Who is cut off from GPU 0 where a machine is broken.
CUT_OFF = defaultdict(lambda: "NVSwitch0", mesh="GPU3", full="GPU3")


class ByHost(topology.Topology):
    """Roads on which everything goes up to the CPU: staged, or redirected by access control."""

    def routes(self, source: int, target: int) -> list[tuple[int, ...]]:
        """Return the way between two GPUs; below one switch it goes up and comes down again."""
        if source // 2 != target // 2:
            return super().routes(source, target)
        up, down = super().routes(source, source ^ 2)[0], super().routes(target ^ 2, target)[0]
        return [(*up[:2], *down[2:])]


@cache
def machine(name: str, state: str) -> topology.Topology:
    """Return a machine whole, with a neighbour of GPU 0 cut off, or with all ways by the CPU."""
    if name.startswith("Gen"):
        tree = topology.pcie_tree(GPUS, catalog.pcie(name).raw.one_way, name=f"PCIe {name}")
        return ByHost(tree.graph, tree.name) if state == "host" else tree
    made = city(name) if name in ("mesh", "full") else topology.system(name)
    return slowed(made, 0, "GPU0", CUT_OFF[name]) if state == "broken" else made


@cache
def slowed(made: topology.Topology, share: float, *ends: str) -> topology.Topology:
    """Return a machine whose links that have these ends keep a share of their bandwidth."""
    graph = made.graph.copy()
    for *stations, link in graph.edges(data=True):
        link["capacity"] *= share if {*ends} <= {*stations} else 1
    return topology.Topology(graph, made.name)


@cache
def road_picture(name: str, traffic: str, state: str) -> Picture:
    """Return the map of a machine when all send what they can; of one flow also its way."""
    made = machine(name, state)
    flows = [(0, int(traffic))] if traffic.isdecimal() else pattern(traffic, made.ranks)
    loads = topology.loads(made, flows)
    way = " → ".join(made.bundles[link].target for link in made.routes(*flows[0])[0])
    return tell(
        city_map(made, loads), f"roads.{state}", end=CUT_OFF[name],
        least=format_rate(loads.rates.min(), digits=3),
        way=words("roads.way", way=way) if len(flows) == 1 else "")


def routes_explorer() -> Explorer:
    """Return the roads of eight cards; it opens on two cards below one switch."""
    return Explorer(road_picture, controls("routes_explorer"))


def machines_explorer() -> Explorer:
    """Return machines with NVLink under three kinds of traffic; it opens on a DGX-1."""
    return Explorer(road_picture, controls("machines_explorer"))


PLANS: dict[str, partial[collectives.Schedule]] = {
    "ring": partial(collectives.ring_all_reduce), "swap": partial(collectives.pairwise_all_to_all),
    "half": partial(collectives.halving_doubling_all_reduce),
    "tree": partial(collectives.double_tree_all_reduce, pieces=1),
    "switch": partial(collectives.in_switch_all_reduce, pieces=1)}


def collective_explorer(ranks: int = 8) -> Explorer:
    """Return five collectives of 4 or 8 GPUs, step by step; it opens on a ring's first step."""
    return Explorer(moves, controls("collective_explorer", ranks=ranks))


def moves(kind: str, ranks: int, step: int) -> Picture:
    """Draw what everyone holds after a step, or after the last; say how much GPUs send in all."""
    plan = PLANS[kind](ranks)
    sent = [(plan.source == rank).sum() / plan.chunks for rank in range(ranks)]
    return tell(collective_step(plan, min(step, len(plan.bounds) - 1)), "collective_explorer",
                most=f"{max(sent):.4g}", total=f"{sum(sent):.4g}")


def straggler_explorer() -> Explorer:
    """Return a collective of eight GPUs behind a switch over time; one has half of its links."""
    return Explorer(straggler, controls("straggler_explorer"))


def straggler(kind: str, share: int) -> Picture:
    """Draw when every GPU sends its part of 64 MiB, and say what the slow links cost."""
    plan = PLANS[kind](8, **({"pieces": 8} if kind == "tree" else {}))
    board = topology.system("DGX H100")
    slow, whole = (collectives.time(plan, slowed(board, at / 100, "GPU3"), 64 * MIB, US)
                   for at in (share, 100))
    return tell(timeline(slow), "straggler_explorer", share=share,
                whole=format_time(whole.seconds, 3), times=f"{slow.seconds / whole.seconds:.3g}")


def tuning_explorer() -> Explorer:
    """Return a step of DDP as it is before any tuning, over one that the learner tunes."""
    return Explorer(before_after, controls("tuning_explorer"))


def before_after(link: str, value_bytes: int, bucket: int, no_sync: bool) -> Picture:
    """Draw a step that sends FP32 in buckets of 25 MiB after each micro-step, and another."""
    rate = {"pcie": catalog.pcie("Gen5").raw, "nvlink": catalog.nvlink("4.0").per_gpu,
            "infiniband": catalog.nic("NDR").port_rate}[link].one_way
    rows = [training.tuned(words(f"tuning_explorer.{name}"), PARAMETERS * size, GPUS, rate, COMPUTE,
                           link, pack * MIB, micro_steps=MICRO_STEPS, no_sync=once)
            for name, size, pack, once in (
                ("before", 4, 25, False), ("after", value_bytes, bucket, no_sync))]
    said = {f"{row.name}_{part}": format_time(getattr(row, part), 3)
            for row in rows for part in ("overlapped", "waits", "communication")}
    title = words("tuning_explorer.title", **said)
    return tell(step_timeline(rows, "overlapped", title), "tuning_explorer", **said)


def cluster_explorer() -> Explorer:
    """Return servers of eight H100 with few or many railway stations; it opens on a jam."""
    return Explorer(cluster_picture, controls("cluster_explorer"))


def cluster_picture(traffic: str, nics: int, domains: int) -> Picture:
    """Draw a ring, an exchange with the next server's peers, or all to all, at one pace for all."""
    port = catalog.nic("NDR").port_rate.one_way
    made = topology.cluster(topology.system("DGX H100"), domains, port, nics=nics)
    flows = pattern(traffic, made.ranks)
    return city_map(made, topology.loads(made, flows, topology.loads(made, flows).rates.min()))


DOMAINS, SIZES = (1, 2, 4, 8, 16, 32, 64), KIB * 2.0 ** np.arange(25)


# --- the paste box ------------------------------------------------------------


def paste_box(text: str = "") -> Explorer:
    """Return a box for printouts of a machine; it opens on a real one with a fault."""
    samples = {
        words(f"paste.sample.{row['id']}"): {"text": printout(row["id"]), "gpu": row["gpu"]}
        for row in read_table("printouts")["printout"]}
    start = {"text": text, "gpu": ""} if text else next(iter(samples.values()))
    fields = [
        Control("text", text_field(words("paste.text"), start["text"], "220px")),
        Control("gpu", text_field(words("paste.gpu"), start["gpu"]))]
    return Explorer(explain, fields, reading_code, samples, words("paste.samples"))


def reading_code(text: str, gpu: str) -> str:
    """Return the line that reads a printout: one of the course's, or a file of the learner's."""
    ids = (row["id"] for row in read_table("printouts")["printout"])
    sample = next((f"nvlearn.data.printout({id!r})" for id in ids if printout(id) == text), "")
    return f"""nvlearn.field.read({sample or 'open("FILE")'}, {gpu or None!r})"""


def explain(text: str, gpu: str) -> Picture:
    """Return the picture of the first printout that has one, and what all of them mean."""
    try:
        documents = field.read(text, gpu or None)
    except ValueError as error:  # the machine of before must not stay in sight
        return unpictured(str(error))
    told = "\n\n".join(each.in_words() for each in documents)
    return reading(next(filter(drawable, documents), documents[0])).telling(told)


# --- a fit by hand ------------------------------------------------------------


def fit_explorer() -> Explorer:
    """Return a line to be laid through a measured table by hand, and what a fit makes of it."""
    return Explorer(fitted, controls("fit_explorer"))


def fitted(table: str, latency: float, bandwidth: float, curve: str, quantity: str) -> Picture:
    """Draw a measured all-reduce (latency in us, bandwidth in GB/s) under a line or a model."""
    found = next(t for t in nccl.tables() if (t.name, t.collective) == (table, "all_reduce"))
    assert found.machine is not None
    smooth = np.geomspace(found.sizes[0], found.sizes[-1], 300)
    places = np.concatenate([smooth, found.sizes])
    if curve == "nccl":
        model = nccl.fit(found.machine, found.sizes, found.times).machine
        times, start, rate = nccl.predict(model, "all_reduce", places).time, model.offset, 0.0
    else:
        line = nccl.fit_line(found.sizes, found.times, ranks=found.ranks)
        start, rate = (latency * US, bandwidth * GB) if curve == "mine" else line[:2]
        times = start + places * found.factor / rate
    miss = np.abs(times[len(smooth):] / found.times - 1)
    name = words(f"fit_explorer.name_{curve}", latency=format_time(start, 3),
                 bandwidth=f"{rate / GB:.3g}")
    values, real = times[: len(smooth)], found.times
    if quantity == "busbw":
        values, real = smooth * found.factor / values, found.busbw
    picture = size_curves([Series(name, smooth, values)], [
        Series(words("reading.measured"), found.sizes, real, "infiniband",
               source=read_table("published")["sources"][found.about["file"]])], quantity)
    return tell(picture, "fit_explorer", table=table, median=f"{np.median(miss):.0%}",
                worst=f"{miss.max():.0%}")


# --- the winner map -----------------------------------------------------------


def winner_explorer() -> Explorer:
    """Return what NCCL picks for an all-reduce by size and ranks, on four generations."""
    return Explorer(winners, controls("winner_explorer"))


def winners(machine: str, nvls: bool) -> Picture:
    """Draw the map of a machine: 2 GPUs to 64 domains, 1 KiB to 16 GiB."""
    made = nccl.machine(machine, domains=DOMAINS[-1], **({} if nvls else {"reduces": False}))
    ranks = [2, 4, *(made.gpus * k for k in DOMAINS)]
    found = nccl.predict(made, "all_reduce", SIZES[None, :], np.array(ranks)[:, None])
    names = np.char.add(np.char.add(found.algorithm, " "), found.protocol)
    return winner_map(names, ranks, SIZES.tolist())


# --- the planner --------------------------------------------------------------


def planner_explorer() -> Explorer:
    """Return the best splits of a model over a cluster; it opens on 175B on 1,024 H100."""
    return Explorer(planned, controls("planner_explorer"))


def planned(model: str, gpus: int, domain: int, inside: int, outside: int, memory: int) -> Picture:
    """Draw the best splits for 1,024 sequences a step; rates in GB/s one way, memory in GB."""
    found = training.splits(
        **training.MODELS[model], gpus=gpus, sequences=1024, memory=memory * GB, domain=domain,
        inside=inside * GB, outside=outside * GB)
    told = {"tried": f"{found.tried:,}", "fit": f"{found.tried - found.too_large:,}",
            "memory": memory}
    if not found.total.size:
        return split_bars(found, words("planner_explorer.none", **told))
    told |= {name: cut[0] for name, cut in found.cuts.items()} | {
        f"{kind}_sent": [format_size(sent[0], digits=3) for sent in ways]
        for kind, ways in found.sent.items()}
    share, times = found.parts["compute"][0] / found.total[0], found.worst / found.total[0]
    told |= {"total": format_time(found.total[0]), "share": f"{share:.0%}", "times": f"{times:.3g}"}
    return tell(split_bars(found, words("planner_explorer.title", **told)), "planner_explorer",
                **told)
