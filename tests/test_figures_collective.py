"""The pictures of collectives: a step with everyone's chunks, and a trace over time."""

from __future__ import annotations

import re
from collections.abc import Callable
from xml.etree import ElementTree

import numpy as np
import pytest
from picture_checks import SVG, assert_fits, contrast

from nvlearn import collectives
from nvlearn.collectives import Schedule, Trace, schedule, send
from nvlearn.figures import Picture, collective_step, style, timeline
from nvlearn.figures.collective import FINAL, LEFT, PHASES, RIGHT, bars, cargo, seat, wire
from nvlearn.topology import Topology, cluster, full_mesh, ring, system

PLANS: dict[str, Callable[[], Schedule]] = {
    **{f"ring of {n}": lambda n=n: collectives.ring_all_reduce(n) for n in range(2, 9)},
    "reduce-scatter": lambda: collectives.ring_reduce_scatter(8),
    "all-gather": lambda: collectives.ring_all_gather(8),
    "broadcast": lambda: collectives.ring_broadcast(4, 4),
    "all-to-all": lambda: collectives.pairwise_all_to_all(8),
    "doubling": lambda: collectives.recursive_doubling_all_reduce(6),
    "halving": lambda: collectives.halving_doubling_all_reduce(8),
    "double tree": lambda: collectives.double_tree_all_reduce(8, 4),
    "in the switch": lambda: collectives.in_switch_all_reduce(8, 1),
    "in the switch, parts": lambda: collectives.in_switch_all_reduce(4, 2),
    "two domains": lambda: collectives.hierarchical_all_reduce(8, 4),
    "three domains": lambda: collectives.hierarchical_all_reduce(6, 2),
}


def traced(plan: Schedule, topology: Topology, message: float = 14e9) -> Trace:
    return collectives.time(plan, topology, message, 1e-6)


SLOW = ring(8, 450e9).with_slow_link(3, 4, 0.5)
TRACES: dict[str, Callable[[], Trace]] = {
    "ring of 4": lambda: traced(collectives.ring_all_reduce(4), ring(4, 450e9)),
    "ring of 8": lambda: traced(collectives.ring_all_reduce(8), ring(8, 450e9)),
    "slow": lambda: traced(collectives.ring_all_reduce(8), SLOW),
    "small": lambda: traced(collectives.ring_all_reduce(8), ring(8, 450e9), 64e3),
    "tree": lambda: traced(collectives.double_tree_all_reduce(8), system("DGX H100")),
    "mesh": lambda: traced(collectives.double_tree_all_reduce(8), full_mesh(8, 64e9)),
    "switch": lambda: traced(collectives.in_switch_all_reduce(8), system("DGX H100")),
    "swap": lambda: traced(collectives.pairwise_all_to_all(8), system("DGX H100")),
    "cities": lambda: traced(
        collectives.hierarchical_all_reduce(16, 8), cluster(system("DGX H100"), 2, 50e9)
    ),
    "rack": lambda: traced(collectives.ring_all_reduce(72), system("GB200 NVL72")),
    "slow ring of 72": lambda: traced(
        collectives.ring_all_reduce(72), ring(72, 900e9).with_slow_link(10, 11, 0.5)
    ),
}


