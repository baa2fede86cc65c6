"""Where everything stands on the city map: positions that follow from a machine's structure.

A point is a complex number (x + y j, y downwards) in the coordinates of the sheet.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain, combinations
from typing import NamedTuple

import numpy as np

from nvlearn.figures.drawing import Points
from nvlearn.topology import Loads, Topology

LEFT, TOP, WIDE, TALL, BAR = 24.0, 78.0, 912.0, 422.0, 56.0
CENTRE = complex(LEFT + WIDE / 2, TOP + TALL / 2)
#: Most GPUs of which each has a place in a tier or circle, most in a rack; most blocks.
TIERS, RACK, BLOCKS = 32, 72, 32
#: Half the width and half the height of each kind of station, in the order of the tiers.
HALVES = {"nvswitch": 70 + 22j, "gpu": 24 + 22j, "pcie_switch": 30 + 12j, "host": 38 + 17j,
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

    def directions(self) -> Iterator[tuple[Points, float, float]]:
        """Return way, capacity and use, forth and back."""
        return zip((self.way, self.way[::-1]), self.capacity, self.use, strict=True)


@dataclass(slots=True)
class Plan:
    """The width of the widest line, stations by their first member, ways that are not straight."""

    broadest: float
    stations: dict[str, Station] = field(default_factory=dict)
    ways: dict[tuple[str, str], Points] = field(default_factory=dict)

    def put(self, kind: str, members: Sequence[str], at: complex, half: complex = 0j) -> None:
        """Give a station its place."""
        self.stations[members[0]] = Station(kind, at, half or HALVES[kind], members)

    def way(self, a: str, b: str) -> Points:
        """Return the way between two stations; both ends lie under them."""
        if (b, a) in self.ways:
            return self.ways[b, a][::-1]
        return self.ways.get((a, b)) or straight(self.stations[a], self.stations[b])


def straight(a: Station, b: Station) -> Points:
    """Join two stations; a long one is met where the other stands, not in its middle."""
    if a.half.real > b.half.real:
        return straight(b, a)[::-1]
    reach = max(b.half.real - b.half.imag, 0.0)
    return a.at, b.at + min(max((a.at - b.at).real, -reach), reach)


@lru_cache(64)
def plan(topology: Topology) -> Plan:
    """Choose the layout that makes a machine recognisable, and place everything."""
    kinds = dict(topology.fabric.nodes(data="kind"))
    switches = list(kinds.values()).count("nvswitch")
    others = set(kinds.values()) - {"gpu", "nvswitch"}
    if (switches or others) and (topology.ranks > TIERS or switches > 4):
        return stack(topology, kinds)
    return (tiers if others else circles)(topology, kinds)


def parts(topology: Topology, cut: set[str], without: Sequence[str] = ()) -> list[list[str]]:
    """Return the groups of stations that remain when kinds of lines are cut."""
    import networkx as nx

    graph = topology.fabric.to_undirected()
    graph.remove_edges_from([(ln.a, ln.b) for ln in gather(topology, None, {}) if ln.kind in cut])
    graph.remove_nodes_from(without)
    return [[n for n in graph if n in group] for group in nx.connected_components(graph)]


def around(names: Sequence[str], centre: complex, radii: complex) -> dict[str, complex]:
    """Place stations on an ellipse, from the top left on (an odd number: from the top)."""
    turns = (np.arange(len(names)) - (len(names) % 2 == 0) / 2) / max(len(names), 1) - 0.25
    units = (len(names) > 1) * np.exp(2j * np.pi * turns)
    return {name: centre + complex(unit.real * radii.real, unit.imag * radii.imag)
            for name, unit in zip(names, units.tolist(), strict=True)}


def circles(topology: Topology, kinds: dict[str, str]) -> Plan:
    """Place GPUs around the interchange of their board, or around those joined directly."""
    groups, quads = parts(topology, {"trunk"}), two_quads(topology)
    wide = WIDE / len(groups)
    radii = complex(min(wide / 2 - 52, 280.0), TALL / 2 - 38)
    made = Plan(10.0)
    for i, group in enumerate(groups):
        centre = complex(LEFT + (i + 0.5) * wide, CENTRE.imag)
        gpus = [name for name in group if kinds[name] == "gpu"]
        switches = [name for name in group if name not in gpus]
        small = HALVES["gpu"] * min(1.0, 20 / len(gpus))
        spots = around(gpus, centre, radii) | around(switches, centre, radii / 2) | quads
        for name, at in spots.items():
            made.put(kinds[name], [name], at, small if name in gpus else 0j)
    return made


def two_quads(topology: Topology) -> dict[str, complex]:
    """Place two full quads that are joined corner to corner; nothing if there are none."""
    gpus, near = topology.gpus, topology.fabric.adj
    across = [name for gpu in gpus[:4] for name in near[gpu] if name not in gpus[:4]]
    # Four neighbours each, four lines across to four others: both halves are full quads.
    if len(gpus) != 8 or len(across) != 4 or any(len(near[gpu]) != 4 for gpu in gpus):
        return {}
    corners = [-352 - 164j, -128 - 80j, -128 + 80j, -352 + 164j]
    spots = [CENTRE + c for c in corners] + [CENTRE - c.conjugate() for c in corners]
    return dict(zip((*gpus[:4], *across), spots, strict=True))


def stack(topology: Topology, kinds: dict[str, str]) -> Plan:
    """Stack the GPUs of a rack, or whole domains as blocks, on both sides of what joins them."""
    switches = [name for name, kind in kinds.items() if kind == "nvswitch"]
    spines = [n for n in switches if not any(kinds[m] == "gpu" for m in topology.fabric[n])]
    rail = [name for name, kind in kinds.items() if kind == "network"]
    hubs = rail or spines or switches[: len(switches) == 1]
    cut = {"socket"} if rail else {"socket", "trunk"}
    units = parts(topology, cut, hubs)
    racked = len(units) + len(hubs) == len(kinds) and len(units) <= RACK
    if not racked:
        each = math.ceil(len(units) / BLOCKS)
        units = [[*chain(*units[i : i + each])] for i in range(0, len(units), each)]
    rows = math.ceil(len(units) / 4) if racked else 2 * math.ceil(len(units) / 16)
    columns, above = math.ceil(len(units) / rows), rows // 2 + racked
    size = complex(min(WIDE / columns, 340.0), (TALL - BAR) / rows)
    half = complex(size.real * (0.15 if racked else 0.4), size.imag * 0.42)
    made = Plan(3.4 if racked else 6.0)
    centre = complex(CENTRE.real, TOP + above * size.imag + BAR / 2)
    if hubs:
        made.put(kinds[hubs[0]], hubs, centre, HALVES["network"])
    for i, members in enumerate(units):
        row, column = i // columns - above + 0.5, i % columns - columns / 2
        x = (column + 0.03) * size.real + half.real
        at = centre + complex(x, row * size.imag + math.copysign(BAR / 2, row))
        made.put("gpu" if racked else "block", members, at, half)
        if hubs:
            turn = at + half.real + (0.95 * size.real - 2 * half.real) * abs(row) / above
            made.ways[members[0], hubs[0]] = (at, turn, complex(turn.real, centre.imag))
    return made


def tiers(topology: Topology, kinds: dict[str, str]) -> Plan:
    """Place GPUs in one row: interchanges and direct lines above, roads and rail below.

    There is a gap between cities or, in one machine, between sockets.
    """
    made, rail = Plan(10.0), "network" in kinds.values()
    groups = parts(topology, {"network"} if rail else {"nvlink", "trunk", "socket"})
    row = [(gap, n) for gap, group in enumerate(groups) for n in group if kinds[n] == "gpu"]
    whole = len(row) + 0.7 * row[-1][0]
    pitch = min(150.0, WIDE / whole)
    left = CENTRE.real - pitch * (whole - 1) / 2
    x = {name: left + pitch * (i + 0.7 * gap) for i, (gap, name) in enumerate(row)}
    rows = {kind: [name for name in kinds if kinds[name] == kind]
            for kind in HALVES if kind in kinds.values()}
    hosts = rows.get("host", [])
    pairs = [*combinations(x, 2), *((a, b) for i, a in enumerate(hosts) for b in hosts[i + 2 :])]
    pairs = [pair for pair in pairs if topology.fabric.has_edge(*pair)]
    head = TOP + max((rise(x[b] - x[a]) + 60 for a, b in pairs if a in x), default=30.0)
    levels = np.linspace(head, TOP + TALL - 46, len(rows)).tolist()
    for (kind, names), y in zip(rows.items(), levels, strict=True):
        most = 0.43 * pitch if kind in ("gpu", "nic") else WIDE
        half = complex(min(HALVES[kind].real, most), HALVES[kind].imag)
        for name in names:
            near = [x[n] for n in topology.fabric[name] if n in x and kinds[n] != kind]
            middle = sum(near) / len(near) if near and kind != "network" else CENTRE.real
            made.put(kind, [name], complex(x.setdefault(name, middle), y), half)
    made.ways = {(a, b): arc(made.stations[a], made.stations[b]) for a, b in pairs}
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


def survey(topology: Topology, loads: Loads | None) -> list[Line]:
    """Return the lines of a machine where its plan has them, filled by loads."""
    made = plan(topology)
    home = {member: name for name, s in made.stations.items() for member in s.members}
    lines = [line for line in gather(topology, loads, home) if line.a != line.b]
    widest = max((line.nominal for line in lines), default=1.0)
    for line in lines:
        line.way = made.way(line.a, line.b)
        line.width = max(2.0, made.broadest * line.nominal / widest)
    return lines
