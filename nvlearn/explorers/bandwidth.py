"""The explorer of lesson 02: the four factors of the bandwidth formula."""

from typing import Any

from nvlearn import catalog
from nvlearn.explorers.explorer import ChoiceControl, Control, Explorer, NumberControl
from nvlearn.figures.drawing import Picture
from nvlearn.figures.train import bandwidth_train
from nvlearn.i18n import words

OPENING = "4.0"


def bandwidth_explorer() -> Explorer:
    """Return lanes, rate, links and directions with sliders; it opens on an H100."""
    presets = generations()
    opening = factors(catalog.nvlink(OPENING))
    controls: list[Control] = [
        NumberControl("lanes", words("bandwidth.lanes"), 1, 16, 1, opening["lanes"]),
        NumberControl("gbit_per_lane", words("bandwidth.rate"), 5.0, 250.0, 5.0,
                      opening["gbit_per_lane"]),
        NumberControl("links", words("bandwidth.links"), 1, 36, 1, opening["links"]),
        ChoiceControl(
            "directions", words("bandwidth.directions"),
            {words("bandwidth.one_way"): 1, words("bandwidth.both_ways"): 2}, 2)]
    return Explorer(compute, draw, controls, code, presets, words("bandwidth.presets"))


def generations() -> dict[str, dict[str, Any]]:
    """Return the factors of each NVLink generation under the name of its button."""
    return {preset_name(made): factors(made) for made in catalog.nvlinks().values()}


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


def compute(lanes: int, gbit_per_lane: float, links: int, directions: int) -> dict[str, Any]:
    """Return what the picture takes: the rate in bits per second."""
    rate = gbit_per_lane * 1e9
    return {"lanes": lanes, "lane_rate": rate, "links": links, "directions": directions}


def draw(data: dict[str, Any]) -> Picture:
    """Draw the train."""
    return bandwidth_train(**data)


def code(lanes: int, gbit_per_lane: float, links: int, directions: int) -> str:
    """Return the line of Python that draws these settings."""
    return f"nvlearn.figures.bandwidth_train({lanes}, {gbit_per_lane:g}e9, {links}, {directions})"
