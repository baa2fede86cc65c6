"""The map of a machine: factories, maglev lines, roads, interchanges and the railway."""

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from nvlearn.figures import layout, style
from nvlearn.figures.drawing import Drawing, number, text_width
from nvlearn.figures.layout import Box, Line, Plan, Station, cloud, path, pieces, room
from nvlearn.figures.picture import Picture
from nvlearn.i18n import words
from nvlearn.topology import Loads, Topology, all_to_all_pattern, neighbour_pattern
from nvlearn.units import GB, format_rate

WIDTH, HEIGHT, FOOT = 960.0, 600.0, 526.0
BUSY, FULL = 0.6, 0.95
#: Distance of trains (px) and their share of the free speed: free, filling, full.
TRAFFIC = ((54, 1.0), (32, 0.6), (18, 0.25))
#: Lines of more links than this are one band; a map of more lines than this has no signs.
MOST_TRACKS, MOST_SIGNS = 4, 60
WAYS = {
    **style.WAYS, "trunk": style.WAYS["nvlink"], "socket": style.WAYS["pcie"],
    "pcie_switch": style.WAYS["pcie"], "host": style.WAYS["pcie"],
    "network": style.WAYS["infiniband"], "nic": style.WAYS["infiniband"]}
MOVING = (
    "@media (prefers-reduced-motion:no-preference){.nv-city-train{animation:nv-city-go 1s linear "
    "infinite}}@keyframes nv-city-go{to{stroke-dashoffset:var(--nv-city-end)}}")
KINDS = ("socket", "network", "trunk", "pcie", "nvlink")


def city_map(
    topology: Topology, loads: Loads | None = None, *, title: str | None = None,
    highlight: Collection[int | tuple[int, int]] = (),
) -> Picture:
    """Draw a machine; `loads` fills its lines, `highlight` frames GPUs and marks pairs of them."""
    plan = layout.plan(topology)
    lines, inner = layout.survey(topology, plan, loads)
    told = findings(topology, lines, loads)
    sheet = Drawing(WIDTH, HEIGHT)
    for corner, size in plan.grounds:
        box(sheet, (corner + size / 2, size / 2), style.GROUND, rx=8)
    for line in lines:
        bed(sheet, line, loads is not None)
    legend(sheet, lines, inner, loads is not None)
    sheet.layer()
    sheet.heading(title or told["title"], told["subtitle"])
    signs = fill(sheet, plan, lines) if loads else {}
    sheet.layer()
    buildings(sheet, topology, plan, inner)
    mark(sheet, topology, plan, highlight)
    sheet.layer()
    trains(sheet, lines, signs, loads is not None)
    places = {name: (s.at.real, s.at.imag) for name, s in plan.stations.items()}
    return sheet.picture(told["sentence"], stations=places, lines=lines, inner=inner)


def level(use: float) -> int:
    """Return 0 for free, 1 for filling, 2 for full."""
    return (use > BUSY) + (use >= FULL)


def box(sheet: Drawing, place: Box, paint: str, **more: Any) -> None:
    """Draw a rectangle given by its centre and its half size."""
    (corner, size) = place[0] - place[1], 2 * place[1]
    sheet.rect(corner.real, corner.imag, size.real, size.imag, paint, **more)


