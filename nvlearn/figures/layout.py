"""Where everything stands on the city map: positions that follow from a machine's structure.

A point is a complex number (x + y j, y downwards) in the coordinates of the sheet.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import accumulate, chain, combinations, pairwise
from typing import Any, NamedTuple

import numpy as np

from nvlearn.figures.drawing import number
from nvlearn.topology import Loads, Topology

Points = tuple[complex, ...]
Box = tuple[complex, complex]
Kinds = Mapping[str, str]
LEFT, TOP, WIDE, TALL = 24.0, 78.0, 912.0, 422.0
CENTRE = complex(LEFT + WIDE / 2, TOP + TALL / 2)
BAR = 56.0
STAR, RACK, TIERS, BLOCKS = 16, 144, 32, 72
#: Rows of blocks up to a number of blocks.
ROWS = ((4, 1), (16, 2), (64, 4), (BLOCKS, 6))
#: Half the width and half the height of each kind of station, in the order of the tiers.
HALVES = {
    "nvswitch": 62 + 24j, "gpu": 24 + 22j, "pcie_switch": 30 + 12j, "host": 38 + 17j,
    "nic": 21 + 12j, "network": 464 + 14j}


class Station(NamedTuple):
    """A place on the map and the stations of the machine that it stands for."""

    kind: str
    at: complex
    half: complex
    members: Sequence[str]


@dataclass(slots=True)
class Line:
    """All links of one kind between two places; pairs of numbers are forth and back."""

    a: str
    b: str
    kind: str
    way: Points = ()
    links: int = 0
    nominal: float = 0.0
    capacity: list[float] = field(default_factory=lambda: [0.0, 0.0])
    use: list[float] = field(default_factory=lambda: [0.0, 0.0])
    width: float = 0.0


@dataclass(slots=True)
class Plan:
    """The map of a machine.

    The width of the widest line, stations by their first member, the place of every member,
    ways that are not straight, grounds; and by `survey` lines, how full the fullest link inside
    a block is, and what fills them.
    """

    broadest: float
    stations: dict[str, Station] = field(default_factory=dict)
    home: dict[str, str] = field(default_factory=dict)
    ways: dict[tuple[str, str], Points] = field(default_factory=dict)
    grounds: list[Box] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    inner: dict[str, float] = field(default_factory=dict)
    loads: Loads | None = None

    def put(self, kind: str, members: Sequence[str], at: complex, half: complex = 0j) -> None:
        """Give a station its place."""
        self.stations[members[0]] = Station(kind, at, half or HALVES[kind], members)
        self.home |= dict.fromkeys(members, members[0])

    def way(self, a: str, b: str) -> Points:
        """Return the way between two stations, from edge to edge."""
        if (a, b) not in self.ways and (b, a) not in self.ways:
            self.ways[a, b] = straight(self.stations[a], self.stations[b])
        return self.ways.get((a, b)) or self.ways[b, a][::-1]


def straight(a: Station, b: Station) -> Points:
    """Join two stations; a long one is met where the other stands, not in its middle."""
    if a.half.real > b.half.real:
        return straight(b, a)[::-1]
    q = facing(b, a.at)
    p = facing(a, q)
    return p + under(a, q - p), q + under(b, p - q)


def under(station: Station, step: complex) -> complex:
    """Return the part of a step from a station that lies under it."""
    half = station.half - 1 - 1j
    near = min(half.real, half.imag) / max(abs(step.real), 1), half.imag / max(abs(step.imag), 1)
    return step * min(0.8, *near)


def facing(station: Station, other: complex) -> complex:
    """Return the point on a station's long axis that is nearest to another place."""
    reach = max(station.half.real - station.half.imag, 0.0)
    return station.at + min(max((other - station.at).real, -reach), reach)