def first_middle_last(plan: Schedule) -> list[int]:
    last = len(plan.bounds) - 1
    return [0, 1, (last + 1) // 2, last]


def pictures() -> list[tuple[str, Callable[[], Picture]]]:
    made: list[tuple[str, Callable[[], Picture]]] = [
        (f"{name}, step {step}", lambda plan=plan, step=step: collective_step(plan(), step))
        for name, plan in PLANS.items()
        for step in first_middle_last(plan())
    ]
    return made + [(f"trace, {name}", lambda t=t: timeline(t())) for name, t in TRACES.items()]


@pytest.mark.parametrize(("name", "draw"), pictures())
def test_a_picture_is_sound(name: str, draw: Callable[[], Picture]) -> None:
    picture = draw()
    assert draw() == picture
    assert len(picture.layers) == 2
    assert picture.svg.count("<") < 4000
    for unwanted in (" id=", "<script", "<style", "href", "<animate", "e-0", "nan", "inf"):
        assert unwanted not in picture.svg.replace("xmlns", "").replace("NVLink", "")
    for element in ElementTree.fromstring(picture.svg).iter():
        if element.tag in (f"{SVG}text", f"{SVG}tspan") and element.text:
            element.attrib.setdefault("font-size", f"{style.TINY}")  # a tspan has its text's
            assert_fits(element, picture.width, picture.height)


def title(picture: Picture) -> str:
    texts = ElementTree.fromstring(picture.svg).iter(f"{SVG}text")
    return next(t.text or "" for t in texts if t.attrib["font-size"] == "20")


@pytest.mark.parametrize("name", PLANS)
def test_the_ground_and_the_size_stay_through_all_steps(name: str) -> None:
    plan = PLANS[name]()
    steps = [collective_step(plan, step) for step in first_middle_last(plan)]
    assert len({(p.layers[0], p.height) for p in steps}) == 1
    assert len({p.layers[1] for p in steps}) == len(set(first_middle_last(plan)))


@pytest.mark.parametrize("name", PLANS)
def test_every_collective_is_finished_after_its_last_step(name: str) -> None:
    plan = PLANS[name]()
    steps = len(plan.bounds) - 1
    picture = collective_step(plan, steps)
    done = picture.data["done"]
    assert done.sum() == (plan.ranks if plan.collective == "reduce_scatter" else done.size)
    assert title(picture).startswith(f"After {steps} steps every GPU holds")
    assert title(collective_step(plan, 0)).startswith(f"Before the first of {steps} steps")


def test_titles_say_what_moves() -> None:
    plan = collectives.ring_all_reduce(8)
    assert title(collective_step(plan, 3)) == (
        "Step 3 of 14: 8 chunks move, to be added"
    )
    assert title(collective_step(plan, 14)) == "After 14 steps every GPU holds all sums"
    switch = collectives.in_switch_all_reduce(8, 1)
    assert title(collective_step(switch, 2)) == (
        "Step 2 of 4: 8 chunks move, to be kept"
    )
    chain = collectives.ring_broadcast(4, 4)
    assert title(collective_step(chain, 1)).endswith(": one chunk moves, to be kept")


def test_a_schedule_that_misses_its_goal_is_told_so() -> None:
    plan = schedule([send(0, 0, 1, 0, add=True)], ranks=2, chunks=1)
    assert title(collective_step(plan, 1)) == "After all 1 steps, 1 places still miss the sum"


def paths(picture: Picture, **wanted: str) -> list[str]:
    root = ElementTree.fromstring(picture.layers[-1])
    return [path.attrib["d"] for path in root.iter(f"{SVG}path")
            if all(path.attrib.get(key) == value for key, value in wanted.items())]  # fmt: skip


def count(picture: Picture, **wanted: str) -> int:
    return sum(d.count("z") for d in paths(picture, **wanted))


@pytest.mark.parametrize("name", PLANS)
def test_a_cell_says_whose_parts_it_holds_and_is_marked_where_final_or_changed(name: str) -> None:
    plan = PLANS[name]()
    _, _, cells = seat(plan)
    for step in first_middle_last(plan):
        picture = collective_step(plan, step)
        held = picture.data["held"][: len(cells)]
        words = {
            (float(t.attrib["x"]) - 32, float(t.attrib["y"]) - 11): t.text
            for t in ElementTree.fromstring(picture.layers[1]).iter(f"{SVG}text")
            if t.attrib["font-size"] == f"{style.TINY:g}"
        }
        assert len(words) == held.any(-1).sum()
        for place, chunk in np.argwhere(held.any(-1)):
            x, y = cells[place, chunk, :2].round(2).tolist()
            owners = np.flatnonzero(held[place, chunk]).tolist()
            assert words[x, y] == "+".join(map(str, owners))
        changed = {(move.target, move.into) for move in picture.data["moves"]}
        assert count(picture, stroke=style.INK, fill="none") == len(changed)
        assert count(picture, fill=FINAL) == picture.data["done"].sum()


def test_the_parts_of_a_ring_after_two_steps() -> None:
    held = collective_step(collectives.ring_all_reduce(4), 2).data["held"]
    assert held[2, 0].tolist() == [0, 1, 1, 0]
    assert sorted((held[:4] > 0).sum(-1).ravel().tolist()) == [1] * 8 + [2] * 4 + [3] * 4


@pytest.mark.parametrize(
    ("plan", "step", "words"),
    [
        (collectives.ring_all_reduce(4), 7, "choose 0 .* to 6, not 7"),
        (collectives.ring_all_reduce(4), -1, "not -1"),
        (collectives.ring_all_reduce(9), 0, "up to 8 ranks and 8 chunks; .* has 9 and 9"),
        (collectives.in_switch_all_reduce(4, 16), 0, "fewer ranks or fewer pieces"),
    ],
)
def test_what_cannot_be_drawn_is_refused(plan: Schedule, step: int, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        collective_step(plan, step)


@pytest.mark.parametrize("name", PLANS)
def test_boxes_do_not_overlap(name: str) -> None:
    places, half, _ = seat(PLANS[name]())
    for i, place in enumerate(places):
        assert 8 <= place.real - half.real < place.real + half.real <= 952
        assert 66 <= place.imag - half.imag < place.imag + half.imag <= 616
        for other in places[:i]:
            away = place - other
            assert abs(away.real) >= 2 * half.real + 8 or abs(away.imag) >= 2 * half.imag + 8


def test_arrows_go_from_box_to_box_and_hit_no_other() -> None:
    places, half, _ = seat(collectives.in_switch_all_reduce(8, 1))
    steps = np.linspace(0, 1, 50)[:, None]
    curve = np.hstack([(1 - steps) ** 3, 3 * steps * (1 - steps) ** 2,
                       3 * steps**2 * (1 - steps), steps**3])  # fmt: skip
    pairs = [(a, b) for a in range(9) for b in range(9) if a != b]
    for a, b in pairs:
        way = curve @ wire(places[a], places[b], half)
        for end, place in ((way[0], places[a]), (way[-1], places[b])):
            assert abs(abs((end - place).imag) - half.imag - 4) < 1e-9
            assert abs((end - place).real) == 14
        for place in places[:8]:
            away = way - place
            assert ((abs(away.real) > half.real) | (abs(away.imag) > half.imag)).all()
    there, back = (wire(places[i], places[j], half) for i, j in ((2, 5), (5, 2)))
    assert there[0] != back[-1]


def test_the_cargo_of_an_arrow() -> None:
    assert cargo([send(0, 0, 1, 3, add=True)]) == "c3 +"
    assert cargo([send(0, 0, 1, c) for c in (0, 1)]) == "c0, c1"
    assert cargo([send(0, 0, 1, 3, into=0)]) == "c3 \u2192 c0"
    assert cargo([send(0, 0, 1, 1, add=True), send(0, 0, 1, 0)]) == "c1 +, c0"
    assert cargo([send(0, 0, 1, c) for c in (0, 1, 4, 5)]) == "4 chunks"
    assert cargo([send(0, 0, 1, c, add=True) for c in (0, 1, 2)]) == "3 chunks +"


def test_words_on_colours_have_contrast() -> None:
    assert contrast(FINAL, style.INK) >= 4.5
    for fill, ink in PHASES.values():
        assert contrast(fill, ink) >= 4.5


# --- the timeline -------------------------------------------------------------


def test_what_the_titles_of_timelines_find() -> None:
    assert title(timeline(TRACES["ring of 8"]())) == "54.5 ms: all links are busy 100% of the time"
    assert title(timeline(TRACES["slow"]())) == (
        "109 ms: the slow link GPU3 \u2192 GPU4 keeps all others waiting 50% of the time"
    )
    assert "the busiest links work 61% of the time" in title(timeline(TRACES["cities"]()))
    assert "the busiest links work 89% of the time" in title(timeline(TRACES["tree"]()))
    assert timeline(TRACES["slow"]()).data["busy"]["GPU3 \u2192 GPU4"] > 0.99


def test_a_bar_for_each_transfer_as_long_as_its_time() -> None:
    trace = TRACES["slow"]()
    made, scale = bars(trace, 34.0), (RIGHT - LEFT) / trace.seconds
    order = np.lexsort((trace.start, trace.schedule.source))
    assert made.x == pytest.approx(LEFT + trace.start[order] * scale)
    assert made.end - made.x == pytest.approx((trace.end - trace.start)[order] * scale, abs=0.02)
    assert (made.add == trace.schedule.add[order]).all()
    assert timeline(trace).svg.count(style.JAM) == 1  # the bar of the slow link
    assert count(timeline(trace), fill=style.FACTORY) == 56


@pytest.mark.parametrize("name", TRACES)
def test_bars_lie_in_their_lane_and_in_time(name: str) -> None:
    trace = TRACES[name]()
    made = bars(trace, 30.0)
    assert (made.x >= LEFT - 1e-3).all()
    assert (made.end <= RIGHT + 1e-3).all()
    assert (made.end >= made.x).all()
    lane = (made.y - 112) // 30
    assert (lane == (made.y + made.height - 112 - 1e-6) // 30).all()
    assert set(lane.astype(int)) == set(trace.schedule.source.tolist())


@pytest.mark.parametrize("name", TRACES)
def test_each_link_has_a_bar_as_long_as_its_share_of_the_time(name: str) -> None:
    picture = timeline(TRACES[name]())
    rows = [rect for rect in ElementTree.fromstring(picture.svg).iter(f"{SVG}rect")
            if rect.attrib["height"] == "14"]  # fmt: skip
    ground, shares = rows[::2], rows[1::2]
    assert [float(rect.attrib["width"]) for rect in ground] == [RIGHT - LEFT] * len(shares)
    busy = [float(rect.attrib["width"]) / (RIGHT - LEFT) for rect in shares]
    assert busy == pytest.approx([*picture.data["busy"].values()], abs=1e-4)


def test_the_links_shown_are_the_busiest() -> None:
    assert len(timeline(TRACES["cities"]()).data["busy"]) == 12
    assert next(iter(timeline(TRACES["slow ring of 72"]()).data["busy"])) == "GPU10 \u2192 GPU11"
    assert len(timeline(TRACES["rack"]()).data["busy"]) == 12
    assert len(timeline(TRACES["ring of 4"]()).data["busy"]) == 4


def test_the_ground_of_a_timeline_stays_and_so_does_its_height() -> None:
    one, other = (traced(collectives.ring_all_reduce(8), SLOW, m) for m in (14e9, 14e9 + 4e6))
    assert timeline(one).layers[0] == timeline(other).layers[0]
    assert timeline(one).layers[1] != timeline(other).layers[1]
    assert timeline(one).height == timeline(TRACES["ring of 8"]()).height


def test_a_trace_of_no_time_is_refused() -> None:
    trace = collectives.time(collectives.ring_all_reduce(4), ring(4, 1e9), 0)
    with pytest.raises(ValueError, match="took no time"):
        timeline(trace)
    trace = traced(collectives.ring_all_reduce(144), ring(144, 1e9))
    with pytest.raises(ValueError, match="41,184 transfers and a timeline shows up to 20,000"):
        timeline(trace)


def test_chunks_are_named_where_there_is_room() -> None:
    picture = timeline(TRACES["ring of 8"]())
    names = [t.text for t in ElementTree.fromstring(picture.svg).iter(f"{SVG}text")]
    assert sum(bool(re.fullmatch(r"c\d", name or "")) for name in names) == 112
