"""The map of a machine: factories, maglev lines, roads, interchanges and the railway."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from nvlearn.figures import layout, style
from nvlearn.figures.drawing import Drawing, number, text_width
from nvlearn.figures.layout import Line, Plan, Station, cloud, path
from nvlearn.figures.picture import Picture
from nvlearn.i18n import words
from nvlearn.topology import Loads, Topology, all_to_all_pattern, neighbour_pattern
from nvlearn.units import GB, format_rate

WIDTH, HEIGHT, FOOT = 960.0, 600.0, 526.0
BUSY, FULL = 0.6, 0.95
#: Length, least width, width as a share of the line's, ends.
TRAIN, CAR = (9.0, 2.4, 0.28, None), (0.1, 3.6, 0.4, "round")
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
#: Where along a line its sign may stand, the best place first.
PLACES = (0.5, 0.36, 0.64, 0.26, 0.74)


def city_map(
    topology: Topology, loads: Loads | None = None, *, title: str | None = None
) -> Picture:
    """Draw a machine; `loads` fills its lines, `title` replaces what the links say."""
    plan = layout.survey(topology, loads)
    told = findings(topology, plan)
    sheet = Drawing(WIDTH, HEIGHT)
    for ground in plan.grounds:
        box(sheet, *ground, style.GROUND, rx=8)
    for line in plan.lines:
        bed(sheet, line, loads is not None)
    legend(sheet, plan)
    sheet.layer()
    sheet.heading(title or told["title"], told["subtitle"])
    fill(sheet, plan.lines)
    sheet.layer()
    buildings(sheet, topology, plan)
    sheet.layer()
    trains(sheet, plan)
    sheet.layer()
    if loads and len(plan.lines) <= MOST_SIGNS:
        signs(sheet, plan)
    places = {name: (s.at.real, s.at.imag) for name, s in plan.stations.items()}
    return sheet.picture(told["sentence"], stations=places, lines=plan.lines, inner=plan.inner)


def level(use: float) -> int:
    """Return 0 for free, 1 for filling, 2 for full."""
    return (use > BUSY) + (use >= FULL)


def box(sheet: Drawing, at: complex, half: complex, paint: str, **more: Any) -> None:
    """Draw a rectangle given by its centre and its half size."""
    corner, size = at - half, 2 * half
    sheet.rect(corner.real, corner.imag, size.real, size.imag, paint, **more)


def bed(sheet: Drawing, line: Line, loaded: bool) -> None:
    """Draw a line as it was built and, on a map without loads, what works: tracks while few."""
    left, look = min(line.capacity) / line.nominal, WAYS[line.kind]
    if loaded or left < 1:
        sheet.path(path(line.way), stroke=look.tint, stroke_width=line.width + 1.5)
    if not left:
        cross(sheet, (line.way[(len(line.way) - 1) // 2] + line.way[len(line.way) // 2]) / 2)
    elif not loaded:
        tracks = line.links if line.links <= min(MOST_TRACKS, line.width / 1.5) else 1
        each = line.width * left / tracks
        shifts = [(i - (tracks - 1) / 2) * (each + 2.5) for i in range(tracks)]
        sheet.path("".join(path(line.way, by) for by in shifts), stroke=look.fill,
                   stroke_width=each, stroke_dasharray=look.dash)


def cross(sheet: Drawing, at: complex) -> None:
    """Mark a line that is out of order."""
    sheet.path(f"{path((at - 7 - 7j,))}l14 14m0 -14l-14 14", stroke=style.JAM, stroke_width=3.5)


def fill(sheet: Drawing, lines: Sequence[Line]) -> None:
    """Fill each direction of each line as far as it is used."""
    fills: defaultdict[tuple[str, str, float], str] = defaultdict(str)
    for line in lines:
        for way, use in zip((line.way, line.way[::-1]), line.use, strict=True):
            if use > 0:
                paint = (WAYS[line.kind].fill, style.AMBER, style.JAM)[level(use)]
                key = paint, WAYS[line.kind].dash, max(line.width / 2 * min(use, 1), 1.2)
                fills[key] += path(way, max(line.width / 4, 0.8))
    for (paint, dash, width), ways in fills.items():
        sheet.path(ways, stroke=paint, stroke_width=width, stroke_dasharray=dash)


def trains(sheet: Drawing, plan: Plan) -> None:
    """Draw trains (on roads: cars), faster on more bandwidth, slow and close where it is full."""
    groups: defaultdict[tuple[float, int, float, str, int], str] = defaultdict(str)
    for i, line in enumerate(plan.lines):
        for back, way in enumerate((line.way, line.way[::-1])):
            if line.capacity[back] and (line.use[back] or not plan.loads):
                key = (line.capacity[back], level(line.use[back]), line.width, line.kind,
                       (i + 2 * back) % 3)
                groups[key] += path(way, line.width / 4 if line.width > 4.5 else 0.0)
    sheet.add("style", MOVING)
    for (rate, state, width, kind, phase), ways in groups.items():
        gap, pace = TRAFFIC[state]
        long, least, share, cap = CAR if WAYS[kind] is WAYS["pcie"] else TRAIN
        seconds = gap / (17 * (rate / GB) ** 0.42 * pace)
        sheet.path(
            ways, stroke=style.INK if state else WAYS[kind].dark,
            stroke_opacity=0.6 if state else None, stroke_width=max(least, width * share),
            stroke_linecap=cap, stroke_dasharray=f"{long} {gap - long:g}",
            stroke_dashoffset=gap * phase / 3, class_="nv-city-train",
            style=f"--nv-city-end:{number(gap * (phase / 3 - 1))};"
            f"animation-duration:{seconds:.2f}s")


def signs(sheet: Drawing, plan: Plan) -> None:
    """Say how full each line is where a sign hides nothing else, the fullest first."""
    clouds = [cloud(line.way) for line in plan.lines]
    stands = [(s.at, s.half + 2 + 2j) for s in plan.stations.values()]
    fixed = np.array([(0, 0)] * len(clouds) + stands).T  # the first are for the signs to come
    taken = np.hstack([fixed, *clouds])
    owner = np.repeat(range(-1, len(clouds)), [len(part.T) for part in (fixed, *clouds)])
    for i in sorted(range(len(clouds)), key=lambda i: -max(plan.lines[i].use)):
        use, own = max(plan.lines[i].use), clouds[i][0]
        half = complex(text_width(f"{use:.0%}", style.TINY, bold=True) / 2 + 4, 8.5)
        for at in (complex(own[int(part * len(own))]) for part in PLACES if use):
            away, reach = taken[0] - at, taken[1] + half
            near = (abs(away.real) < reach.real) & (abs(away.imag) < reach.imag)
            if (owner[near] == i).all():
                sign(sheet, WAYS[plan.lines[i].kind], f"{use:.0%}", level(use), half, at)
                taken[:, i] = at, half + 2 + 2j
                break


def sign(sheet: Drawing, look: style.Way, text: str, use: int, half: complex, at: complex) -> None:
    """Draw a sign at a level of use: round while there is room, square when the line is full."""
    paint = (style.PAPER, style.AMBER, style.JAM)[use]
    ink = (look.dark, style.INK, style.PAPER)[use]
    box(sheet, at, half, paint, rx=1 if use == 2 else 8, stroke=ink if use < 2 else paint)
    sheet.text(at.real, at.imag + 4, text, style.TINY, ink, "middle", bold=True)


def factory(at: complex, half: complex) -> str:
    """Return the outline of a building with a saw-tooth roof."""
    w, h = half.real, half.imag
    tooth = f"v{number(-h * 0.4)}l{number(w * 2 / 3)} {number(h * 0.4)}"
    return f"{path((at - w - 0.6j * h,))}{tooth * 3}v{number(h * 1.6)}h{number(-2 * w)}z"


def buildings(sheet: Drawing, topology: Topology, plan: Plan) -> None:
    """Draw every station."""
    chips = Counter(group for _, group in topology.graph.nodes(data="group"))
    gpus = [s for s in plan.stations.values() if s.kind == "gpu"]
    sheet.path("".join(factory(s.at, s.half) for s in gpus), style.FACTORY)
    large = [s.at - 8j for s in gpus if min(s.half.real, s.half.imag) > 18]
    panes = "".join(f"{path((at + x,))}h8v5h-8z" for at in large for x in (-15, -4, 7))
    sheet.path(panes, style.WINDOW)
    for name, s in plan.stations.items():
        if s.kind == "block":
            block(sheet, s, plan.inner.get(name))
        elif s.kind != "gpu":
            station(sheet, s, chips[name])
        elif s.half.real > 8:
            y = s.at.imag + (16 if s.half.imag > 18 else 5)
            size = style.BODY if min(s.half.real, s.half.imag) > 15 else style.TINY
            sheet.text(s.at.real, y, name[3:], size, style.PAPER, "middle", bold=True)


def station(sheet: Drawing, s: Station, chips: int) -> None:
    """Draw a station that is not a GPU as a sign with its name."""
    look, solid = WAYS[s.kind], s.kind in ("host", "network")
    box(sheet, s.at, s.half, look.dark if solid else look.tint, stroke=look.fill,
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


def block(sheet: Drawing, s: Station, use: float | None) -> None:
    """Draw a whole domain as one block: small factories, under them how full it is inside."""
    box(sheet, s.at, s.half, style.GROUND, rx=6, stroke=style.FACTORY)
    gpus = [member for member in s.members if member.startswith("GPU")]
    name = words("city.station.block", first=gpus[0][3:], last=gpus[-1][3:])
    head = 20.0 if text_width(name, style.TINY) < 2 * s.half.real - 4 else 4.0
    if head > 4:
        sheet.text(s.at.real, (s.at - s.half).imag + 15, name, style.TINY, anchor="middle")
    room = 2 * s.half - complex(12, head + 14)
    columns = math.ceil((len(gpus) * room.real / room.imag / 1.4) ** 0.5)
    cell = complex(room.real / columns, room.imag / math.ceil(len(gpus) / columns))
    first = s.at - s.half + complex(6, head + 1) + cell / 2
    half = complex(min(cell.real * 0.4, 15), min(cell.imag * 0.4, 13))
    spots = (first + complex(i % columns * cell.real, i // columns * cell.imag)
             for i in range(len(gpus)))
    sheet.path("".join(factory(at, half) for at in spots), style.FACTORY)
    if use is not None:
        paint = (WAYS["nvlink"].fill, style.AMBER, style.JAM)[level(use)]
        box(sheet, s.at + (s.half.imag - 6) * 1j, complex(s.half.real - 6, 2), paint)


def legend(sheet: Drawing, plan: Plan) -> None:
    """Name what is on the map, and no more."""
    x, y = 24.0, FOOT
    for text, draw in entries(sheet, plan):
        width = 44 + text_width(text, style.SMALL)
        if x + width > WIDTH - 12:
            x, y = 24.0, y + 23
        draw(complex(x + 18, y))
        sheet.text(x + 44, y + 4, text, style.SMALL, style.MUTED)
        x += width + 18


def entries(sheet: Drawing, plan: Plan) -> Iterator[tuple[str, Callable[[complex], None]]]:
    """Yield each entry of the legend with what draws its sample."""
    yield words("city.legend.gpu"), lambda at: sheet.path(factory(at, 13 + 10j), style.FACTORY)
    for sort, line in {(ln.kind, ln.links, ln.nominal): ln for ln in plan.lines}.items():
        yield label(*sort), partial(sample, sheet, replace(line, capacity=[line.nominal]))
    if plan.inner:
        yield words("city.legend.block"), lambda at: box(sheet, at, 18 + 2j, WAYS["nvlink"].fill)
    if slow := [line for line in plan.lines if 0 < min(line.capacity) < line.nominal]:
        yield words("city.legend.slow"), partial(sample, sheet, slow[0])
    if any(not min(line.capacity) for line in plan.lines):
        yield words("city.legend.broken"), partial(cross, sheet)
    uses = [*plan.inner.values(), *(max(line.use) for line in plan.lines)]
    for state in sorted({level(use) for use in uses}) if plan.loads else ():
        text = words(f"city.legend.level_{state}", busy=f"{BUSY:.0%}", full=f"{FULL:.0%}")
        yield text, partial(sign, sheet, WAYS["pcie"], "%", state, 13 + 8.5j)


def sample(sheet: Drawing, line: Line, at: complex) -> None:
    """Draw a short piece of a line."""
    bed(sheet, replace(line, way=(at - 18, at + 18)), loaded=False)


def label(kind: str, links: int, rate: float) -> str:
    """Return what a sort of line is called."""
    return words(f"city.legend.line{'s' * (links > 1)}", links=links, rate=format_rate(rate),
                 kind=words(f"city.kind.{kind}.name"))


def findings(topology: Topology, plan: Plan) -> dict[str, str]:
    """Return what the title, the line under it and the sentence say."""
    told = facts(topology)
    if plan.loads:
        told |= traffic(topology, plan.loads)
    else:
        counts = Counter((ln.kind, ln.links, ln.nominal) for ln in plan.lines).items()
        told["lines"] = "; ".join(f"{count} x {label(*sort)}" for sort, count in counts)
    kind = "loaded" if plan.loads else "free"
    told["title"] = words(f"city.title.{told['case']}", **told)
    return told | {part: words(f"city.{part}.{kind}", **told) for part in ("subtitle", "sentence")}


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
    n, flows = topology.ranks, loads.pattern
    everyone = all_to_all_pattern(n) if len(flows) == n * (n - 1) else []
    many = "flow" if len(flows) == 1 else "flows"
    named = {"all": everyone, "next": neighbour_pattern(n), many: flows}
    pattern = next(key for key, known in named.items() if known == flows)
    uses: dict[str, list[float]] = {}
    for line in sorted(layout.gather(topology, loads, {}), key=lambda line: KINDS.index(line.kind)):
        uses.setdefault(line.kind, []).append(max(line.use))
    full = {kind: sum(use >= FULL for use in uses[kind]) for kind in uses}
    kind = max(uses, key=lambda kind: full[kind] / len(uses[kind]))
    count = len(uses[kind])
    some = "part" if full[kind] < count else "one" if count == 1 else "full"
    return {
        "pattern": words(f"city.pattern.{pattern}", count=len(flows)),
        "case": f"{some if full[kind] else 'calm'}_loaded",
        "kind": words(f"city.kind.{kind}.one"), "kinds": words(f"city.kind.{kind}.many"),
        "full": full[kind], "count": count, "most": f"{max(map(max, uses.values())):.0%}",
        "sends": format_rate(loads.delivered / len({source for source, _ in flows}), digits=3),
        "lines": "; ".join(
            words("city.at_most", kinds=words(f"city.kind.{kind}.many"), most=f"{max(use):.0%}")
            for kind, use in uses.items())}
