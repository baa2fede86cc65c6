"""A collective step by step: who holds whose parts, and what moves in this step."""

from collections import Counter
from math import copysign
from typing import NamedTuple

import numpy as np

from nvlearn.collectives import Schedule, Send, run, schedule
from nvlearn.exercises.schedules import COPIES, expected
from nvlearn.figures import style
from nvlearn.figures.city import factory
from nvlearn.figures.drawing import Drawing, Picture, boxes, pen
from nvlearn.formulas.checks import require
from nvlearn.i18n import words

WIDTH, HEIGHT, CENTRE = 960.0, 616.0, 480 + 331j
MOST, STRIP, TALL = 8, 208.0, 52.0  # ranks and chunks; the width and height of a strip of cells
#: Line and ink of an arrow whose cargo is kept, and of one whose cargo is added.
PAINT = (style.FREE, style.WAYS["nvlink"].dark), (style.FACTORY, style.INK)
#: Fills of the ranks' parts: Okabe and Ito's hues, kept apart in lightness as well.
RANKS = ("#56B4E9", "#E69F00", "#2DB58A", "#F0E442", "#0060A0", "#B34700", "#DD9ABF", "#3E4D5B")
WHITE_ON = {RANKS[4], RANKS[5], RANKS[7]}


class Place(NamedTuple):
    """Where a rank or the switch stands: middle, half its size, upper left corner of its cells."""

    at: complex
    half: complex
    corner: complex


def collective_step(schedule: Schedule, step: int) -> Picture:
    """Draw what every rank holds after a step (0 is before the first) and what moved in it."""
    name, steps = schedule.name, len(schedule.bounds) - 1
    require(0 <= step <= steps, f"{name} has {steps} steps; choose 0 (before them) to {steps}, "
            f"not {step}")
    require(max(schedule.ranks, schedule.chunks) <= MOST,
            f"A step is drawn for up to {MOST} ranks and {MOST} chunks; {name} has "
            f"{schedule.ranks} and {schedule.chunks}. Choose fewer ranks or fewer pieces")
    sheet, (places, cells) = Drawing(WIDTH, HEIGHT), seat(schedule)
    held, done, total, moves = state_after(schedule, step)
    ground(sheet, schedule, places, cells)
    sheet.layer()
    title = finding(schedule, step, total - done.sum(), moves)
    told = words("collective.done", done=done.sum(), total=total)
    sheet.heading(title, words("collective.subtitle"))
    sheet.text(24, HEIGHT - 12, told, style.SMALL, style.WAYS["nvlink"].dark)
    draw_parts(sheet, schedule, held, cells)
    mark_cells(sheet, done, moves, cells)
    arrows(sheet, moves, places)
    return sheet.picture(f"{title}. {told}", held=held, done=done, moves=moves)


def state_after(plan: Schedule, step: int) -> tuple[np.ndarray, np.ndarray, int, list[Send]]:
    """Return what is held after a step, what of it is final, how much will be, what moved.

    What every rank holds, and after them the switch, is marked by owner: (place, chunk, owner).
    """
    owner, here = np.arange(plan.chunks) * plan.ranks // plan.chunks, np.arange(plan.ranks)
    given = np.zeros((plan.ranks + 1, plan.chunks, plan.ranks), dtype=np.int64)
    given[here, :, here] = 1
    if plan.collective in COPIES:
        given *= np.arange(1, plan.chunks + 1)[:, None]  # the chunks must be told apart as well
    if plan.collective == "all_gather":
        given[:-1][owner != here[:, None]] = 0
    elif plan.collective == "broadcast":
        given[1:] = 0
    rows = np.transpose([getattr(plan, column) for column in Send._fields])
    before, now = [0, *plan.bounds][step : step + 2]
    so_far = schedule(map(Send._make, rows[:now].tolist()), plan.ranks + 1, plan.chunks)
    held = np.reshape(run(so_far, given.reshape(len(given), -1)), given.shape)
    want, counts = expected(plan, given[:-1])
    moves = [*map(Send._make, rows[before:now].tolist())]
    return held, (held[:-1] == want).all(-1) & counts, int(counts.sum()), moves


