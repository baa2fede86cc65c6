"""A collective step by step: who holds whose parts, and what moves in this step."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby, islice
from math import copysign, cos, hypot, pi, sin
from typing import NamedTuple

import numpy as np

from nvlearn.collectives import Schedule, Send, replay
from nvlearn.exercises.schedules import expected
from nvlearn.figures import style
from nvlearn.figures.drawing import Drawing, number, text_width
from nvlearn.figures.picture import Picture
from nvlearn.i18n import words

WIDTH, HEIGHT, MIDDLE = 960.0, 616.0, 331.0
LARGE, LARGEST = 8, 16  # ranks and chunks on the circle, and in the compact form
STRIP, TALL, HEAD = 208.0, 52.0, 15.0  # a strip of cells, its height, the names above it
#: Line and ink of an arrow whose cargo is kept, and of one whose cargo is added.
PAINT = (style.FREE, style.WAYS["nvlink"].dark), (style.FACTORY, style.INK)
#: Fills of the ranks' parts: Okabe and Ito's hues, kept apart in lightness as well.
RANKS = ("#56B4E9", "#E69F00", "#2DB58A", "#F0E442", "#0060A0", "#B34700", "#DD9ABF", "#3E4D5B")
WHITE_ON = {RANKS[4], RANKS[5], RANKS[7]}
MOVED = ("all_gather", "broadcast", "all_to_all")  # what pass chunks on as they are
Box = tuple[float, float, float, float]
Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class State:
    """What is held after a step, marked by owner; `done` is what stays so to the end."""

    plan: Schedule
    held: np.ndarray
    numbers: list[list[np.ndarray]]
    done: np.ndarray
    total: int
    moves: list[Send]


class Place(NamedTuple):
    """Where a rank or the switch stands: middle, half its size, upper left corner of its cells."""

    x: float
    y: float
    half: Point
    left: float
    top: float


class Layout(NamedTuple):
    """A place for everyone; the pitch of the cells, their height, the gap between two."""

    places: list[Place]
    pitch: float
    tall: float
    gap: float

    def box(self, rank: int, chunk: int) -> Box:
        """Return the box of a cell: left, top, width, height."""
        place = self.places[rank]
        return place.left + chunk * self.pitch, place.top, self.pitch - self.gap, self.tall


def collective_step(
    schedule: Schedule, step: int, arrays: Sequence[np.ndarray] | None = None
) -> Picture:
    """Draw what every rank holds after a step (0 is before the first) and what moved in it.

    The cells show whose parts they hold or, where arrays are given, the numbers themselves.
    """
    steps, size = len(schedule.bounds) - 1, max(schedule.ranks, schedule.chunks)
    if not 0 <= step <= steps:
        raise ValueError(f"{schedule.name} has {steps} steps; choose 0 (before them) to {steps}, "
                         f"not {step}.")
    if size > LARGEST:
        raise ValueError(f"A step is drawn for up to {LARGEST} ranks and {LARGEST} chunks; "
                         f"{schedule.name} has {schedule.ranks} and {schedule.chunks}. Choose "
                         "fewer ranks or fewer pieces.")
    state, sheet = state_after(schedule, step, arrays), Drawing(WIDTH, HEIGHT)
    layout = compact(schedule) if size > LARGE else large(schedule)
    look = "numbers" if state.numbers else "compact" if size > LARGE else "parts"
    sheet.text(24, 58, words(f"collective.subtitle.{look}"), style.BODY, style.MUTED)
    ground(sheet, schedule, layout)
    sheet.layer()
    title = finding(state, step, steps)
    told = words("collective.done", done=int(state.done.sum()), total=state.total)
    sheet.text(24, 35, title, style.TITLE, bold=True)
    sheet.text(24, HEIGHT - 12, told, style.SMALL, style.WAYS["nvlink"].dark)
    cells(sheet, state, layout)
    (cell_arrows if size > LARGE else place_arrows)(sheet, state.moves, layout)
    return sheet.picture(f"{title}. {told}", held=state.held, done=state.done, moves=state.moves)


def state_after(plan: Schedule, step: int, arrays: Sequence[np.ndarray] | None) -> State:
    """Replay a schedule up to a step, on marked arrays and on the arrays given."""
    owner, here = np.arange(plan.chunks) * plan.ranks // plan.chunks, np.arange(plan.ranks)
    given = np.zeros((plan.ranks, plan.chunks, plan.ranks), dtype=np.int64)
    given[here, :, here] = 1
    if plan.collective in MOVED:
        given *= np.arange(1, plan.chunks + 1)[:, None]  # the chunks must be told apart as well
        empty = {"all_gather": owner != here[:, None], "broadcast": here > 0}
        given[empty.get(plan.collective, here < 0)] = 0
    held = replayed(plan, [*given.reshape(plan.ranks, -1)], step).reshape(-1, *given.shape[1:])
    want, counts = expected(plan, given)
    real = () if arrays is None else replayed(plan, [*map(np.asarray, arrays)], step)
    a, b = plan.bounds[[step - 1, step]].tolist() if step else (0, 0)
    columns = (plan.step, plan.source, plan.target, plan.chunk, plan.into, plan.add)
    moves = [Send(*row) for row in zip(*(c[a:b].tolist() for c in columns), strict=True)]
    done = (held[:-1] == want).all(-1) & counts
    numbers = [np.array_split(array, plan.chunks) for array in real]
    return State(plan, held, numbers, done, int(counts.sum()), moves)


def replayed(plan: Schedule, arrays: list[np.ndarray], step: int) -> np.ndarray:
    """Return what every rank, and after them the switch, holds after a step."""
    next(replay(plan, arrays), None)  # refuses arrays that do not fit
    whole, start = replace(plan, ranks=plan.ranks + 1), [*arrays, np.zeros_like(arrays[0])]
    return np.array(next(islice(chain([start], replay(whole, start)), step, None)))


def finding(state: State, step: int, steps: int) -> str:
    """Return the title: what this step does, or what is reached."""
    plan, wrong = state.plan, state.total - int(state.done.sum())
    if step in (0, steps):
        when = "before" if not step else "missed" if wrong else "after"
        return words(f"collective.{when}.{plan.collective}", steps=steps, wrong=wrong)
    carried: dict[int, set[int]] = {}
    for move in state.moves:
        carried.setdefault(move.source, set()).add(move.chunk)
    gpus, loads = len(carried.keys() - {plan.ranks}), {len(c) for c in carried.values()}
    who = "all" if gpus == plan.ranks else ("switch", "one", "some")[min(gpus, 2)]
    load = "most" if len(loads) > 1 else "one" if loads == {1} else "many"
    fate = "_".join(sorted({"add" if move.add else "keep" for move in state.moves}))
    return words(
        "collective.during", step=step, steps=steps, fate=words(f"collective.fate.{fate}"),
        who=words(f"collective.who.{who}", gpus=gpus, ranks=plan.ranks),
        load=words(f"collective.load.{load}", count=max(loads)))


# ---- places --------------------------------------------------------------------------------------


def compact(plan: Schedule) -> Layout:
    """Return one row of cells below the other, with lanes for the arrows between the cells."""
    rows = plan.ranks + plan.uses_switch
    pitch, height = min(105.0, 840 / plan.chunks), min(40.0, 490 / rows)
    places = [Place(24, 98 + (r + 0.5) * height, (0, 0), 104, 98 + r * height) for r in range(rows)]
    return Layout(places, pitch, height - 8, 14)


def large(plan: Schedule) -> Layout:
    """Return places on a circle, or in two rows of domains; the switch stands in the middle."""
    pitch = min(54.0, STRIP / plan.chunks)
    strip = pitch * plan.chunks
    seats = two_rows(plan) if plan.name.startswith("hierarchical") else circle(plan.ranks, strip)
    switch = Place(480, MIDDLE, (strip / 2 + 10, 52), 481 - strip / 2, MIDDLE - 12)
    places = [place(x, y, strip) for x, y in seats] + [switch] * plan.uses_switch
    return Layout(places, pitch, TALL, 2)


def place(x: float, y: float, strip: float) -> Place:
    """Return a factory's place from the middle, its strip on the side away from there."""
    if abs(y) < 150:
        left, top = x + 36 if x > 0 else x - 36 - strip, y - 18
    else:
        left, top = x - strip / 2, y - 34 - TALL if y < 0 else y + 30 + HEAD
    return Place(480 + x, MIDDLE + y, (28, 22), 481 + left, MIDDLE + top)