@lru_cache(64)
def plan(topology: Topology) -> Plan:
    """Choose the layout that makes a machine recognisable, and place everything."""
    kinds = dict(topology.fabric.nodes(data="kind"))
    switches = list(kinds.values()).count("nvswitch")
    others = set(kinds.values()) - {"gpu", "nvswitch"}
    most = STAR if switches == 1 and not others else TIERS
    if (switches or others) and (topology.ranks > most or switches > 4):
        return stack(topology, kinds)
    return (tiers if others else circles)(topology, kinds)


def parts(topology: Topology, cut: set[str], without: Sequence[str] = ()) -> list[list[str]]:
    """Return the groups that remain when kinds of lines are cut; a ring keeps its order."""
    import networkx as nx

    rank = {name: i for i, name in enumerate(topology.fabric)}
    graph = nx.Graph()
    graph.add_nodes_from(rank)
    graph.add_edges_from((ln.a, ln.b) for ln in gather(topology, None, {}) if ln.kind not in cut)
    graph.remove_nodes_from(without)
    groups = [min(group, key=rank.__getitem__) for group in nx.connected_components(graph)]
    return [list(nx.dfs_preorder_nodes(graph, first)) for first in groups]


def around(names: Sequence[str], centre: complex, radii: complex) -> dict[str, complex]:
    """Place stations on an ellipse, from the top left on (an odd number: from the top)."""
    turns = (np.arange(len(names)) - (len(names) % 2 == 0) / 2) / max(len(names), 1) - 0.25
    units = (len(names) > 1) * np.exp(2j * np.pi * turns)
    spots = centre + units.real * radii.real + 1j * units.imag * radii.imag
    return dict(zip(names, spots.tolist(), strict=True))


def circles(topology: Topology, kinds: Kinds) -> Plan:
    """Place GPUs around the interchange of their board, or around those joined directly."""
    groups = parts(topology, {"trunk"})
    rows = math.ceil(len(groups) / 4)
    columns = math.ceil(len(groups) / rows)
    size = complex(WIDE / columns, TALL / rows)
    switched, quads = "nvswitch" in kinds.values(), two_quads(topology)
    made = Plan(13.0 if switched else min(16.0, 5 + 170 / len(topology.bundles)))
    for i, group in enumerate(groups):
        column, row = i % columns + 0.5, i // columns + 0.5
        centre = complex(LEFT + column * size.real, TOP + row * size.imag)
        gpus = [name for name in group if kinds[name] == "gpu"]
        reach = 340 if switched else 150 + 14 * len(gpus)
        radii = complex(min(size.real / 2 - 52, reach), min(size.imag / 2 - 38, reach))
        for name, at in (quads or around(gpus, centre, radii)).items():
            made.put("gpu", [name], at, HALVES["gpu"] * min(1.0, 20 / len(gpus)))
        switches = [name for name in group if name not in gpus]
        for name, at in around(switches, centre, radii / 2).items():
            made.put("nvswitch", [name], at)
        if len(groups) > 1:
            made.grounds.append((centre, size / 2 - 6 - 2j))
    if quads:
        made.grounds += [(CENTRE + x, complex(164, TALL / 2)) for x in (-240, 240)]
    return made


def two_quads(topology: Topology) -> dict[str, complex]:
    """Place two full quads that are joined corner to corner; nothing if there are none."""
    near = {gpu: set(topology.fabric[gpu]) for gpu in topology.gpus}
    # Of eight with four neighbours each: if four are a full quad, so are the others.
    fit = topology.ranks == 8 and all(len(joined) == 4 for joined in near.values())
    for quad in combinations(topology.gpus, 4) if fit else ():
        if all(near[gpu] > {*quad} - {gpu} for gpu in quad):
            partners = [(near[gpu] - {*quad}).pop() for gpu in quad]
            corners = [-352 - 164j, -128 - 80j, -128 + 80j, -352 + 164j]
            spots = [CENTRE + c for c in corners] + [CENTRE - c.conjugate() for c in corners]
            return dict(zip((*quad, *partners), spots, strict=True))
    return {}