def finding(plan: Schedule, step: int, wrong: int, moves: list[Send]) -> str:
    """Return the title: what this step does, or what is reached."""
    steps = len(plan.bounds) - 1
    if step in (0, steps):
        when = "before" if not step else "missed" if wrong else "after"
        return words(f"collective.{when}.{plan.collective}", steps=steps, wrong=wrong)
    loads = Counter(source for source, _ in {(move.source, move.chunk) for move in moves})
    gpus, sizes = len(loads.keys() - {plan.ranks}), {*loads.values()}
    who = "all" if gpus == plan.ranks else ("switch", "one", "some")[min(gpus, 2)]
    load = "most" if len(sizes) > 1 else "one" if sizes == {1} else "many"
    fate = "_".join(sorted({"add" if move.add else "keep" for move in moves}))
    return words(
        "collective.during", step=step, steps=steps, fate=words(f"collective.fate.{fate}"),
        who=words(f"collective.who.{who}", gpus=gpus, ranks=plan.ranks),
        load=words(f"collective.load.{load}", count=max(sizes)))


# ---- places --------------------------------------------------------------------------------------


def seat(plan: Schedule) -> tuple[list[Place], np.ndarray]:
    """Return a place for everyone, and the boxes of their cells, shape (place, chunk, 4).

    The ranks stand in two rows, clockwise, so that a ring is a loop and a domain stays together;
    their cells lie outside, the switch in the middle.
    """
    pitch = min(54.0, STRIP / plan.chunks)
    strip, places, upper = pitch * plan.chunks, [], -(-plan.ranks // 2)
    for rank in range(plan.ranks):
        down = rank >= upper
        nth, wide = (plan.ranks - 1 - rank, plan.ranks - upper) if down else (rank, upper)
        at = CENTRE + complex((nth + 0.5) * 912 / wide - 456, 150 if down else -150)
        places.append(Place(at, 28 + 22j, at + complex(1 - strip / 2, 45 if down else -34 - TALL)))
    switch = Place(CENTRE, complex(strip / 2 + 10, 52), CENTRE + complex(1 - strip / 2, -12))
    places += [switch] * plan.uses_switch
    cells = [[(corner.real + chunk * pitch, corner.imag, pitch - 2, TALL)
              for chunk in range(plan.chunks)] for _, _, corner in places]
    return places, np.array(cells)


# ---- cells ---------------------------------------------------------------------------------------


def ground(sheet: Drawing, plan: Schedule, places: list[Place], cells: np.ndarray) -> None:
    """Draw the factories, the switch if it adds, the empty cells and the names of the chunks."""
    for rank, (at, half, _) in enumerate(places):
        x, y, w, h = at.real, at.imag, half.real, half.imag
        if rank < plan.ranks:
            sheet.path(factory(at, half), RANKS[rank], stroke=style.FACTORY)
            sheet.rect(x - w, y - 0.6 * h, 2 * w, 1.6 * h, style.FACTORY)
            name, down, ink = words("collective.gpu", rank=rank), 10, style.PAPER
        else:
            line = style.WAYS["nvswitch"]
            sheet.rect(x - w, y - h, 2 * w, 2 * h, line.tint, rx=12, stroke=line.dark)
            name, down, ink = words("collective.switch"), -34, line.dark
        sheet.text(x, y + down, name, style.SMALL, ink, "middle", bold=True)
    flat = cells.reshape(-1, 4)
    sheet.path(boxes(*flat.T), style.GROUND, stroke=style.RULE)
    for i, (x, y, w, _) in enumerate(flat.tolist()):
        sheet.text(x + w / 2, y - 4, f"c{i % plan.chunks}", style.TINY, style.MUTED, "middle")


def draw_parts(sheet: Drawing, plan: Schedule, held: np.ndarray, cells: np.ndarray) -> None:
    """Draw the parts that the cells hold, each in its owner's slot, colour and number."""
    for owner, fill in enumerate(RANKS[: plan.ranks]):
        x, y, w, h = cells[held[: len(cells), :, owner] > 0].T
        w, h = w / 2, h / -(-plan.ranks // 2)
        x, y = x + owner % 2 * w, y + owner // 2 * h
        sheet.path(boxes(x + 0.5, y + 0.5, w - 1, h - 1), fill)
        spots = zip((x + w / 2).tolist(), (y + h / 2 + 4).tolist(), strict=True)
        spans = (f'<tspan x="{x:.1f}" y="{y:.1f}">{owner}</tspan>' for x, y in spots)
        ink = style.PAPER if fill in WHITE_ON else style.INK
        sheet.add("text", "".join(spans), font_size=style.TINY, fill=ink, text_anchor="middle",
                  font_weight="bold")


def mark_cells(sheet: Drawing, done: np.ndarray, moves: list[Send], cells: np.ndarray) -> None:
    """Underline the cells that are finished, outline those that have just changed."""
    x, y, w, h = cells[: len(done)][done].T
    sheet.path(boxes(x, y + h + 1, w, 3.5), style.FREE)
    changed = dict.fromkeys((move.target, move.into) for move in moves)
    outlined = np.reshape([cells[place] for place in changed], (-1, 4))
    sheet.path(boxes(*outlined.T), stroke=style.INK, stroke_width=2.5)


# ---- arrows --------------------------------------------------------------------------------------


def arrows(sheet: Drawing, moves: list[Send], places: list[Place]) -> None:
    """Draw an arrow for each pair that exchanges something, with its cargo on it."""
    taken: list[complex] = []
    for a, b in sorted({(move.source, move.target) for move in moves}):
        sends = [move for move in moves if (move.source, move.target) == (a, b)]
        (line, ink), text = PAINT[sends[0].add], cargo(sends)
        start, control, end = bend(places[a], places[b])
        tip = (end - control) / abs(end - control) * 9
        wings = end - tip * (1 - 0.5j), end, end - tip * (1 + 0.5j)
        arrow = pen("M{}Q{} {}M{}L{}L{}", start, control, end, *wings)
        sheet.path(arrow, stroke=line, stroke_width=2.5)
        # Near the sender few lines cross; of these spots the first that is 50 from other cargo.
        spots = [(1 - t) ** 2 * start + 2 * t * (1 - t) * control + t * t * end
                 for t in ((0.4, 0.5, 0.6) if abs(end - start) < 250 else (0.26, 0.2, 0.34, 0.42))]
        at = max(spots, key=lambda spot: min([50, *(abs(spot - other) for other in taken)]))
        taken.append(at)
        sheet.text(at.real, at.imag + 4, text, style.SMALL, ink, "middle", bold=True, halo=True)


def bend(a: Place, b: Place) -> tuple[complex, complex, complex]:
    """Return start, control point and end of an arrow, bent to the middle and to its right."""
    way, middle = b.at - a.at, (a.at + b.at) / 2
    far = abs(way)
    right = way / far * 1j
    inside = ((CENTRE - middle) * right.conjugate()).real
    # A long way round in a row bows more.
    bow = far * (0.12 if abs(way.imag) > 1 else 0.2 + far / 6000)
    push = 10 if a.half != b.half else 14 + copysign(bow, inside) * (abs(inside) > 20)
    control = middle + right * push
    return leave(a, control), control, leave(b, control)


def leave(place: Place, towards: complex) -> complex:
    """Return the point just outside a place's box towards another point."""
    way, half = towards - place.at, place.half + 4 + 4j
    share = min(half.real / max(abs(way.real), 1e-9), half.imag / max(abs(way.imag), 1e-9))
    return place.at + way * share


def cargo(sends: list[Send]) -> str:
    """Say which chunks travel together: "c3 +" is added, "c3" kept, "c3 → c0" put elsewhere."""
    loads = [f"c{s.chunk} → c{s.into}" for s in sends if s.into != s.chunk]
    for sign, add in ((" +", True), ("", False)):
        chunks = sorted(s.chunk for s in sends if s.add == add and s.into == s.chunk)
        names = [f"c{chunk}" for chunk in chunks]
        if len(chunks) > 1 and chunks[-1] - chunks[0] == len(chunks) - 1:
            names = [f"{names[0]}\u2013{chunks[-1]}"]
        elif len(chunks) > 3:
            names = [words("collective.chunks", count=len(chunks))]
        loads += [", ".join(names) + sign] * bool(names)
    return ", ".join(loads)
