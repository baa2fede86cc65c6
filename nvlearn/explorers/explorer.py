"""Explorer: controls around a pure function that draws a picture.

Its parts can be tested apart: *draw*, a pure function (values in, Picture out) that computes with
the rows below and lets `figures` draw, and *controls*. A picture's layers are HTML widgets that
lie on one another; only a layer that changed is sent. The words wait until the value settles.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, wraps
from html import escape
from typing import Any

import ipywidgets as widgets
import traitlets

from nvlearn.data import read_table
from nvlearn.figures.drawing import Picture
from nvlearn.i18n import words

WIDE = {"description_width": "210px"}
ONE_LINE = "<style>.nv-explorer :is(textarea, .nv-code){white-space:pre;overflow-x:auto}</style>"
LOOK = "margin:0.4em 0;max-width:960px;line-height:1.3;white-space:pre-wrap"


def handler(act: Callable[..., None]) -> Callable[..., None]:
    """Let a widget's handler show an exception to the learner: a callback would drop it unseen."""

    @wraps(act)
    def told(box: "Box", event: Any = None) -> None:
        try:
            act(box, event)
        except Exception as error:  # any fault must be seen, whatever its kind
            box.tell(words("explorer.error", error=error), error)

    return told


class Box:
    """Widgets below one another, and a line that tells what came of an act."""

    def __init__(self, name: str, rows: Sequence[widgets.Widget]) -> None:
        """Lay out the rows; the name marks the box for style sheets and tests."""
        self.error: Exception | None = None
        self.told = widgets.HTML()
        self.root = widgets.VBox([*rows, self.told], layout={"max_width": "980px"})
        self.root.add_class(f"nv-{name}")

    def tell(self, said: object = "", error: Exception | None = None) -> None:
        """Say what came of an act; a fault interrupts what a screen reader says."""
        self.error = error
        self.told.value = paragraph(str(said), "alert" if error else "status") if said else ""

    def still(self) -> tuple[str, str]:
        """Return what a reader without a kernel sees: as HTML, and as plain text."""
        raise NotImplementedError

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        html, text = self.still()
        return {**self.root._repr_mimebundle_(), "text/html": html, "text/plain": text}


def paragraph(text: str, role: str = "paragraph", height: str = "0") -> str:
    """Return a text, which may have several lines, as HTML."""
    return f'<p role="{role}" style="min-height:{height};{LOOK}">{escape(text)}</p>'


def button(key: str, act: Callable[..., None]) -> widgets.Button:
    """Return a button whose label and tip stand in the word table."""
    made = widgets.Button(description=words(key), tooltip=words(f"{key}_tip"))
    made.on_click(act)
    return made


def choices(label: str, options: Sequence[Any], value: Any = None) -> widgets.ToggleButtons:
    """Return a row of buttons of which one is chosen, or none yet."""
    return widgets.ToggleButtons(
        options=options, value=value, description=label,
        style={**WIDE, "button_width": "auto"}, layout={"width": "100%"})


def text_field(label: str, value: str = "", height: str = "auto", width: str = "100%",
               **more: Any) -> widgets.Text:
    """Return a field for one line, or with a height for many; it counts when it is left."""
    return (widgets.Text if height == "auto" else widgets.Textarea)(
        value=value, description=label, continuous_update=False, style=WIDE,
        layout={"width": width, "height": height}, **more)


def number_field(unit: str) -> widgets.Text:
    """Return a field for a number, with its unit or without."""
    label = words("prediction_box.label", unit=unit or words("quiz.no_unit"))
    return text_field(label, width="480px", placeholder=words("prediction_box.example"))


SETTLED = 0.15  # seconds without a change after which a value has settled


@dataclass
class Control:
    """What holds one value: `holder` has it as the page shows it; a row may hold it all."""

    name: str
    holder: widgets.DOMWidget
    row: widgets.DOMWidget | None = None
    kind: Callable[[Any], Any] = lambda value: value

    @property
    def value(self) -> Any:
        """What it holds, as what it is to be."""
        return self.kind(self.holder.value)


class WholeText(widgets.BoundedFloatText):
    """A box for a whole number; ipywidgets' own takes 1e9 for 19 and 2.5 for 25."""

    @traitlets.validate("value")
    def _validate_value(self, proposal: Any) -> float:
        return float(round(super()._validate_value(proposal)))


class NumberControl(Control):
    """A number: a box that carries the label, and a slider beside it.

    The slider counts steps from the lower end: JupyterLab's slider for floats writes
    6.999999 back for 7, and moves a value that lies between two steps.
    """

    def __init__(self, name: str, label: str, low: float, high: float, step: float,
                 start: float) -> None:
        """Make the pair of widgets; whole numbers if `start` is an int."""
        kind = type(start)
        box = WholeText if kind is int else widgets.BoundedFloatText
        self.box = box(
            value=start, min=low, max=high, step=step, description=label,
            tooltip=f"{label}: {low:g} to {high:g}",
            style={"description_width": "280px"}, layout={"width": "390px"})
        self.slider = widgets.IntSlider(
            value=round((start - low) / step), min=0, max=round((high - low) / step),
            readout=False, tooltip=label, layout={"width": "320px"})
        steps = (
            lambda count: kind(round(low + count * step, 9)),
            lambda number: round((number - low) / step))
        traitlets.link((self.slider, "value"), (self.box, "value"), steps)
        pair = widgets.HBox([self.box, self.slider], layout={"flex_flow": "row wrap"})
        super().__init__(name, self.box, pair, kind)