def joints(topology: Topology, kinds: Kinds) -> list[str]:
    """Return what joins whole domains: the network, the switches above switches, or the one."""
    switches = [name for name, kind in kinds.items() if kind == "nvswitch"]
    spines = [n for n in switches if not any(kinds[m] == "gpu" for m in topology.fabric[n])]
    rail = [name for name, kind in kinds.items() if kind == "network"]
    return rail or spines or switches[: len(switches) == 1]


def stack(topology: Topology, kinds: Kinds) -> Plan:
    """Stack the GPUs of a rack, or whole domains as blocks, on both sides of what joins them."""
    hubs = joints(topology, kinds)
    cut = {"socket"} if "network" in kinds.values() else {"socket", "trunk"}
    units = parts(topology, cut, hubs)
    racked = len(units) + len(hubs) == len(kinds) and len(units) <= RACK
    if racked:
        rows = math.ceil(len(units) / (4 if len(units) <= 72 else 8))
    else:
        per = math.ceil(len(units) / 32) if len(units) > BLOCKS else 1
        units = [[*chain(*units[i : i + per])] for i in range(0, len(units), per)]
        rows = next(rows for most, rows in ROWS if len(units) <= most)
    columns = math.ceil(len(units) / rows)
    wide, bar = (680.0, 340 + 20j) if racked else (WIDE - 24, HALVES["network"])
    size = complex(min(wide / columns, 340.0), (TALL - BAR) / rows)
    half = complex(size.real * 0.4, size.imag * 0.5 - 6)
    if racked:
        half = complex(size.real * 0.15, min(12.0, size.imag / 2 - 1.6))
    made, above = Plan(3.4 if racked else 8.0), (rows + 1 + racked) // 2
    centre = complex(CENTRE.real, TOP + above * size.imag + BAR / 2)
    if hubs:
        made.put(kinds[hubs[0]], hubs, centre, bar)
    left, free = centre.real - (columns / 2 - 0.04) * size.real, size.real * 0.96 - 2 * half.real
    for i, members in enumerate(units):
        away = i // columns - above + 0.5
        side = math.copysign(1, away)
        at = complex(left + i % columns * size.real + half.real,
                     centre.imag + side * BAR / 2 + away * size.imag)
        made.put("gpu" if racked else "block", members, at, half)
        if hubs and (racked or abs(away) > 1):
            turn = at + half.real + free * abs(away) / above
            end = complex(turn.real, centre.imag + side * bar.imag)
            made.ways[members[0], hubs[0]] = (at + half.real, turn, end)
        if racked and not i % columns:
            made.grounds.append((complex(centre.real, at.imag), bar.real + size.imag * 0.5j - 0.6j))
    return made


def slots(topology: Topology, kinds: Kinds) -> tuple[float, dict[str, float]]:
    """Return the pitch and the x of GPUs in one row, with a gap between cities or sockets."""
    cut = {"network"} if "network" in kinds.values() else {"nvlink", "trunk", "socket"}
    group = {name: i for i, names in enumerate(parts(topology, cut)) for name in names}
    steps = [1 if group[a] == group[b] else 1.7 for a, b in pairwise(topology.gpus)]
    places = list(accumulate(steps, initial=0.0))
    pitch = min(150.0, WIDE / (places[-1] + 1))
    left = CENTRE.real - pitch * places[-1] / 2
    return pitch, {g: left + pitch * p for g, p in zip(topology.gpus, places, strict=True)}


