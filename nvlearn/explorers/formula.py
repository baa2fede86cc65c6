"""The explorer of closed forms: a slider for each argument, a curve over one of them."""

from collections.abc import Sequence
from typing import Any

from nvlearn.explorers.explorer import Control, Explorer, NumberControl, drawn
from nvlearn.figures.curve import formula_curve
from nvlearn.figures.drawing import Picture
from nvlearn.formulas import legend
from nvlearn.i18n import words
from nvlearn.units import GB, MB, US

#: What a slider counts, by the unit of the legend: its size in base units, and its name.
COUNTED = {"s": (US, "µs"), "bytes/s": (GB, "GB/s"), "bytes": (MB, "MB"), "count": (1e9, "billion")}
Range = tuple[float, float, float, float]


def formula_explorer(formulas: str | Sequence[str], over: str, log: bool = True,
                     fixed: dict[str, float] | None = None, **ranges: Range) -> Explorer:
    """Return sliders for the arguments of closed forms over a curve along one of them.

    A range is low, high, step and start, in what the slider counts: GPUs, µs, GB/s, MB, billions.
    `fixed` are further arguments in base units.
    """
    names = [formulas] if isinstance(formulas, str) else list(formulas)
    rows = {row.argument: row for name in names for row in legend(name).rows}
    scale = {name: COUNTED.get(rows[name].unit, (1.0, rows[name].unit)) for name in ranges}
    controls: list[Control] = [
        NumberControl(name, words("curve.label", meaning=rows[name].meaning, unit=scale[name][1]),
                      *limits) for name, limits in ranges.items()]
    ends = tuple(ranges[over][end] * scale[over][0] for end in (0, 1))

    def given(values: dict[str, float]) -> dict[str, Any]:
        base = {name: value * scale[name][0] for name, value in values.items()}
        return {"over": over, "ends": ends, "at": base.pop(over), "log": log, **base,
                **(fixed or {})}

    def compute(**values: float) -> Picture:
        return formula_curve(names, **given(values))

    def code(**values: float) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in given(values).items())
        return f"nvlearn.figures.formula_curve({names!r}, {shown})"

    return Explorer(compute, drawn, controls, code)
