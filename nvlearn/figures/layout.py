"""Where everything stands on the city map: positions that follow from a machine's structure.

A point is a complex number (x + y j, y downwards) in the coordinates of the sheet.
"""

import cmath
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain, combinations, pairwise
from typing import Any, NamedTuple

import numpy as np

from nvlearn.figures.drawing import number
from nvlearn.topology import Bundle, Loads, Topology

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
    members: tuple[str, ...] = ()


@dataclass(slots=True)
class Plan:
    """The widest line, stations by name, ways that are not straight, grounds (corner, size)."""

    broadest: float
    stations: dict[str, Station] = field(default_factory=dict)
    ways: dict[tuple[str, str], Points] = field(default_factory=dict)
    grounds: list[tuple[complex, complex]] = field(default_factory=list)

    def put(self, kind: str, spots: Mapping[str, complex], half: complex = 0j) -> None:
        """Give stations of one kind their places."""
        for name, at in spots.items():
            self.stations[name] = Station(kind, at, half or HALVES[kind], (name,))

    def way(self, a: str, b: str) -> Points:
        """Return the way between two stations, from edge to edge."""
        if (a, b) not in self.ways and (b, a) not in self.ways:
            self.ways[a, b] = straight(self.stations[a], self.stations[b])
        return self.ways.get((a, b)) or self.ways[b, a][::-1]


@dataclass(slots=True)
class Line:
    """All links of one kind between two places of the map; pairs of numbers are forth and back."""

    a: str
    b: str
    kind: str
    way: Points
    links: int = 0
    nominal: float = 0.0
    capacity: list[float] = field(default_factory=lambda: [0.0, 0.0])
    use: list[float] = field(default_factory=lambda: [0.0, 0.0])
    width: float = 0.0


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
    if not others and switches < 2:
        crowd = (topology.ranks > STAR) + (topology.ranks > RACK) if switches else 0
        return (circles, rack, blocks)[crowd](topology, kinds)
    if topology.ranks > TIERS or switches > 4:
        return blocks(topology, kinds)
    return (tiers if others else circles)(topology, kinds)


def parts(
    topology: Topology, names: Iterable[str], joins: Callable[[Bundle], bool] = lambda _: True
) -> list[list[str]]:
    """Return the groups of stations that some links join; a ring keeps its order."""
    import networkx as nx

    rank = {name: i for i, name in enumerate(names)}
    graph = nx.Graph()
    graph.add_nodes_from(rank)
    graph.add_edges_from((b.source, b.target) for b in topology.bundles
                         if b.source in rank and b.target in rank and joins(b))
    groups = [min(group, key=rank.__getitem__) for group in nx.connected_components(graph)]
    return [list(nx.dfs_preorder_nodes(graph, first)) for first in groups]


def around(names: Sequence[str], centre: complex, radii: complex) -> dict[str, complex]:
    """Place stations on an ellipse, from the top left on (an odd number: from the top)."""
    turn = 2 * math.pi / max(len(names), 1)
    start = -math.pi / 2 - (0 if len(names) % 2 else turn / 2)
    units = [cmath.rect(len(names) > 1, start + i * turn) for i in range(len(names))]
    return {name: centre + complex(u.real * radii.real, u.imag * radii.imag)
            for name, u in zip(names, units, strict=True)}