def bed(sheet: Drawing, line: Line, loaded: bool) -> None:
    """Draw a line as it was built and, on a map without loads, what works: tracks while few."""
    left = min(line.capacity) / line.nominal
    if loaded or left < 1:
        sheet.path(path(line.way), stroke=WAYS[line.kind].tint, stroke_width=line.width + 1.5)
    if not left:
        a, b = line.way[(len(line.way) - 1) // 2], line.way[len(line.way) // 2]
        cross(sheet, (a + b) / 2)
    elif not loaded:
        tracks = line.links if line.links <= min(MOST_TRACKS, line.width / 1.5) else 1
        each = line.width * left / tracks
        shifts = [(i - (tracks - 1) / 2) * (each + 2.5) for i in range(tracks)]
        sheet.path("".join(path(line.way, by) for by in shifts), stroke=WAYS[line.kind].fill,
                   stroke_width=each, stroke_dasharray=WAYS[line.kind].dash)


def cross(sheet: Drawing, at: complex) -> None:
    """Mark a line that is out of order."""
    sheet.path(f"{path([at - 7 - 7j])}l14 14m0 -14l-14 14", stroke=style.JAM, stroke_width=3.5)


def fill(sheet: Drawing, plan: Plan, lines: Sequence[Line]) -> dict[int, Box]:
    """Fill each direction as far as it is used; put up signs, and return where they stand."""
    fills: dict[tuple[str, str, float], str] = {}
    for line in lines:
        for way, use in zip((line.way, line.way[::-1]), line.use, strict=True):
            if use > 0:
                paint = (WAYS[line.kind].fill, style.AMBER, style.JAM)[level(use)]
                key = paint, WAYS[line.kind].dash, max(line.width / 2 * min(use, 1), 1.2)
                fills[key] = fills.get(key, "") + path(way, max(line.width / 4, 0.8))
    for (paint, dash, width), ways in fills.items():
        sheet.path(ways, stroke=paint, stroke_width=width, stroke_dasharray=dash)
    return put_signs(sheet, plan, lines) if len(lines) <= MOST_SIGNS else {}


def put_signs(sheet: Drawing, plan: Plan, lines: Sequence[Line]) -> dict[int, Box]:
    """Say how full each line is where there is room for it, the fullest first."""
    signs: dict[int, Box] = {}
    clouds = [cloud(line.way) for line in lines]
    points, owner = np.concatenate(clouds), np.repeat(range(len(clouds)), [*map(len, clouds)])
    taken = [(s.at, s.half) for s in plan.stations.values()]
    for i in sorted(range(len(lines)), key=lambda i: -max(lines[i].use)):
        use = max(lines[i].use)
        text = f"{use:.0%}"
        half = complex(text_width(text, style.TINY, bold=True) / 2 + 4, 8.5)
        if use and (at := room(clouds[i], points[owner != i], taken, half)):
            signs[i] = at, half
            taken.append(signs[i])
            sign(sheet, WAYS[lines[i].kind], text, signs[i], level(use))
    return signs


def sign(sheet: Drawing, look: style.Way, text: str, place: Box, state: int) -> None:
    """Draw a sign on a line: round while there is room, square when the line is full."""
    paint = (style.PAPER, style.AMBER, style.JAM)[state]
    ink = (look.dark, style.INK, style.PAPER)[state]
    box(sheet, place, paint, rx=1 if state == 2 else 8, stroke=ink if state < 2 else paint)
    sheet.text(place[0].real, place[0].imag + 4, text, style.TINY, ink, "middle", bold=True)


def trains(
    sheet: Drawing, lines: Sequence[Line], signs: Mapping[int, Box], loaded: bool
) -> None:
    """Draw trains (on roads: cars), faster on more bandwidth, slow and close where it is full."""
    groups: dict[tuple[float, int, float, str, int], list[str]] = {}
    for i, line in enumerate(lines):
        for back in (0, 1):
            if line.capacity[back] and (line.use[back] or not loaded):
                state, phase = level(line.use[back]), (i + 2 * back) % 3
                key = (line.capacity[back], state, line.width, line.kind, phase)
                ways = (piece[:: -1 if back else 1] for piece in pieces(line.way, signs.get(i)))
                aside = line.width / 4 if line.width > 4.5 else 0.0
                groups.setdefault(key, []).extend(path(way, aside) for way in ways)
    sheet.add("style", MOVING)
    for (rate, state, width, kind, phase), paths in groups.items():
        gap, pace = TRAFFIC[state]
        cars = WAYS[kind] is WAYS["pcie"]
        long = 0.1 if cars else 9.0
        seconds = gap / (17 * (rate / GB) ** 0.42 * pace)
        sheet.path(
            "".join(paths), stroke=style.INK if state else WAYS[kind].dark,
            stroke_opacity=0.6 if state else None,
            stroke_width=max(3.6 if cars else 2.4, width * (0.4 if cars else 0.28)),
            stroke_linecap="round" if cars else None, stroke_dasharray=f"{long} {gap - long:g}",
            stroke_dashoffset=gap * phase / 3, class_="nv-city-train",
            style=f"--nv-city-end:{number(gap * (phase / 3 - 1))};"
            f"animation-duration:{seconds:.2f}s")


def factory(at: complex, half: complex) -> str:
    """Return the outline of a building with a saw-tooth roof."""
    w, h = half.real, half.imag
    tooth = f"v{number(-h * 0.4)}l{number(w * 2 / 3)} {number(h * 0.4)}"
    return f"{path([at - w - 0.6j * h])}{tooth * 3}v{number(h * 1.6)}h{number(-2 * w)}z"


def buildings(
    sheet: Drawing, topology: Topology, plan: Plan, inner: Mapping[str, float]
) -> None:
    """Draw every station."""
    chips = Counter(group for _, group in topology.graph.nodes(data="group"))
    ranks = {gpu: rank for rank, gpu in enumerate(topology.gpus)}
    gpus = [s for s in plan.stations.values() if s.kind == "gpu"]
    sheet.path("".join(factory(s.at, s.half) for s in gpus), style.FACTORY)
    large = [s.at - 8j for s in gpus if min(s.half.real, s.half.imag) > 18]
    panes = "".join(f"{path([at + x])}h8v5h-8z" for at in large for x in (-15, -4, 7))
    sheet.path(panes, style.WINDOW)
    for name, s in plan.stations.items():
        if s.kind == "block":
            block(sheet, s, [ranks[n] for n in s.members if n in ranks], inner[name])
        elif s.kind != "gpu":
            station(sheet, s, chips[name])
        elif s.half.real > 8:
            y = s.at.imag + (16 if s.half.imag > 18 else 5)
            size = style.BODY if min(s.half.real, s.half.imag) > 15 else style.TINY
            sheet.text(s.at.real, y, str(ranks[name]), size, style.PAPER, "middle", bold=True)


def station(sheet: Drawing, s: Station, chips: int) -> None:
    """Draw a station that is not a GPU as a sign with its name."""
    look, solid = WAYS[s.kind], s.kind in ("host", "network")
    box(sheet, (s.at, s.half), look.dark if solid else look.tint, stroke=look.fill,
        stroke_width=3 if s.kind == "nvswitch" else 1.5,
        rx={"nvswitch": 14, "network": 14, "nic": 6}.get(s.kind, 0))
    number = "".join(filter(str.isdigit, s.members[0].partition("@")[0]))
    rows = [words(f"city.station.{s.kind}", number=number)]
    rows += [words("city.station.chips", count=chips)] if chips > 1 else []
    rows = [" ".join(rows)] if s.half.real > 150 else rows
    for i, row in enumerate(rows):
        size = style.SMALL if text_width(row, style.SMALL) < 2 * s.half.real - 4 else style.TINY
        y = s.at.imag + 4.5 + (i - (len(rows) - 1) / 2) * 16
        ink = style.PAPER if solid else look.dark
        sheet.text(s.at.real, y, row, size, ink, "middle", bold=size > style.TINY)


def block(sheet: Drawing, s: Station, ranks: Sequence[int], use: float) -> None:
    """Draw a whole domain as one block: small factories, under them how full it is inside."""
    box(sheet, (s.at, s.half), style.GROUND, rx=6, stroke=style.FACTORY)
    name = words("city.station.block", first=ranks[0], last=ranks[-1])
    head = 20.0 if text_width(name, style.TINY) < 2 * s.half.real - 4 else 4.0
    if head > 4:
        sheet.text(s.at.real, (s.at - s.half).imag + 15, name, style.TINY, anchor="middle")
    room = 2 * s.half - complex(12, head + 14)
    columns = math.ceil((len(ranks) * room.real / room.imag / 1.4) ** 0.5)
    cell = complex(room.real / columns, room.imag / math.ceil(len(ranks) / columns))
    first = s.at - s.half + complex(6, head + 1) + cell / 2
    spots = [first + complex(i % columns * cell.real, i // columns * cell.imag)
             for i in range(len(ranks))]
    half = complex(min(cell.real * 0.4, 15), min(cell.imag * 0.4, 13))
    sheet.path("".join(factory(at, half) for at in spots), style.FACTORY)
    paint = (style.WAYS["nvlink"].fill, style.AMBER, style.JAM)[level(use)]
    box(sheet, (s.at + (s.half.imag - 6) * 1j, complex(s.half.real - 6, 2)), paint)


def mark(
    sheet: Drawing, topology: Topology, plan: Plan, highlight: Collection[int | tuple[int, int]]
) -> None:
    """Frame GPUs, and follow the line between two of them."""
    home = {member: name for name, s in plan.stations.items() for member in s.members}
    for item in highlight:
        ends = [topology.gpus[rank] for rank in (item if isinstance(item, tuple) else (item,))]
        for s in (plan.stations[home[end]] for end in ends):
            box(sheet, (s.at, s.half + 5 + 5j), "none", rx=8, stroke=style.INK, stroke_width=2.5)
        if len(ends) == 2 and topology.fabric.has_edge(*ends):
            way = plan.way(*(home[end] for end in ends))
            sheet.path(path(way), stroke=style.INK, stroke_width=2.5, stroke_dasharray="2 4")


def legend(
    sheet: Drawing, lines: Sequence[Line], inner: Mapping[str, float], loaded: bool
) -> None:
    """Name what is on the map, and no more."""
    x, y = 24.0, FOOT
    for label, draw in entries(sheet, lines, inner, loaded):
        width = 44 + text_width(label, style.SMALL)
        if x + width > WIDTH - 12:
            x, y = 24.0, y + 23
        draw(complex(x + 18, y))
        sheet.text(x + 44, y + 4, label, style.SMALL, style.MUTED)
        x += width + 18


def entries(
    sheet: Drawing, lines: Sequence[Line], inner: Mapping[str, float], loaded: bool
) -> Iterator[tuple[str, Callable[[complex], None]]]:
    """Yield each entry of the legend with what draws its sample."""
    small = 13 + 10j
    yield words("city.legend.gpu"), lambda at: sheet.path(factory(at, small), style.FACTORY)
    for line in {(line.kind, line.links, line.nominal): line for line in lines}.values():
        built = [line.nominal] * 2
        name = label(line.kind, line.links, line.nominal)
        yield name, partial(line_sample, sheet, line, built)
    if inner:
        yield words("city.legend.block"), lambda at: box(sheet, (at, 18 + 2j), WAYS["nvlink"].fill)
    if slow := [line for line in lines if 0 < min(line.capacity) < line.nominal]:
        yield words("city.legend.slow"), partial(line_sample, sheet, slow[0], slow[0].capacity)
    if any(not min(line.capacity) for line in lines):
        yield words("city.legend.broken"), partial(cross, sheet)
    uses = [*inner.values(), *(max(line.use) for line in lines)]
    for state in sorted({level(use) for use in uses}) if loaded else ():
        text = words(f"city.legend.level_{state}", busy=f"{BUSY:.0%}", full=f"{FULL:.0%}")
        yield text, partial(level_sample, sheet, state)


def label(kind: str, links: int, rate: float) -> str:
    """Return what a sort of line is called."""
    return words(f"city.legend.line{'s' * (links > 1)}", links=links, rate=format_rate(rate),
                 kind=words(f"city.kind.{kind}.name"))


def line_sample(sheet: Drawing, line: Line, capacity: list[float], at: complex) -> None:
    """Draw a short piece of a line."""
    bed(sheet, replace(line, way=(at - 18, at + 18), capacity=capacity), loaded=False)


def level_sample(sheet: Drawing, state: int, at: complex) -> None:
    """Draw the sign of a level."""
    sign(sheet, style.WAYS["pcie"], "%", (at, 13 + 8.5j), state)


def findings(topology: Topology, lines: Sequence[Line], loads: Loads | None) -> dict[str, str]:
    """Return what the title, the line under it and the sentence say."""
    kind = "loaded" if loads else "free"
    told = facts(topology) | (traffic(topology, loads) if loads else {"lines": listed(lines)})
    told["title"] = words(f"city.title.{told['case']}", **told)
    return {"title": told["title"], "subtitle": words(f"city.subtitle.{kind}", **told),
            "sentence": words(f"city.sentence.{kind}", **told)}


def facts(topology: Topology) -> dict[str, Any]:
    """Return what a machine is, from its links alone."""
    gpus, n, name = set(topology.gpus), topology.ranks, topology.name
    lines = [b for b in topology.bundles if b.kind == "nvlink"]
    direct = sum(b.capacity > 0 and {b.source, b.target} <= gpus for b in lines) // 2
    inside = sum(b.capacity for b in lines if b.source == topology.gpus[0])
    rail = sum(b.capacity for b in topology.bundles if b.kind == "network") / 2 / n
    switches = [kind for _, kind in topology.fabric.nodes(data="kind")].count("nvswitch")
    cases = {
        "rail": rail and inside, "switches": switches > 1, "switch": switches,
        "all": direct == n * (n - 1) // 2, "roads": not direct,
        "some_roads": len(lines) < len(topology.bundles), "some": True}
    while text_width(name, style.TITLE, bold=True) > 330:
        name = name[:-2] + "…"
    return {"name": name, "gpus": n, "pairs": n * (n - 1) // 2, "direct": direct,
            "switches": switches, "inside": format_rate(inside), "rail": format_rate(rail),
            "case": next(case for case, holds in cases.items() if holds)}


def traffic(topology: Topology, loads: Loads) -> dict[str, Any]:
    """Return what a pattern does to a machine: which kind of line is fullest, what arrives."""
    n, flows, kinds = topology.ranks, loads.pattern, topology.fabric.nodes(data="kind")
    many = "flow" if len(flows) == 1 else "flows"
    named = {"all": all_to_all_pattern(n), "next": neighbour_pattern(n), many: flows}
    pattern = next(key for key, known in named.items() if known == flows)
    fullest: dict[tuple[str, frozenset[str]], float] = {}
    for bundle, share in zip(topology.bundles, loads.utilisation.tolist(), strict=True):
        ends = frozenset((bundle.source, bundle.target))
        trunk = all(kinds[end] == "nvswitch" for end in ends)
        key = "trunk" if trunk else bundle.kind, ends
        fullest[key] = max(share, fullest.get(key, 0.0))
    found = {key[0] for key in fullest}
    use = {kind: [u for key, u in fullest.items() if key[0] == kind]
           for kind in KINDS if kind in found}
    full = {kind: sum(u >= FULL for u in uses) for kind, uses in use.items()}
    kind = max(full, key=lambda kind: full[kind] / len(use[kind]))
    share = full[kind] / len(use[kind])
    case = "calm" if not share else "part" if share < 1 else "one" if full[kind] == 1 else "full"
    names = {kind: words(f"city.kind.{kind}.many") for kind in use}
    return {
        "pattern": words(f"city.pattern.{pattern}", count=len(flows)), "case": f"{case}_loaded",
        "kind": words(f"city.kind.{kind}.one"), "kinds": names[kind], "full": full[kind],
        "count": len(use[kind]), "most": f"{max(fullest.values()):.0%}",
        "sends": format_rate(loads.delivered / len({source for source, _ in flows}), digits=3),
        "lines": "; ".join(words("city.at_most", kinds=names[kind], most=f"{max(uses):.0%}")
                           for kind, uses in use.items())}


def listed(lines: Sequence[Line]) -> str:
    """Return in words what lines there are."""
    sorts = Counter((line.kind, line.links, line.nominal) for line in lines)
    return "; ".join(f"{count} x {label(*sort)}" for sort, count in sorts.items())
