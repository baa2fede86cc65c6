"""Explorers: every control from end to end, every handler, the still form, and faults."""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import Callable
from html import unescape
from typing import Any
from xml.etree import ElementTree

import ipywidgets as widgets
import pytest

import nvlearn
from nvlearn import nccl, topology
from nvlearn.explorers import (
    Control,
    Explorer,
    NumberControl,
    all_reduce_explorer,
    bandwidth_explorer,
    city_explorer,
    cluster_explorer,
    collective_explorer,
    demo_explorer,
    fit_explorer,
    generations_explorer,
    growth_explorer,
    lessons,
    machines_explorer,
    paste_box,
    planner_explorer,
    routes_explorer,
    straggler_explorer,
    tuning_explorer,
    winner_explorer,
)
from nvlearn.explorers.explorer import choices
from nvlearn.figures import Picture

MAKERS = [
    bandwidth_explorer, demo_explorer, city_explorer, generations_explorer, all_reduce_explorer,
    growth_explorer, fit_explorer, winner_explorer, collective_explorer, straggler_explorer,
    routes_explorer, machines_explorer,
    tuning_explorer, cluster_explorer, planner_explorer,
]  # fmt: skip
each_explorer = pytest.mark.parametrize("make", MAKERS)


def shown(explorer: Explorer) -> str:
    """Return the sentence on the screen, after checking that all parts agree on it."""
    assert explorer.error is None
    assert explorer.told.value == ""
    layers = [box.value for box in explorer.picture_box.children if box.value]
    assert layers == list(explorer.picture.layers or (explorer.picture.svg,))
    ElementTree.fromstring(explorer.picture.svg)
    bundle = explorer._repr_mimebundle_()
    assert bundle["text/plain"] == explorer.picture.description
    assert bundle["text/html"] == explorer.picture.html()
    return explorer.sentence_box.value