def choice(section: str, name: str, keys: Sequence[Any], start: Any) -> Control:
    """Return a row of buttons whose words stand in a section of the word table."""
    options = [(words(f"{section}.{name}_{key}".lower()), key) for key in keys]
    return Control(name, choices(words(f"{section}.{name}"), options, start))


def controls(section: str, **starts: Any) -> list[Control]:
    """Return the controls that the table "explorers" has for an explorer; `starts` go first."""
    made: list[Control] = []
    for name, row in read_table("explorers")[section].items():
        row = row | {"start": starts.get(name, row.get("start"))}
        made.append(choice(section, name, **row) if "keys" in row else
                    NumberControl(name, words(f"{section}.{name}"), **row))
    return made


def tell(picture: Picture, section: str, **told: object) -> Picture:
    """Return a picture whose words are the sentence of an explorer, which may repeat its own."""
    return picture.telling(words(f"{section}.sentence", picture=picture.description, **told))


def written(function: str, /, **values: Any) -> str:
    """Return the call of a function with values, as a line of Python."""
    return f"{function}({', '.join(f'{name}={value!r}' for name, value in values.items())})"


class Explorer(Box):
    """A picture under controls, with the sentence that says what it shows now."""

    def __init__(self, draw: Callable[..., Picture], controls: Sequence[Control],
                 code: Callable[..., str] | None = None,
                 presets: Mapping[str, Mapping[str, Any]] | None = None,
                 presets_label: str = "") -> None:
        """Lay out the widgets and show the opening state.

        `code` gives the line of Python that draws the settings; by default it calls `draw`.
        """
        self.draw = draw
        self.code = code or partial(written, f"{draw.__module__}.{draw.__name__}")
        self.controls = {control.name: control for control in controls}
        self.opening = self.values
        self.presets = dict(presets or {})
        self._held = False
        self._waiting: asyncio.TimerHandle | None = None
        self.preset_buttons = choices(presets_label, list(self.presets))
        self.reset_button = button("explorer.reset", self.on_reset)
        self.picture_box = widgets.GridBox(layout={"overflow": "auto"})
        self.sentence_box = widgets.HTML()
        self.code_box = widgets.HTML(layout={"max_width": "100%"})
        self.picture_box.add_class("nv-picture")
        self.sentence_box.add_class("nv-sentence")
        head = [self.preset_buttons] if self.presets else []
        head += [control.row or control.holder for control in controls]
        super().__init__("explorer", [
            *head, self.picture_box, self.sentence_box, self.reset_button, self.code_box])
        self._show()
        self._say()
        for control in controls:
            control.holder.observe(self.on_change, names="value")
        self.preset_buttons.observe(self.on_preset, names="value")

    @property
    def values(self) -> dict[str, Any]:
        """The value of every control, by name."""
        return {name: control.value for name, control in self.controls.items()}

    @property
    def preset(self) -> str | None:
        """The preset whose values the controls have."""
        have = self.values.items()
        return next((label for label, want in self.presets.items() if want.items() <= have), None)

    def set(self, **values: Any) -> None:
        """Move several controls at once; the picture is drawn one time."""
        self._held = True
        try:
            for name, value in values.items():
                self.controls[name].holder.value = value
        finally:
            self._held = False
        self.on_change()

    @handler
    def on_change(self, _change: Any) -> None:
        """Answer to a moved control."""
        if not self._held:
            self._show()

    @handler
    def on_preset(self, change: Any) -> None:
        """Answer to a preset's button."""
        if change["new"] not in (None, self.preset):
            self.set(**self.presets[change["new"]])

    @handler
    def on_reset(self, _button: Any) -> None:
        """Go back to the opening state."""
        self.set(**self.opening)

    def _show(self) -> None:
        self.picture = self.draw(**self.values)
        layers = self.picture.layers or (self.picture.svg,)
        boxes = self.picture_box.children
        if more := [widgets.HTML(layout={"grid_area": "1 / 1"}) for _ in layers[len(boxes) :]]:
            self.picture_box.children = (*boxes, *more)
        for number, box in enumerate(self.picture_box.children):
            # A traitlet that is set to what it holds sends nothing: only what changed travels.
            box.value = layers[number] if number < len(layers) else ""
        self.tell()
        if self._waiting:
            self._waiting.cancel()
        try:  # the words wait for a moment without a change; where no kernel runs, they do not
            self._waiting = asyncio.get_running_loop().call_later(SETTLED, self._say)
        except RuntimeError:
            self._say()

    @handler
    def _say(self, _event: Any) -> None:
        self.sentence_box.value = paragraph(self.picture.description, height="6.5em")
        line = f"{words('explorer.code')} <code>{escape(self.code(**self.values))}</code>"
        self.code_box.value = f'{ONE_LINE}<div class="nv-code">{line}</div>'
        self.preset_buttons.value = self.preset

    def still(self) -> tuple[str, str]:
        """Return the picture with its words."""
        return self.picture.html(), self.picture.description
