"""The explorer of lesson 11: what a link costs a training step."""

from collections.abc import Sequence
from typing import Any

from nvlearn import training
from nvlearn.explorers.explorer import ChoiceControl, Control, Explorer, NumberControl
from nvlearn.figures.drawing import Picture
from nvlearn.figures.step import step_timeline
from nvlearn.i18n import words

SHOWN = ("both", "overlapped", "in_turn")


def demo_explorer() -> Explorer:
    """Return the demo with sliders; it opens on the source document's 7B model."""
    controls: list[Control] = [
        NumberControl("billions", words("demo_explorer.billions"), 0.5, 200.0, 0.5, 7.0),
        ChoiceControl(
            "bytes_per_gradient", words("demo_explorer.bytes"),
            {words("demo_explorer.bytes_16"): 2, words("demo_explorer.bytes_32"): 4}, 2),
        NumberControl("gpus", words("demo_explorer.gpus"), 2, 72, 1, training.GPUS),
        NumberControl("compute", words("demo_explorer.compute"), 0.05, 5.0, 0.05, training.COMPUTE),
        ChoiceControl(
            "show", words("demo_explorer.show"),
            {words(f"demo_explorer.show_{mode}"): mode for mode in SHOWN}, "both")]
    presets = {words("demo_explorer.model", billions=b): {"billions": b} for b in (1, 7, 70)}
    return Explorer(compute, draw, controls, code, presets, words("demo_explorer.presets"))


def compute(
    billions: float, bytes_per_gradient: int, gpus: int, compute: float, show: str
) -> tuple[Sequence[training.DemoRow], str]:
    """Return the rows of the demo and how to show them."""
    return training.demo_rows(billions * 1e9, bytes_per_gradient, gpus, compute), show


def draw(data: tuple[Sequence[training.DemoRow], str]) -> Picture:
    """Draw the steps."""
    return step_timeline(*data)


def code(billions: float, show: str, **given: Any) -> str:
    """Return the line of Python that draws these settings."""
    rest = ", ".join(f"{name}={value:g}" for name, value in given.items())
    shown = "" if show == "both" else f', show="{show}"'
    rows = f"nvlearn.training.demo_rows(parameters={billions:g}e9, {rest})"
    return f"nvlearn.figures.step_timeline({rows}{shown})"
