"""Explorers of formulas: the four factors of a bandwidth, a training step, any closed form."""

from collections.abc import Sequence
from typing import Any

from nvlearn import catalog, training
from nvlearn.explorers.explorer import Explorer, NumberControl, choice, drawn
from nvlearn.figures import Picture, bandwidth_train, formula_curve, step_timeline
from nvlearn.formulas import legend
from nvlearn.i18n import words
from nvlearn.units import GB, MB, US

#: What a slider counts, by the unit of the legend: its size in base units, and its name.
COUNTED = {"s": (US, "µs"), "bytes/s": (GB, "GB/s"), "bytes": (MB, "MB"), "count": (1e9, "billion")}


# --- lesson 02: the four factors of the bandwidth formula ---------------------


def bandwidth_explorer() -> Explorer:
    """Return lanes, rate, links and directions with sliders; it opens on an H100."""
    presets = {preset_name(made): factors(made) for made in catalog.nvlinks().values()}
    lanes, rate, links = factors(catalog.nvlink("4.0")).values()
    controls = [
        NumberControl("lanes", words("bandwidth.lanes"), 1, 16, 1, lanes),
        NumberControl("gbit_per_lane", words("bandwidth.rate"), 5.0, 250.0, 5.0, rate),
        NumberControl("links", words("bandwidth.links"), 1, 36, 1, links),
        choice("bandwidth", "directions", (1, 2), 2)]
    return Explorer(train, drawn, controls, None, presets, words("bandwidth.presets"))


def preset_name(made: catalog.NVLink) -> str:
    """Return the words on the button of a generation."""
    key = "preset" if made.lanes.settled else "preset_unsettled"
    generation, gpu = made.name.removeprefix("NVLink "), made.first_gpu.partition(" SXM")[0]
    return words(f"bandwidth.{key}", generation=generation, gpu=gpu)


def factors(made: catalog.NVLink) -> dict[str, Any]:
    """Return the three factors of a generation as the sliders take them."""
    return {
        "lanes": int(made.lanes.value), "gbit_per_lane": made.lane_rate.value / 1e9,
        "links": int(made.links.value)}


def train(lanes: int, gbit_per_lane: float, links: int, directions: int) -> Picture:
    """Draw the train of four factors."""
    return bandwidth_train(lanes, gbit_per_lane * 1e9, links, directions)


# --- lesson 11: what a link costs a training step -----------------------------


def demo_explorer() -> Explorer:
    """Return the demo with sliders; it opens on the source document's 7B model."""
    controls = [
        NumberControl("billions", words("demo_explorer.billions"), 0.5, 200.0, 0.5, 7.0),
        choice("demo_explorer", "bytes_per_gradient", (2, 4), 2),
        NumberControl("gpus", words("demo_explorer.gpus"), 2, 72, 1, training.GPUS),
        NumberControl("compute", words("demo_explorer.compute"), 0.05, 5.0, 0.05, training.COMPUTE),
        choice("demo_explorer", "show", ("both", "overlapped", "in_turn"), "both")]
    presets = {words("demo_explorer.model", billions=b): {"billions": b} for b in (1, 7, 70)}
    return Explorer(demo, drawn, controls, None, presets, words("demo_explorer.presets"))


def demo(billions: float, bytes_per_gradient: int, gpus: int, compute: float, show: str) -> Picture:
    """Draw the demo's step on every interconnect."""
    return step_timeline(
        training.demo_rows(billions * 1e9, bytes_per_gradient, gpus, compute), show)


# --- any closed form ----------------------------------------------------------


def formula_explorer(formulas: str | Sequence[str], over: str, log: bool = True,
                     fixed: dict[str, float] | None = None, **ranges: Sequence[float]) -> Explorer:
    """Return sliders for the arguments of closed forms over a curve along one of them.

    A range is low, high, step and start, in what the slider counts: GPUs, µs, GB/s, MB, billions.
    `fixed` are further arguments in base units.
    """
    names = [formulas] if isinstance(formulas, str) else list(formulas)
    rows = {row.argument: row for name in names for row in legend(name).rows}
    scale = {name: COUNTED.get(rows[name].unit, (1.0, rows[name].unit)) for name in ranges}
    controls = [
        NumberControl(name, words("curve.label", meaning=rows[name].meaning, unit=scale[name][1]),
                      *limits) for name, limits in ranges.items()]
    ends = tuple(ranges[over][end] * scale[over][0] for end in (0, 1))

    def given(values: dict[str, float]) -> dict[str, Any]:
        base = {name: value * scale[name][0] for name, value in values.items()}
        return {"over": over, "ends": ends, "at": base.pop(over), "log": log, **base,
                **(fixed or {})}

    def code(**values: float) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in given(values).items())
        return f"nvlearn.figures.formula_curve({names!r}, {shown})"

    return Explorer(lambda **values: formula_curve(names, **given(values)), drawn, controls, code)