def tiers(topology: Topology, kinds: Kinds) -> Plan:
    """Place GPUs in one row: interchanges and direct lines above, roads and rail below."""
    made, (pitch, x) = Plan(10.0), slots(topology, kinds)
    rows = {kind: [name for name in kinds if kinds[name] == kind]
            for kind in HALVES if kind in kinds.values()}
    pairs = [(a, b) for kind in ("gpu", "host") for a, b in combinations(rows.get(kind, ()), 2)
             if topology.fabric.has_edge(a, b)]
    spans = [x[b] - x[a] for a, b in pairs if a in x]
    head = TOP + (rise(max(spans)) + 60 if spans else 30)
    foot = TOP + TALL - (16 if "network" in rows else 50)
    levels = dict(zip(rows, np.linspace(head, foot, len(rows)), strict=True))
    for kind in sorted(rows, key=lambda kind: kind != "gpu"):
        half = complex(min(HALVES[kind].real, max(0.43 * pitch, 6)), HALVES[kind].imag)
        for name in rows[kind]:
            near = [x[n] for n in topology.fabric[name] if n in x and kinds[n] != kind]
            middle = sum(near) / len(near) if near and kind != "network" else CENTRE.real
            at = complex(x.setdefault(name, middle), levels[kind])
            made.put(kind, [name], at, half if kind in ("gpu", "nic") else HALVES[kind])
    made.ways = {(a, b): arc(made.stations[a], made.stations[b]) for a, b in pairs
                 if kinds[a] == "gpu" or rows["host"].index(b) - rows["host"].index(a) > 1}
    return made


def rise(span: float) -> float:
    """Return the height of an arc."""
    return min(140.0, 14 + 0.3 * span)


def arc(a: Station, b: Station) -> Points:
    """Join two stations of a row by half an ellipse: GPUs above the row, others below it."""
    span = (b.at - a.at).real
    reach = span / 2 - a.half.real * max(0.1, 0.8 - span / 600)
    height, foot = (rise(span), -a.half.imag) if a.kind == "gpu" else (-30.0, a.half.imag)
    units = np.exp(1j * np.linspace(math.pi, 0, 25))
    return tuple((a.at + b.at) / 2 + units.real * reach + 1j * (foot - units.imag * height))


def gather(topology: Topology, loads: Loads | None, home: Mapping[str, str]) -> list[Line]:
    """Merge bundles of one kind between two places; `home` tells which stations share a place."""
    kinds = dict(topology.fabric.nodes(data="kind"))
    found: dict[tuple[str, str, str], Line] = {}
    use = loads.utilisation.tolist() if loads else [0.0] * len(topology.bundles)
    for bundle, share in zip(topology.bundles, use, strict=True):
        source, target = bundle.source, bundle.target
        kind = "trunk" if kinds[source] == kinds[target] == "nvswitch" else bundle.kind
        a, b = home.get(source, source), home.get(target, target)
        back = (b, a, kind) in found
        key = (b, a, kind) if back else (a, b, kind)
        line = found[key] = found.get(key) or Line(*key)
        line.capacity[back] += bundle.capacity
        line.use[back] = max(line.use[back], share)
        if not back:
            line.links += bundle.links
            line.nominal += bundle.nominal
    return list(found.values())


def survey(topology: Topology, loads: Loads | None) -> Plan:
    """Return the plan of a machine with its lines, filled by loads."""
    made = plan(topology)
    found = gather(topology, loads, made.home)
    lines = [line for line in found if line.a != line.b]
    widest = max((line.nominal for line in lines), default=1.0)
    for line in lines:
        line.way = made.way(line.a, line.b)
        line.width = max(2.0, made.broadest * line.nominal / widest)
    inside = sorted((max(line.use), line.a) for line in found if line.a == line.b)
    fullest = {name: use for use, name in inside}
    return replace(made, lines=lines, inner=fullest, loads=loads)


@lru_cache(8192)
def path(way: Points, by: float = 0.0) -> str:
    """Return path data of a way, moved to the right of travel; the same ways come up often."""
    if by:
        ends = zip((way[0], *way), (*way[1:], way[-1]), strict=False)
        turns = [(after - before) or 1 for before, after in ends]
        way = tuple(p + t / abs(t) * by * 1j for p, t in zip(way, turns, strict=False))
    return "M" + "L".join(f"{number(p.real)} {number(p.imag)}" for p in way)


@lru_cache(2048)
def cloud(way: Points) -> Any:
    """Return points close together along a way as small boxes: their centres, their half sizes."""
    share = np.linspace(0, 1, max(48 // (len(way) - 1), 3))
    points = np.concatenate([a + share * (b - a) for a, b in pairwise(way)])
    return np.stack([points, np.full(len(points), 3 + 3j)])
