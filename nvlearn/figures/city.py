"""Pictures of the city: the map of a machine, and the four factors of a maglev line."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from nvlearn import formulas
from nvlearn.figures import layout, style
from nvlearn.figures.drawing import Drawing, Picture, boxes, element, number, path, sketch
from nvlearn.figures.layout import Line, Station
from nvlearn.i18n import words
from nvlearn.topology import Loads, Topology, neighbour_pattern
from nvlearn.units import GB, format_rate

WIDTH, HEIGHT, FOOT = 960.0, 600.0, 526.0
BUSY, FULL = 0.6, 0.95
#: Length, least width, width as a share of the line's, ends.
TRAIN, CAR = (9.0, 2.4, 0.28, None), (0.1, 3.6, 0.4, "round")
#: Distance of trains (px) and their share of the free speed: free, filling, full.
TRAFFIC = ((54, 1.0), (32, 0.6), (18, 0.25))
#: Lines of more links than this are one band; a map of more lines than this has no signs.
MOST_TRACKS, MOST_SIGNS = 4, 60
NVLINK, PCIE, RAIL = (style.WAYS[kind] for kind in ("nvlink", "pcie", "infiniband"))
CITY = style.Way(style.FACTORY, style.FACTORY, style.GROUND, "none")
#: Lines in the order in which they are named, then stations.
WAYS = {"socket": PCIE, "network": RAIL, "trunk": NVLINK, "pcie": PCIE, "nvlink": NVLINK,
        "nvswitch": style.WAYS["nvswitch"], "pcie_switch": PCIE, "host": PCIE, "nic": RAIL,
        "gpu": CITY, "block": CITY}
#: Fill, ink and rounding of the sign of a free, a filling and a full line; its half size.
SIGNS = (style.PAPER, style.INK, 8), (style.AMBER, style.INK, 8), (style.JAM, style.PAPER, 1)
SIGN = 19 + 8.5j
MOVING = (
    "@media (prefers-reduced-motion:no-preference){.nv-city-train{animation:nv-city-go 1s linear "
    "infinite}}@keyframes nv-city-go{to{stroke-dashoffset:var(--nv-city-end)}}")
#: Where along a line its sign may stand (of 24 steps), the best place first.
PLACES = (12, 9, 15, 6, 18)


def city_map(topology: Topology, loads: Loads | None = None, *,
             title: str | None = None) -> Picture:
    """Draw a machine; `loads` fills its lines, `title` replaces what the links say."""
    stations, lines = layout.plan(topology).stations, layout.survey(topology, loads)
    told = findings(topology, lines, loads, title)
    sheet = Drawing(WIDTH, HEIGHT)
    for line in lines:
        bed(sheet, line, loads is not None)
    sheet.legend(legend(lines, loads is not None), FOOT)
    sheet.layer()
    sheet.heading(told["title"], told["subtitle"])
    fill(sheet, lines)
    sheet.layer()
    trains(sheet, lines, loads is not None)
    sheet.layer()
    chips = Counter(group for _, group in topology.graph.nodes(data="group"))
    for name, station in stations.items():
        building(sheet, station, chips[name])
    sheet.layer()
    if loads and len(lines) <= MOST_SIGNS:
        signs(sheet, lines, stations.values())
    return sheet.picture(told["sentence"], stations=stations, lines=lines)


def level(use: float) -> int:
    """Return 0 for free, 1 for filling, 2 for full."""
    return (use > BUSY) + (use >= FULL)


def bed(sheet: Drawing, line: Line, loaded: bool) -> None:
    """Draw a line as it was built and, on a map without loads, what works: tracks while few."""
    left, look = min(line.capacity) / line.nominal, WAYS[line.kind]
    if 0 < left < 1:  # an outline, as a few links of many can hardly be seen in the width
        sheet.path(path(line.way), stroke=style.INK, stroke_width=line.width + 5)
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
    groups: defaultdict[tuple[str, str, float], str] = defaultdict(str)
    for line in lines:
        for way, _, use in line.directions():
            if use > 0:
                paint = (WAYS[line.kind].fill, style.AMBER, style.JAM)[level(use)]
                width = max(line.width / 2 * min(use, 1), 1.2)
                groups[paint, WAYS[line.kind].dash, width] += path(way, line.width / 4)
    for (paint, dash, width), ways in groups.items():
        sheet.path(ways, stroke=paint, stroke_dasharray=dash, stroke_width=width)


def trains(sheet: Drawing, lines: Sequence[Line], loaded: bool) -> None:
    """Draw trains (on roads: cars), faster on more bandwidth, slow and close where it is full."""
    groups: defaultdict[tuple[float, int, float, str], str] = defaultdict(str)
    for line in lines:
        for way, rate, use in line.directions():
            if rate and (use or not loaded):
                groups[rate, level(use), line.width, line.kind] += path(way, line.width / 4)
    sheet.add("style", MOVING)
    for (rate, state, width, kind), ways in groups.items():
        gap, pace = TRAFFIC[state]
        long, least, share, cap = CAR if WAYS[kind] is PCIE else TRAIN
        seconds = gap / (17 * (rate / GB) ** 0.42 * pace)
        sheet.path(
            ways, stroke=style.INK, stroke_opacity=0.6, stroke_width=max(least, width * share),
            stroke_linecap=cap, stroke_dasharray=f"{long} {gap - long:g}", class_="nv-city-train",
            style=f"--nv-city-end:-{gap};animation-duration:{seconds:.2f}s")


def signs(sheet: Drawing, lines: Sequence[Line], stations: Iterable[Station]) -> None:
    """Say how full lines are where a sign hides nothing, full ones first."""
    lines = sorted(lines, key=lambda line: -max(line.use))
    points = np.array([np.interp(np.arange(25) / 24 * (len(way) - 1), range(len(way)), way)
                       for way in (line.way for line in lines)])
    taken = np.array([(s.at, s.half) for s in stations]).T
    for i, use in enumerate(max(line.use) for line in lines):
        others = np.delete(points, i, 0)
        for at in points[i, PLACES].tolist() if use else ():
            if free(at, others, 3 + 3j) and free(at, *taken):
                sign(sheet, use, at)
                taken = np.hstack([taken, [[at], [SIGN]]])
                break


def free(at: complex, others: Any, halves: Any) -> bool:
    """Return whether a sign touches none of others, given by centres and half sizes."""
    away, reach = others - at, halves + SIGN
    return not ((abs(away.real) < reach.real) & (abs(away.imag) < reach.imag)).any()


def sign(sheet: Drawing, use: float, at: complex, text: str = "{:.0%}") -> None:
    """Draw a sign for a use: round while there is room, square when the line is full."""
    fill, ink, corner = SIGNS[level(use)]
    sheet.rect(at.real - SIGN.real, at.imag - SIGN.imag, 2 * SIGN.real, 2 * SIGN.imag, fill,
               rx=corner, stroke=style.INK)
    sheet.text(at.real, at.imag + 4, text.format(use), style.TINY, ink, "middle", bold=True)


def factory(at: complex, half: complex) -> str:
    """Return the outline of a building with a saw-tooth roof."""
    w, h = half.real, half.imag
    tooth = f"v{number(-h * 0.4)}l{number(w * 2 / 3)} {number(h * 0.4)}"
    return f"{path((at - w - 0.6j * h,))}{tooth * 3}v{number(h * 1.6)}h{number(-2 * w)}z"


def building(sheet: Drawing, s: Station, chips: int) -> None:
    """Draw a station, a factory for a GPU and a sign for others, with its name."""
    look, solid = WAYS[s.kind], s.kind in ("gpu", "host", "network")
    fill, ink = (look.dark, style.PAPER) if solid else (look.tint, look.dark)
    if s.kind == "gpu":
        sheet.path(factory(s.at, s.half), fill)
    else:
        corner, size = s.at - s.half, 2 * s.half
        sheet.rect(corner.real, corner.imag, size.real, size.imag, fill, stroke=look.fill,
                   rx=0 if look is PCIE else 8)
    numbers = [n[3:].partition("@")[0] for n in s.members if n[:3] == s.members[0][:3]]
    name = words(f"city.station.{s.kind}", first=numbers[0], last=numbers[-1], count=len(numbers))
    name += f" {words('city.station.chips', count=chips)}" if chips > 1 else ""
    letters = style.BODY if min(s.half.real, s.half.imag) > 15 else style.TINY
    for i, row in enumerate(name.split("\n")):
        y = s.at.imag + 5 + 17 * (i - name.count("\n") / 2)
        sheet.text(s.at.real, y, row, letters, ink, "middle", bold=True)


def legend(lines: Sequence[Line], loaded: bool) -> Iterator[tuple[str, str]]:
    """Name what is on the map, and no more, each with a sample."""
    yield words("city.legend.gpu"), element("path", d=factory(0j, 13 + 10j), fill=style.FACTORY)
    short = [replace(line, way=(-16 + 0j, 16 + 0j)) for line in lines]
    for sort, line in {(line.kind, line.links, line.nominal): line for line in short}.items():
        yield label(*sort), sketch(bed, replace(line, capacity=[line.nominal]), loaded=False)
    if slow := [line for line in short if 0 < min(line.capacity) < line.nominal]:
        yield words("city.legend.slow"), sketch(bed, slow[0], loaded=False)
    if any(not min(line.capacity) for line in short):
        yield words("city.legend.broken"), sketch(cross, 0j)
    for use in (0.0, FULL - 0.01, FULL) if loaded else ():
        text = words(f"city.legend.level_{level(use)}", busy=f"{BUSY:.0%}", full=f"{FULL:.0%}")
        yield text, sketch(sign, use, 0j, text="")


def label(kind: str, links: int, rate: float) -> str:
    """Return what a sort of line is called."""
    return words(f"city.legend.line{'s' * (links > 1)}", links=links, rate=format_rate(rate),
                 kind=words(f"city.kind.{kind}.name"))


def findings(topology: Topology, lines: Sequence[Line], loads: Loads | None,
             title: str | None) -> dict[str, str]:
    """Return what the title, the line under it and the sentence say."""
    counts = Counter((ln.kind, ln.links, ln.nominal) for ln in lines).items()
    told = facts(topology) | {"lines": "; ".join(f"{n} x {label(*sort)}" for sort, n in counts)}
    told |= traffic(topology, loads) if loads else {}
    kind = "loaded" if loads else "free"
    told["title"] = title or words(f"city.title.{told['case']}", **told)
    return told | {part: words(f"city.{part}.{kind}", **told) for part in ("subtitle", "sentence")}


def facts(topology: Topology) -> dict[str, Any]:
    """Return what a machine is, from its links alone."""
    gpus, n = set(topology.gpus), topology.ranks
    name = topology.name if len(topology.name) < 31 else topology.name[:29] + "…"
    lines = [b for b in topology.bundles if b.kind == "nvlink"]
    direct = sum(b.capacity > 0 and {b.source, b.target} <= gpus for b in lines) // 2
    inside = sum(b.capacity for b in lines if b.source == topology.gpus[0])
    rail = sum(b.capacity for b in topology.bundles if b.kind == "network") / 2 / n
    switches = [kind for _, kind in topology.fabric.nodes(data="kind")].count("nvswitch")
    cases = {
        "rail": rail and inside, "switches": switches > 1, "switch": switches,
        "all": direct == n * (n - 1) // 2, "roads": not direct,
        "some_roads": len(lines) < len(topology.bundles), "some": True}
    return {"name": name, "gpus": n, "pairs": n * (n - 1) // 2, "direct": direct,
            "switches": switches, "inside": format_rate(inside), "rail": format_rate(rail),
            "case": next(case for case in cases if cases[case])}


def traffic(topology: Topology, loads: Loads) -> dict[str, Any]:
    """Return what a pattern does to a machine: which kind of line is fullest, what arrives."""
    n, flows = topology.ranks, loads.pattern
    cases = {"all": len({*flows}) == len(flows) == n * (n - 1),
             "next": flows == neighbour_pattern(n), "flow": len(flows) == 1, "flows": True}
    pattern = next(case for case in cases if cases[case])
    lines = layout.gather(topology, loads, {})
    uses = {kind: [max(line.use) for line in lines if line.kind == kind] for kind in WAYS}
    uses = {kind: use for kind, use in uses.items() if use}
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


# --- the four factors of the bandwidth formula as a line -------------------------


LINE = style.WAYS["nvlink"]
LEFT, RIGHT, TOP, BOTTOM = 150.0, 810.0, 212.0, 428.0  # of the field of tracks


def bandwidth_train(lanes: int, lane_rate: float, links: int, directions: int = 2) -> Picture:
    """Draw lanes, rate, links and directions as trains on a line, the product under them.

    `lane_rate` is the data rate of one lane in bits per second.
    """
    total = formulas.link_bandwidth(lanes, lane_rate, links, directions)
    sheet, one_way = Drawing(960, 560), total / directions
    told = {
        "lanes": counted("lane", lanes), "links": counted("link", links),
        "rate": f"{lane_rate / 1e9:.6g} Gb/s",  # without a direction, because a lane has only one
        "per_link": format_rate(one_way / links), "one_way": format_rate(one_way),
        "both_ways": format_rate(one_way, both_ways=True)}
    sheet.heading(words(f"train.title.{directions}", **told), words(f"train.subtitle.{directions}"))
    sheet.rect(24, 76, 912, 112, style.GROUND, rx=10)
    sheet.text(40, 99, words("train.close_up", **told), style.SMALL, style.MUTED, bold=True)
    for y, forth in ((127, True), (166, False))[:directions]:
        close_up(sheet, y, lanes, forth)
    tracks(sheet, links, directions)
    chain(sheet, told, directions)
    return sheet.picture(
        words(f"train.sentence.{directions}", **told), one_way=one_way, total=total, links=links)


def counted(thing: str, number: int) -> str:
    """Return a number with its noun."""
    return words(f"count.{thing}.{'one' if number == 1 else 'many'}", number=number)


def close_up(sheet: Drawing, y: float, lanes: int, forth: bool) -> None:
    """Draw one train, its nose in the direction of travel, every lane a numbered car."""
    pitch, ahead = min(112.0, 640.0 / lanes), 1 if forth else -1
    lefts = 482 + (np.arange(lanes) - lanes / 2) * pitch
    paint, ink = (LINE.dark, style.PAPER) if forth else (LINE.tint, LINE.dark)
    sheet.path(path((complex(40, y + 15), complex(920, y + 15))), stroke=LINE.fill, stroke_width=3)
    front = complex(480 + ahead * lanes * pitch / 2, y)
    nose = path((front - 12j, front + 22 * ahead, front + 12j))
    sheet.path(f"{boxes(lefts, y - 12, pitch - 4, 24)}{nose}z", paint, stroke=LINE.dark)
    for lane, left in enumerate(lefts.tolist(), 1):
        sheet.text(left + pitch / 2 - 2, y + 4, str(lane), style.SMALL, ink, "middle", bold=True)


def tracks(sheet: Drawing, links: int, directions: int) -> None:
    """Draw every link of the GPU as a track in each direction, and what they lead to."""
    pitch = min(34.0, (BOTTOM - TOP) / links)
    wide = min(8.0, 0.24 * pitch)
    tops = (TOP + BOTTOM - links * pitch) / 2 + np.arange(links) * pitch
    for share, start, end, paint in ((0.28, LEFT, RIGHT, LINE.dark),
                                     (0.72, RIGHT, LEFT, LINE.fill))[:directions]:
        head = wide if end > start else -wide
        tips = [complex(end, top + share * pitch) for top in tops.tolist()]
        ways = [path((complex(start, at.imag), at - 3 * head, at - 3 * head - wide * 1j, at,
                      at - 3 * head + wide * 1j, at - 3 * head)) for at in tips]
        sheet.path("".join(ways), paint, stroke=paint, stroke_width=wide / 2)
    for x, place in ((80, "gpu"), (880, "other")):
        sheet.path(factory(complex(x, 338), 56 + 90j), style.FACTORY)
        sheet.text(x, 362, words(f"train.{place}"), style.SMALL, style.PAPER, "middle", bold=True)


def chain(sheet: Drawing, told: dict[str, str], directions: int) -> None:
    """Print the running product: one link, all links one way, the advertised total."""
    looks = (LINE.tint, LINE.dark), (LINE.tint, LINE.dark), (LINE.dark, style.PAPER)
    steps = "link", "links", f"directions_{directions}"
    for x, step, (fill, ink) in zip((24, 336, 648), steps, looks, strict=True):
        sheet.rect(x, 448, 288, 88, fill, rx=10)
        for y, size, part in ((470, style.BODY, "factors"), (500, 22.0, "result"),
                              (523, style.BODY, "note")):
            line = words(f"train.chain.{step}.{part}", **told)
            sheet.text(x + 144, y, line, size, ink, "middle", bold=part == "result")