def circles(topology: Topology, kinds: Kinds) -> Plan:
    """Place GPUs around the interchange of their board, or around those joined directly."""
    near = topology.fabric.adj
    boards = {n: [g for g in topology.gpus if g in near[n]]
              for n, kind in kinds.items() if kind == "nvswitch"}
    alone = [g for g in topology.gpus if not any(g in board for board in boards.values())]
    groups = [*boards.values(), *parts(topology, alone)]
    rows = math.ceil(len(groups) / 4)
    columns = math.ceil(len(groups) / rows)
    size = complex(WIDE / columns, TALL / rows)
    made = Plan(13.0 if boards else min(16.0, 5 + 170 / len(topology.bundles)))
    quads = two_quads(topology)
    for i, group in enumerate(groups):
        corner = complex(LEFT + i % columns * size.real, TOP + i // columns * size.imag)
        reach = 340 if boards else 150 + 14 * len(group)
        radii = complex(min(size.real / 2 - 52, reach), min(size.imag / 2 - 38, reach))
        spots = quads or around(group, corner + size / 2, radii)
        made.put("gpu", spots, HALVES["gpu"] * min(1.0, 20 / max(len(group), 1)))
        if i < len(boards):
            made.put("nvswitch", {list(boards)[i]: corner + size / 2})
        if len(groups) > 1:
            made.grounds.append((corner + 6 + 2j, size - 12 - 4j))
    if quads:
        made.grounds += [(x + TOP * 1j, 328 + TALL * 1j) for x in (LEFT + 52, LEFT + 532)]
    return made


def two_quads(topology: Topology) -> dict[str, complex]:
    """Place two full quads that are joined corner to corner; nothing if there are none."""
    near = {gpu: set(topology.fabric[gpu]) for gpu in topology.gpus}
    for half in combinations(topology.gpus, 4) if topology.ranks == 8 else ():
        one, other = set(half), set(near) - set(half)
        full = all(side - {n} <= near[n] for side in (one, other) for n in side)
        partners = [n for corner in half for n in near[corner] & other]
        if full and set(partners) == other and len(partners) == 4:
            corners = [-352 - 164j, -128 - 80j, -128 + 80j, -352 + 164j]
            spots = [CENTRE + c for c in corners] + [CENTRE - c.conjugate() for c in corners]
            return dict(zip((*half, *partners), spots, strict=True))
    return {}


def rack(topology: Topology, kinds: Kinds) -> Plan:
    """Stack trays of GPUs above and below the switch trays; each GPU has a cable of its own."""
    made, wide = Plan(3.4), 4 if topology.ranks <= 72 else 8
    trays = math.ceil(topology.ranks / wide)
    size = complex(680 / wide, (TALL - BAR) / trays)
    half = complex(size.real * 0.15, min(12.0, size.imag / 2 - 1.6))
    switches = [name for name, kind in kinds.items() if kind == "nvswitch"]
    gpus = [("gpu", [gpu]) for gpu in topology.gpus]
    stack(made, gpus, switches, "nvswitch", (wide, (trays + 2) // 2), size, half, 340 + 20j)
    for at in [s.at for s in made.stations.values() if s.kind == "gpu"][::wide]:
        corner = complex(140, at.imag - size.imag / 2 + 0.6)
        made.grounds.append((corner, complex(680, size.imag - 1.2)))
    return made


def blocks(topology: Topology, kinds: Kinds) -> Plan:
    """Draw each domain or board as one block, on both sides of what joins them."""
    near, rail = topology.fabric.adj, [n for n, kind in kinds.items() if kind == "network"]
    switches = [name for name, kind in kinds.items() if kind == "nvswitch"]
    spines = [n for n in switches if not any(kinds[m] == "gpu" for m in near[n])]
    hubs = rail or spines or switches[: len(switches) == 1]
    trunk = set() if rail else {"nvswitch"}
    groups = parts(topology, (name for name in kinds if name not in hubs), lambda b:
                   b.kind != "socket" and {kinds[b.source], kinds[b.target]} != trunk)
    per = math.ceil(len(groups) / 32) if len(groups) > BLOCKS else 1
    merged = [("block", [*chain(*groups[i : i + per])]) for i in range(0, len(groups), per)]
    rows = next(rows for most, rows in ROWS if len(merged) <= most)
    columns = math.ceil(len(merged) / rows)
    size = complex(min((WIDE - 24) / columns, 340.0), (TALL - BAR) / rows)
    half = complex(size.real * 0.4, size.imag * 0.5 - 6)
    made, kind = Plan(8.0), "network" if rail else "nvswitch"
    stack(made, merged, hubs, kind, (columns, (rows + 1) // 2), size, half, HALVES["network"])
    return made


def stack(
    made: Plan, units: Sequence[tuple[str, list[str]]], hubs: Sequence[str], hub: str,
    grid: tuple[int, int], size: complex, half: complex, bar: complex,
) -> None:
    """Place units in a grid of columns and rows, a bar after so many rows, and lead them to it."""
    columns, above = grid
    left = CENTRE.real - columns * size.real / 2 + size.real * 0.04
    centre = complex(CENTRE.real, TOP + above * size.imag + BAR / 2)
    if hubs:
        made.stations[hubs[0]] = Station(hub, centre, bar, tuple(hubs))
    for i, (kind, members) in enumerate(units):
        row, column = divmod(i, columns)
        far, side = (above - row, -bar.imag) if row < above else (row - above + 1, bar.imag)
        foot = 0.0 if row < above else BAR
        at = complex(left + column * size.real + half.real, TOP + foot + (row + 0.5) * size.imag)
        made.stations[members[0]] = Station(kind, at, half, tuple(members))
        free = size.real * 0.96 - 2 * half.real
        turn = at + half.real + free * (far - 0.5) / above
        if hubs and (far > 1 or kind == "gpu"):
            end = complex(turn.real, centre.imag + side)
            made.ways[members[0], hubs[0]] = (at + half.real, turn, end)


def slots(topology: Topology, kinds: Kinds) -> tuple[float, dict[str, float]]:
    """Return the pitch and the x of GPUs in one row, with a gap between cities or sockets."""
    local = ("nvlink", "pcie", "socket") if "network" in kinds.values() else ("pcie",)
    groups = parts(topology, kinds, lambda bundle: bundle.kind in local)
    group = {name: i for i, names in enumerate(groups) for name in names}
    places = [0.0]
    for a, b in pairwise(topology.gpus):
        places.append(places[-1] + (1 if group[a] == group[b] else 1.7))
    pitch = min(150.0, WIDE / (places[-1] + 1))
    left = CENTRE.real - pitch * places[-1] / 2
    return pitch, {g: left + pitch * p for g, p in zip(topology.gpus, places, strict=True)}


def tiers(topology: Topology, kinds: Kinds) -> Plan:
    """Place GPUs in one row: interchanges and direct lines above, roads and rail below."""
    made, (pitch, x) = Plan(10.0), slots(topology, kinds)
    rows = [kind for kind in HALVES if kind in kinds.values()]
    order = {name: i for i, name in enumerate(kinds)}
    arcs = [(b.source, b.target) for b in topology.bundles
            if order[b.source] < order[b.target] and kinds[b.source] == kinds[b.target]
            and kinds[b.source] in ("gpu", "host")]
    hosts = [name for name, kind in kinds.items() if kind == "host"]
    spans = [abs(x[a] - x[b]) for a, b in arcs if a in x]
    head = TOP + (rise(max(spans)) + 60 if spans else 30)
    drop = (TOP + TALL - (16 if rows[-1] == "network" else 50) - head) / max(len(rows) - 1, 1)
    for kind in sorted(rows, key=lambda kind: kind != "gpu"):
        half = complex(min(HALVES[kind].real, max(0.43 * pitch, 6)), HALVES[kind].imag)
        for name in (name for name in kinds if kinds[name] == kind):
            near = [x[n] for n in topology.fabric[name] if n in x and kinds[n] != kind]
            middle = sum(near) / len(near) if near and kind != "network" else CENTRE.real
            at = complex(x.setdefault(name, middle), head + rows.index(kind) * drop)
            made.put(kind, {name: at}, half if kind in ("gpu", "nic") else 0j)
    made.ways = {(a, b): arc(made.stations[a], made.stations[b]) for a, b in arcs
                 if kinds[a] == "gpu" or hosts.index(b) - hosts.index(a) > 1}
    return made


def rise(span: float) -> float:
    """Return the height of an arc."""
    return min(140.0, 14 + 0.3 * span)


def arc(a: Station, b: Station) -> Points:
    """Join two stations of a row by half an ellipse: GPUs above the row, others below it."""
    span = (b.at - a.at).real
    shift = a.half.real * max(0.1, 0.8 - span / 600)
    height, foot = (rise(span), -a.half.imag) if a.kind == "gpu" else (-30.0, a.half.imag)
    units = [cmath.rect(1, math.pi * (1 - i / 24)) for i in range(25)]
    return tuple((a.at + b.at) / 2 + complex(u.real * (span / 2 - shift), foot - u.imag * height)
                 for u in units)


def survey(
    topology: Topology, plan: Plan, loads: Loads | None
) -> tuple[list[Line], dict[str, float]]:
    """Merge bundles into the lines of the map; return also the fullest link inside each block."""
    home = {member: name for name, s in plan.stations.items() for member in s.members}
    found: dict[tuple[str, str, str], Line] = {}
    inner = {name: 0.0 for name, s in plan.stations.items() if s.kind == "block"}
    use = loads.utilisation.tolist() if loads else [0.0] * len(topology.bundles)
    for bundle, share in zip(topology.bundles, use, strict=True):
        a, b = home.get(bundle.source), home.get(bundle.target)
        if a is None or b is None or a == b:
            inner |= {a: max(share, inner[a])} if a in inner else {}
            continue
        between = {plan.stations[a].kind, plan.stations[b].kind} <= {"nvswitch", "block"}
        kind = "trunk" if between and bundle.kind == "nvlink" else bundle.kind
        back = (b, a, kind) in found
        key = (b, a, kind) if back else (a, b, kind)
        line = found[key] = found.get(key) or Line(*key, plan.way(a, b))
        line.capacity[back] += bundle.capacity
        line.use[back] = max(line.use[back], share)
        line.links += 0 if back else bundle.links
        line.nominal += 0.0 if back else bundle.nominal
    widest = max((line.nominal for line in found.values()), default=1.0)
    for line in found.values():
        line.width = max(2.0, plan.broadest * line.nominal / widest)
    return list(found.values()), inner


def path(points: Sequence[complex], by: float = 0.0) -> str:
    """Return path data of a way, moved to the right of travel."""
    return written(tuple(points), by)


@lru_cache(8192)
def written(points: Points, by: float) -> str:
    """Write path data once for a way that is drawn again and again."""
    if by:
        ends = zip([points[0], *points], [*points[1:], points[-1]], strict=False)
        turns = [(after - before) or 1 for before, after in ends]
        points = tuple(p + t / abs(t) * by * 1j for p, t in zip(points, turns, strict=False))
    return "M" + "L".join(f"{number(p.real)} {number(p.imag)}" for p in points)


@lru_cache(2048)
def cloud(way: Points) -> Any:
    """Return points close together along a way."""
    share = np.linspace(0, 1, max(48 // (len(way) - 1), 3))
    return np.concatenate([a + share * (b - a) for a, b in pairwise(way)])


def within(points: Any, at: complex, half: complex) -> Any:
    """Return which points lie in a box."""
    away = np.asarray(points) - at
    return (abs(away.real) < half.real) & (abs(away.imag) < half.imag)


def room(own: Any, others: Any, taken: Sequence[Box], half: complex) -> complex | None:
    """Return the place on a way where a sign hides nothing else."""
    for part in (0.5, 0.36, 0.64, 0.26, 0.74):
        at, wide = complex(own[int(part * len(own))]), half + 2 + 2j
        free = all(abs((p - at).real) > (size + wide).real or abs((p - at).imag) >
                   (size + wide).imag for p, size in taken)
        if free and not within(others, at, wide + 1 + 1j).any():
            return at
    return None


@lru_cache(4096)
def pieces(way: Points, hidden: Box | None) -> list[Points]:
    """Return a way without the part that lies under a box."""
    if not hidden:
        return [way]
    points = cloud(way)
    under = [*np.flatnonzero(within(points, *hidden)), len(points)]
    ends = tuple(points[: under[0]]), tuple(points[under[-2] + 1 :])
    return [end if len(way) > 2 else (end[0], end[-1]) for end in ends if len(end) > 1]