def samples(control: Control) -> list[Any]:
    """Return the ends and the middle of a number, every choice of others."""
    if isinstance(control, NumberControl):
        return [control.box.min, (control.box.min + control.box.max) // 2, control.box.max]
    return [value for _, value in control.holder.options]


@each_explorer
def test_every_control_changes_the_sentence_at_both_ends_and_in_the_middle(
    make: Callable[[], Explorer],
) -> None:
    explorer = make()
    height = explorer.picture.height
    for name, control in explorer.controls.items():
        explorer.on_reset()
        said = set()
        tried = samples(control)
        for sample in tried:
            control.holder.value = sample
            said.add(shown(explorer))
            assert explorer.picture.height == height
        assert len(said) == len(tried), name


@each_explorer
def test_every_preset_and_the_reset(make: Callable[[], Explorer]) -> None:
    explorer = make()
    opening = shown(explorer)
    for label, wanted in explorer.presets.items():
        explorer.preset_buttons.value = label
        shown(explorer)
        assert wanted.items() <= explorer.values.items()
    explorer.on_reset()
    assert shown(explorer) == opening


@each_explorer
def test_handlers_can_be_called_directly(make: Callable[[], Explorer]) -> None:
    explorer = make()
    explorer.on_change()
    explorer.on_change({"new": 1})
    explorer.on_preset({"new": None})
    explorer.on_preset({"new": next(iter(explorer.presets), None)})
    explorer.on_reset(explorer.reset_button)
    shown(explorer)


@each_explorer
def test_the_code_line_draws_the_same_picture(make: Callable[[], Explorer]) -> None:
    explorer = make()
    for values in [{}, *explorer.presets.values()]:
        explorer.set(**values)
        line = explorer.code(**explorer.values)
        assert eval(line, {"nvlearn": nvlearn}) == explorer.picture
        assert "<code>" in explorer.code_box.value


def test_bandwidth_opens_on_the_h100_and_marks_what_is_unsettled() -> None:
    explorer = bandwidth_explorer()
    assert explorer.preset_buttons.value == "4.0 H100"
    assert "900 GB/s both ways" in explorer.picture.description
    assert any("unsettled" in label for label in explorer.presets)
    totals = {}
    for label, values in explorer.presets.items():
        explorer.set(**values)
        totals[label] = explorer.picture.data["total"] / 1e9
    assert list(totals.values()) == [160, 300, 600, 112.5, 900, 1800, 3600]


def test_a_moved_slider_leaves_the_preset_and_coming_back_finds_it() -> None:
    explorer = bandwidth_explorer()
    explorer.controls["links"].holder.value = 17
    assert explorer.preset_buttons.value is None
    explorer.controls["links"].holder.value = 18
    assert explorer.preset_buttons.value == "4.0 H100"


def test_slider_and_box_are_one_control() -> None:
    links = bandwidth_explorer().controls["links"]
    assert isinstance(links, NumberControl)
    links.slider.value = 11  # steps above the smallest value, 1
    assert links.box.value == links.holder.value == 12
    links.box.value = 6
    assert links.slider.value == 5
    assert links.box.description
    assert not links.slider.readout


@pytest.mark.parametrize(("typed", "taken"), [
    (2.5, 2), (2.4, 2), (1e9, 36), (-5.0, 1), (12.0, 12)])
def test_a_whole_number_is_what_the_box_shows(typed: float, taken: int) -> None:
    explorer = bandwidth_explorer()
    links = explorer.controls["links"]
    assert isinstance(links, NumberControl)
    links.box.value = typed
    assert links.box.value == links.value == explorer.values["links"] == taken
    assert type(explorer.values["links"]) is int
    assert links.slider.value == taken - 1
    assert "1 to 36" in links.box.tooltip
    assert explorer.error is None


def test_a_value_between_two_steps_stays_as_it_was_typed() -> None:
    rate = bandwidth_explorer().controls["gbit_per_lane"]
    assert isinstance(rate, NumberControl)
    rate.box.value = 28.125
    assert rate.holder.value == 28.125
    rate.slider.value += 1
    assert rate.holder.value == 35.0


def test_a_preset_draws_once_and_what_did_not_change_is_not_sent() -> None:
    explorer = bandwidth_explorer()
    drawn: list[Any] = []
    sent: list[Any] = []
    draw = explorer.draw
    explorer.draw = lambda **values: (drawn.append(values), draw(**values))[1]
    for box in (*explorer.picture_box.children, explorer.sentence_box, explorer.code_box):
        box.observe(sent.append, names="value")
    explorer.preset_buttons.value = "1.0 P100"
    assert (len(drawn), len(sent)) == (1, 3)
    explorer.on_change()
    assert (len(drawn), len(sent)) == (2, 3)


def faulty() -> Explorer:
    """Return an explorer that fails above 5."""

    def draw(number: int, c: int) -> Picture:
        if number > 5:
            raise RuntimeError("number <above> 5")
        return Picture("<svg xmlns='http://www.w3.org/2000/svg'/>", f"It is {number}.", 1, 1)

    controls = [
        NumberControl("number", "a number", 0, 9, 1, 1),
        Control("c", choices("choice", [("x", 1)], 1)),
    ]  # fmt: skip
    return Explorer(
        draw, controls, lambda **given: str(given),
        {"bad": {"number": 9}, "good": {"number": 2}}, "presets",
    )  # fmt: skip


@pytest.mark.parametrize("act", [
    lambda explorer: explorer.controls["number"].box.set_trait("value", 6),
    lambda explorer: explorer.preset_buttons.set_trait("value", "bad"),
    lambda explorer: explorer.set(number=7),
    lambda explorer: explorer.on_preset({"new": "bad"}),
])  # fmt: skip
def test_an_exception_is_told_and_kept_and_goes_away(act: Callable[[Explorer], None]) -> None:
    explorer = faulty()
    act(explorer)
    assert isinstance(explorer.error, RuntimeError)
    assert 'role="alert"' in explorer.told.value
    assert "&lt;above&gt;" in explorer.told.value
    assert explorer.picture.description == "It is 1."
    explorer.on_reset()
    assert shown(explorer)


def test_a_fault_in_the_opening_state_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        Explorer(lambda: 1 / 0, [], lambda: "")


@each_explorer
def test_the_display_has_the_widget_view_and_marks_for_tests(make: Callable[[], Explorer]) -> None:
    explorer = make()
    bundle = explorer._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert "data:image/svg+xml;base64," in bundle["text/html"]
    for box, name in (
        (explorer.root, "nv-explorer"), (explorer.picture_box, "nv-picture"),
        (explorer.sentence_box, "nv-sentence"),
    ):  # fmt: skip
        assert name in box._dom_classes


@each_explorer
def test_controls_that_lose_the_arrow_keys_are_not_used(make: Callable[[], Explorer]) -> None:
    taken = (widgets.RadioButtons, widgets.Select, widgets.Dropdown, widgets.Output)

    def below(widget: Any) -> list[Any]:
        return [widget, *(w for child in getattr(widget, "children", ()) for w in below(child))]

    assert not [widget for widget in below(make().root) if isinstance(widget, taken)]


def test_the_words_wait_until_the_value_settles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nvlearn.explorers.explorer.SETTLED", 0.02)
    explorer = bandwidth_explorer()
    said: list[Any] = []
    explorer.sentence_box.observe(said.append, names="value")

    async def move() -> None:
        for links in range(1, 12):
            explorer.controls["links"].holder.value = links
        assert explorer.picture.data["links"] == 11
        assert not said
        await asyncio.sleep(0.1)

    asyncio.run(move())
    assert len(said) == 1  # the newest value alone
    assert "11 links" in explorer.sentence_box.value


@each_explorer
def test_a_thousand_changes_leave_memory_flat(make: Callable[[], Explorer]) -> None:
    explorer = make()
    control = next(iter(explorer.controls.values()))
    for other in explorer.controls.values():
        control = other if isinstance(other, NumberControl) else control

    tried = samples(control)

    def change(times: int) -> None:
        for turn in range(times):
            control.holder.value = tried[turn % len(tried)]

    change(200)
    gc.collect()
    before = sys.getallocatedblocks()
    change(1000)
    gc.collect()
    assert sys.getallocatedblocks() - before < 1000  # not one block a change is kept


def test_the_paste_box_opens_on_a_fault_and_reads_every_sample() -> None:
    box = paste_box()
    assert "GPU2" in shown(box)
    assert "Something is wrong with GPU2" in box.picture.svg
    for label in box.presets:
        box.preset_buttons.value = label
        assert box.preset_buttons.value == label
        shown(box)
    assert box.picture.data["winners"]  # the last sample is a log, so a curve


def test_the_paste_box_says_of_a_strange_text_what_is_wrong_and_renders_nothing_of_it() -> None:
    box = paste_box()
    assert "nvlearn.data.printout('off_fabric')" in unescape(box.code_box.value)
    box.controls["text"].holder.value = '<img src=x onerror="alert(1)">'
    assert "No printout was found" in box.sentence_box.value
    assert "GPU2" not in box.sentence_box.value + box.picture.svg  # the machine of before is gone
    assert "<img" not in box.sentence_box.value
    assert box.error is None
    assert 'open("FILE")' in unescape(box.code_box.value)
    box.controls["gpu"].holder.value = "<b>H900</b>"
    assert "No GPU is called" in box.sentence_box.value
    assert "<b>" not in box.sentence_box.value


def test_hostile_words_of_a_printout_are_never_html() -> None:
    name = "Tesla <script>alert(1)</script>"
    box = paste_box(f"GPU 0: {name} (UUID: GPU-0)\n\t Link 0: 25.781 GB/s\n")
    assert box.error is None
    for told in (box.sentence_box.value, box.code_box.value, box.picture.html(), box.picture.svg):
        assert "<script" not in told
    assert "alert" in box.picture.description


def test_the_fit_explorer_agrees_with_the_fit() -> None:
    explorer = fit_explorer()
    explorer.set(curve="line")
    table = next(t for t in nccl.tables() if t.name == "8x A100")
    line = nccl.fit_line(table.sizes, table.times, ranks=8)
    assert f"more than {line.left.median:.0%}" in explorer.picture.description
    assert f"worst by {line.left.worst:.0%}" in explorer.picture.description
    explorer.set(curve="nccl")
    fit = nccl.fit(table.machine, table.sizes, table.times)
    assert f"more than {fit.left.median:.0%}" in explorer.picture.description


def test_the_winner_explorer_shows_what_the_model_predicts() -> None:
    explorer = winner_explorer()
    names = explorer.picture.data["winners"]
    machine = nccl.machine("DGX H100")
    found = nccl.predict(machine, "all_reduce", [2.0**10, 2.0**34])
    told = [f"{a} {p}" for a, p in zip(found.algorithm, found.protocol, strict=True)]
    assert [names[2][0], names[2][-1]] == told == ["ring LL", "nvls Simple"]
    explorer.set(nvls=False)
    assert not any("nvls" in name for row in explorer.picture.data["winners"] for name in row)


def test_by_the_cpu_the_way_climbs_and_two_flows_share_each_road_up() -> None:
    explorer = routes_explorer()
    assert "GPU0 → PCIeSwitch0 → GPU1" in explorer.picture.description
    explorer.set(state="host")
    assert "GPU0 → PCIeSwitch0 → CPU0 → PCIeSwitch0 → GPU1" in explorer.picture.description
    assert "slowest flow gets 64 GB/s" in explorer.picture.description
    explorer.set(traffic="next")
    assert "slowest flow gets 32 GB/s" in explorer.picture.description
    explorer.set(state="peer")
    assert "slowest flow gets 40 GB/s" in explorer.picture.description


def test_a_lost_neighbour_slows_a_ring_on_lines_more_than_one_behind_switches() -> None:
    explorer = machines_explorer()
    explorer.set(traffic="ring", state="broken")
    assert "slowest flow gets 16 GB/s" in explorer.picture.description  # of 50
    explorer.set(name="DGX H100")
    assert "slowest flow gets 325 GB/s" in explorer.picture.description  # of 450


def test_the_planner_says_what_fits_and_what_does_not() -> None:
    explorer = planner_explorer()
    found = explorer.picture.data["found"]
    assert f"{found.tried:,}" in explorer.picture.description
    assert [cut[0] for cut in found.cuts.values()][:3] == [4, 8, 32]
    assert "tensor 4 " in explorer.picture.description
    explorer.set(memory=20, gpus=64)
    assert explorer.picture.description.startswith("None of ")
    assert not explorer.picture.data["found"].total.size


def test_the_ring_of_the_city_is_the_widest_of_a_dgx_1() -> None:
    mesh = topology.system("DGX-1 V100")
    widest = max(topology.rings(mesh), key=lambda r: mesh.link_matrix()[r, (*r[1:], 0)].min())
    assert widest == lessons.WIDEST