def circle(ranks: int, strip: float) -> list[Point]:
    """Return points clockwise from the upper left, moved so that strips do not meet."""
    seats = []
    for rank in range(ranks):
        angle = 2 * pi / ranks * (rank - (ranks % 2 == 0) / 2) - pi / 2
        x, y = 212 * cos(angle), 150 * sin(angle)
        if abs(y) > (60 if ranks == 3 else 100):
            side = max(abs(x), strip / 2 + 6) if abs(x) > 1 else 0
            seats.append((copysign(side, x), copysign(150, y)))
        else:
            seats.append((copysign(212, x), y))
    return seats


def two_rows(plan: Schedule) -> list[Point]:
    """Return points in two rows, so that each domain stays together."""
    domain = int(plan.source[plan.target == 0][0]) + 1  # its first ring closes at rank 0
    first = -(-plan.ranks // domain // 2) * domain
    return [((r % first + 0.5) * 912 / first - 456, 150 if r >= first else -150)
            for r in range(plan.ranks)]


# ---- what stays ----------------------------------------------------------------------------------


def ground(sheet: Drawing, plan: Schedule, layout: Layout) -> None:
    """Draw the factories, the empty cells and the names of the chunks."""
    everyone, small = range(len(layout.places)), layout.gap > 2
    for rank, place in enumerate(layout.places):
        name = words(f"collective.{'gpu' if rank < plan.ranks else 'switch'}", rank=rank)
        if small:
            sheet.text(place.x, place.y, name, style.SMALL, bold=True)
        elif rank < plan.ranks:
            factory(sheet, place, name, RANKS[rank])
        else:
            interchange(sheet, place, name)
    boxes = [layout.box(rank, chunk) for rank in everyone for chunk in range(plan.chunks)]
    sheet.path(outline(boxes), style.GROUND, stroke=style.RULE)
    for i, (x, y, w, _) in enumerate(boxes[: plan.chunks] if small else boxes):
        sheet.text(x + w / 2, y - 4, f"c{i % plan.chunks}", style.TINY, style.MUTED, "middle")


def outline(boxes: Iterable[Box]) -> str:
    """Return path data of boxes."""
    return "".join(f"M{x:.2f} {y:.2f}h{w:.2f}v{h:.2f}h{-w:.2f}z" for x, y, w, h in boxes)


def factory(sheet: Drawing, place: Place, name: str, roof: str) -> None:
    """Draw a factory whose roof has the colour of its parts."""
    x, y = place.x - 28, place.y - 12
    sheet.path(f"M{number(x)} {number(y)}{'v-10l18.67 10' * 3}z", roof, stroke=style.FACTORY)
    sheet.rect(x, y, 56, 34, style.FACTORY)
    sheet.text(place.x, place.y + 10, name, style.SMALL, style.PAPER, "middle", bold=True)


def interchange(sheet: Drawing, place: Place, name: str) -> None:
    """Draw the switch, which has cells of its own when it adds."""
    line, (w, h) = style.WAYS["nvswitch"], place.half
    sheet.rect(place.x - w, place.y - h, 2 * w, 2 * h, line.tint, rx=12, stroke=line.dark)
    sheet.text(place.x, place.y - 34, name, style.SMALL, line.dark, "middle", bold=True)


# ---- what changes --------------------------------------------------------------------------------


def cells(sheet: Drawing, state: State, layout: Layout) -> None:
    """Fill the cells; underline what is finished, outline what has just changed."""
    (write_numbers if state.numbers else draw_parts)(sheet, state, layout)
    done = (layout.box(rank, chunk) for rank, chunk in np.argwhere(state.done).tolist())
    sheet.path(outline((x, y + h + 1, w, 3.5) for x, y, w, h in done), style.FREE)
    changed = {layout.box(move.target, move.into): None for move in state.moves}
    sheet.path(outline(changed), stroke=style.INK, stroke_width=2.5)


def marks(sheet: Drawing, texts: Sequence[tuple[float, float, str]], ink: str) -> None:
    """Write many short texts as one element."""
    if texts:
        spans = (f'<tspan x="{x:.2f}" y="{y:.2f}">{text}</tspan>' for x, y, text in texts)
        sheet.add("text", "".join(spans), x=texts[0][0], y=texts[0][1], font_size=style.TINY,
                  fill=ink, text_anchor="middle", font_weight="bold")


def write_numbers(sheet: Drawing, state: State, layout: Layout) -> None:
    """Write the numbers of each cell below each other, as many as there is room for."""
    texts, room = [], int(layout.tall // 12)
    for rank, chunk in np.ndindex(len(layout.places), state.plan.chunks):
        x, y, w, h = layout.box(rank, chunk)
        lines = [f"{value:.4g}" for value in state.numbers[rank][chunk].tolist()]
        if len(lines) > room:
            lines[room - 1 :] = ["…"]
        for i, line in enumerate(lines):
            fits = text_width(line, style.TINY, bold=True) < w + 4
            at = y + h / 2 + 4 + 12 * (i - (len(lines) - 1) / 2)
            texts.append((x + w / 2, at, line if fits else "…"))
    marks(sheet, texts, style.INK)


def draw_parts(sheet: Drawing, state: State, layout: Layout) -> None:
    """Draw the parts that the cells hold, each in its owner's slot, colour and number."""
    held, small = state.held[: len(layout.places)], layout.gap > 2
    across = -(-state.plan.ranks // 2) if small else 2
    down = -(-state.plan.ranks // across)
    alone = (held > 0).sum(-1) == (1 if state.plan.collective in MOVED else -1)
    for owner in range(state.plan.ranks):
        blocks, texts, fill = [], [], RANKS[owner % len(RANKS)]
        for rank, chunk in np.argwhere(held[:, :, owner]).tolist():
            x, y, w, h = layout.box(rank, chunk)
            if not alone[rank, chunk]:
                w, h = w / across, h / down
                x, y = x + owner % across * w, y + owner // across * h
            blocks.append((x + 0.5, y + 0.5, w - 1, h - 1))
            if alone[rank, chunk] or not small:
                texts.append((x + w / 2, y + h / 2 + 4, str(owner)))
        sheet.path(outline(blocks), fill)
        marks(sheet, texts, style.PAPER if fill in WHITE_ON else style.INK)


# ---- arrows --------------------------------------------------------------------------------------


def cell_arrows(sheet: Drawing, moves: list[Send], layout: Layout) -> None:
    """Draw the arrows of the compact form in the lanes beside the cells."""
    for move in moves:
        ends = layout.box(move.source, move.chunk), layout.box(move.target, move.into)
        a, b = ((x + w + 7, y + h / 2) for x, y, w, h in ends)
        arrow(sheet, [a, a, b], move.add)


def place_arrows(sheet: Drawing, moves: list[Send], layout: Layout) -> None:
    """Draw an arrow for each pair that exchanges something, with its cargo on it."""
    taken: list[Box] = []
    for (a, b), group in groupby(sorted(moves, key=lambda m: m[1:3]), key=lambda m: m[1:3]):
        sends = list(group)
        curve = bend(layout.places[a], layout.places[b])
        arrow(sheet, curve, sends[0].add)
        label(sheet, cargo(sends), curve, PAINT[sends[0].add][1], taken)


def arrow(sheet: Drawing, curve: Sequence[Point], add: bool) -> None:
    """Draw an arrow along a curve."""
    (sx, sy), (cx, cy), (ex, ey) = curve
    far = hypot(ex - cx, ey - cy) / 9
    u, v = (ex - cx) / far, (ey - cy) / far
    wings = ex - u - v / 2, ey - v + u / 2, ex, ey, ex - u + v / 2, ey - v - u / 2
    line = "M{} {}Q{} {} {} {}M{} {}L{} {}L{} {}"
    sheet.path(line.format(*map(number, (sx, sy, cx, cy, ex, ey, *wings))),
               stroke=PAINT[add][0], stroke_width=2.5)


def bend(a: Place, b: Place) -> list[Point]:
    """Return start, control point and end of an arrow, bent to the middle and to its right."""
    dx, dy, x, y = b.x - a.x, b.y - a.y, (a.x + b.x) / 2, (a.y + b.y) / 2
    far = hypot(dx, dy)
    u, v = -dy / far, dx / far
    inside = (480 - x) * u + (MIDDLE - y) * v
    bow = far * (0.12 if abs(dy) > 1 else 0.2 + far / 6000)  # a long way round in a row bows more
    push = 10 if a.half != b.half else 14 + copysign(bow, inside) * (abs(inside) > 20)
    control = x + u * push, y + v * push
    return [leave(a, *control), control, leave(b, *control)]


def leave(place: Place, x: float, y: float) -> Point:
    """Return the point just outside a place's box towards another point."""
    dx, dy, (w, h) = x - place.x, y - place.y, place.half
    share = min((w + 4) / max(abs(dx), 1e-9), (h + 4) / max(abs(dy), 1e-9))
    return place.x + dx * share, place.y + dy * share


def label(sheet: Drawing, text: str, curve: list[Point], ink: str, taken: list[Box]) -> None:
    """Write an arrow's cargo on it, at the first point where no other label stands."""
    w = text_width(text, style.SMALL, bold=True)
    (sx, sy), (cx, cy), (ex, ey) = curve
    for t in (0.5, 0.4, 0.6) if hypot(ex - sx, ey - sy) < 250 else (0.26, 0.2, 0.34, 0.42):
        p, q, r = (1 - t) ** 2, 2 * t * (1 - t), t * t
        x, y = p * sx + q * cx + r * ex, p * sy + q * cy + r * ey
        if all(abs(x - ox) > (w + ow) / 2 or abs(y - oy) > 16 for ox, oy, ow, _ in taken):
            break
    taken.append((x, y, w, 0))
    sheet.text(x, y + 4, text, style.SMALL, ink, "middle", bold=True, halo=True)


def cargo(sends: Iterable[Send]) -> str:
    """Say which chunks travel together: "c3 +" is added, "c3" kept, "c3 → c0" put elsewhere."""
    loads = [f"c{s.chunk} → c{s.into}" for s in sends if s.into != s.chunk]
    for sign, add in ((" +", True), ("", False)):
        chunks = sorted(s.chunk for s in sends if s.add == add and s.into == s.chunk)
        runs = [[c for _, c in run] for _, run in groupby(enumerate(chunks), lambda p: p[1] - p[0])]
        names = [f"c{r[0]}" + f"\u2013{r[-1]}" * (len(r) > 1) for r in runs]
        if len(runs) > 1 and len(chunks) > 3:
            names = [words("collective.chunks", count=len(chunks))]
        loads += [", ".join(names) + sign] * bool(names)
    return ", ".join(loads)
