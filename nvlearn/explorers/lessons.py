"""The explorers of lessons 03 to 08: ways and machines, collectives, tuning and clusters."""

from functools import cache, partial

from nvlearn import catalog, collectives, topology, training
from nvlearn.explorers.city import GPUS, TRAFFIC, city, pattern
from nvlearn.explorers.explorer import Explorer, NumberControl, choice, drawn
from nvlearn.figures import Picture, city_map, collective_step, step_timeline, timeline
from nvlearn.i18n import words
from nvlearn.units import MIB, US, format_rate, format_time

ROADS, MACHINES = ("Gen5", "Gen4", "Gen3"), ("mesh", "full", "DGX-2", "DGX A100", "DGX H100")


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
    if name in ROADS:
        tree = topology.pcie_tree(GPUS, catalog.pcie(name).raw.one_way, name=f"PCIe {name}")
        return ByHost(tree.graph, tree.name) if state == "host" else tree
    made = city(name) if name in ("mesh", "full") else topology.system(name)
    graph, lost = made.graph.copy(), {"GPU0", "GPU3" if name in ("mesh", "full") else "NVSwitch0"}
    for a, b, link in graph.edges(data=True):
        link["capacity"] *= state == "whole" or {a, b} != lost
    return topology.Topology(graph, made.name)


@cache
def road_picture(name: str, traffic: str, state: str) -> Picture:
    """Return the map of a machine when all send what they can; of one flow also its way."""
    made = machine(name, state)
    flows = [(0, int(traffic))] if traffic.isdecimal() else pattern(traffic, made.ranks)
    loads = topology.loads(made, flows)
    way = " → ".join(made.bundles[link].target for link in made.routes(*flows[0])[0])
    return (picture := city_map(made, loads)).telling(words(
        f"roads.{state}", map=picture.description, least=format_rate(loads.rates.min(), digits=3),
        way=words("roads.way", way=way) if len(flows) == 1 else ""))


def routes_explorer() -> Explorer:
    """Return the roads of eight cards; it opens on two cards below one switch."""
    return map_explorer("routes_explorer", name=ROADS, traffic=("1", "2", "7", "next"),
                        state=("peer", "host"))


def machines_explorer() -> Explorer:
    """Return machines with NVLink under three kinds of traffic; it opens on a DGX-1."""
    return map_explorer("machines_explorer", name=MACHINES, traffic=TRAFFIC,
                        state=("whole", "broken"))


def map_explorer(section: str, **rows: tuple[str, ...]) -> Explorer:
    """Return an explorer of maps that opens on the first of each row of choices."""
    return Explorer(
        road_picture, drawn,
        [choice(section, row, rows[row], rows[row][0]) for row in rows])


PLANS: dict[str, partial[collectives.Schedule]] = {
    "ring": partial(collectives.ring_all_reduce), "swap": partial(collectives.pairwise_all_to_all),
    "half": partial(collectives.halving_doubling_all_reduce),
    "tree": partial(collectives.double_tree_all_reduce, pieces=1),
    "switch": partial(collectives.in_switch_all_reduce, pieces=1)}


def collective_explorer(ranks: int = 8) -> Explorer:
    """Return five collectives of 4 or 8 GPUs, step by step; it opens on a ring's first step."""
    steps = NumberControl("step", words("all_reduce_explorer.step"), 0, 14, 1, 1)
    return Explorer(moves, drawn, [
        choice("collective_explorer", "kind", ("ring", "tree", "half", "switch", "swap"), "ring"),
        choice("collective_explorer", "ranks", (4, 8), ranks), steps])


def moves(kind: str, ranks: int, step: int) -> Picture:
    """Draw what everyone holds after a step, or after the last; say how much GPUs send in all."""
    plan = PLANS[kind](ranks)
    sent = [(plan.source == rank).sum() / plan.chunks for rank in range(ranks)]
    return tell(collective_step(plan, min(step, len(plan.bounds) - 1)), "collective_explorer",
                most=f"{max(sent):.4g}", total=f"{sum(sent):.4g}")


def tell(picture: Picture, explorer: str, **told: object) -> Picture:
    """Return the picture with the words of an explorer after its own."""
    return picture.telling(words(f"{explorer}.sentence", picture=picture.description, **told))


def straggler_explorer() -> Explorer:
    """Return a collective of eight GPUs behind a switch over time; one has half of its links."""
    share = NumberControl("share", words("straggler_explorer.share"), 5, 100, 5, 50)
    return Explorer(straggler, drawn, [
        choice("collective_explorer", "kind", ("ring", "tree", "half", "swap"), "ring"), share])


@cache
def board(share: int) -> topology.Topology:
    """Return eight H100 behind a switch, the links of one of them at some per cent."""
    graph = topology.system("DGX H100").graph.copy()
    for *ends, data in graph.edges(data=True):
        data["capacity"] *= share / 100 if "GPU3" in ends else 1
    return topology.Topology(graph, "DGX H100")


def straggler(kind: str, share: int) -> Picture:
    """Draw when every GPU sends its part of 64 MiB, and say what the slow links cost."""
    plan = PLANS[kind](8, **({"pieces": 8} if kind == "tree" else {}))
    slow, whole = (collectives.time(plan, board(at), 64 * MIB, US) for at in (share, 100))
    return tell(timeline(slow), "straggler_explorer", share=share,
                whole=format_time(whole.seconds, 3), times=f"{slow.seconds / whole.seconds:.3g}")


PARAMETERS, COMPUTE, MICRO_STEPS = 3e9, 0.36, 4


def tuning_explorer() -> Explorer:
    """Return a step of DDP as it is before any tuning, over one that the learner tunes."""
    return Explorer(before_after, drawn, [
        choice("tuning_explorer", "link", ("pcie", "nvlink", "infiniband"), "pcie"),
        choice("tuning_explorer", "value_bytes", (4, 2), 2),
        NumberControl("bucket", words("tuning_explorer.bucket"), 1, 1000, 1, 25),
        choice("tuning_explorer", "no_sync", (False, True), False)])


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
    picture = step_timeline(rows, "overlapped", words("tuning_explorer.title", **said))
    return picture.telling(words("tuning_explorer.sentence", **said))


def cluster_explorer() -> Explorer:
    """Return servers of eight H100 with few or many railway stations; it opens on a jam."""
    return Explorer(cluster_picture, drawn, [
        choice("cluster_explorer", "traffic", ("ring", "rail", "all"), "ring"),
        choice("cluster_explorer", "nics", (1, 4, 8), 1),
        NumberControl("domains", words("cluster_explorer.domains"), 2, 4, 1, 2)])


def cluster_picture(traffic: str, nics: int, domains: int) -> Picture:
    """Draw a ring, an exchange with the next server's peers, or all to all, at one pace for all."""
    port = catalog.nic("NDR").port_rate.one_way
    made = topology.cluster(topology.system("DGX H100"), domains, port, nics=nics)
    flows = {"ring": topology.neighbour_pattern, "all": topology.all_to_all_pattern}.get(
        traffic, lambda n: [(i, (i + GPUS) % n) for i in range(n)])(made.ranks)
    return city_map(made, topology.loads(made, flows, topology.loads(made, flows).rates.min()))
