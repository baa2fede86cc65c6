"""Explorer: controls around a pure computation and a picture.

Each explorer has three parts that can be tested apart: *compute* (values in, data out),
*draw* (data in, Picture out) and *controls*. A picture's layers are HTML widgets that lie
on one another; only a layer that changed is sent. The words wait until the value
settles. An error in a callback is shown to the learner.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING, Any

import ipywidgets as widgets
import traitlets

from nvlearn.figures.drawing import Picture
from nvlearn.i18n import words

if TYPE_CHECKING:
    from collections.abc import Iterator

WIDE = {"description_width": "210px"}
SETTLED = 0.15  # seconds without a change after which a value has settled


class NumberControl:
    """A number: a box that carries the label, and a slider beside it.

    The slider counts steps from the lower end: JupyterLab's slider for floats writes
    6.999999 back for 7, and moves a value that lies between two steps.
    """

    def __init__(
        self, name: str, label: str, low: float, high: float, step: float, value: float
    ) -> None:
        """Make the pair of widgets; whole numbers if `value` is an int."""
        self.name, self.low, self.high, self.start = name, low, high, value
        whole = isinstance(value, int)
        box = widgets.BoundedIntText if whole else widgets.BoundedFloatText
        self.box = box(
            value=value, min=low, max=high, description=label, style=WIDE,
            layout={"width": "330px"})
        self.slider = widgets.IntSlider(
            value=round((value - low) / step), min=0, max=round((high - low) / step),
            readout=False, tooltip=label, layout={"width": "320px"})
        steps = (
            lambda count: type(value)(round(low + count * step, 9)),
            lambda number: round((number - low) / step))
        traitlets.link((self.slider, "value"), (self.box, "value"), steps)
        self.widget = widgets.HBox([self.box, self.slider], layout={"flex_flow": "row wrap"})

    @property
    def value(self) -> Any:
        """The number as it stands."""
        return self.box.value

    @value.setter
    def value(self, value: Any) -> None:
        self.box.value = value

    @property
    def samples(self) -> list[Any]:
        """The smallest value, one in the middle, and the largest."""
        middle = (self.low + self.high) / 2
        return [self.low, type(self.start)(middle), self.high]

    def observe(self, handler: Callable[[Any], None]) -> None:
        """Call the handler after each change."""
        self.box.observe(handler, names="value")


class OneWidget:
    """A control that is a single widget."""

    widget: widgets.DOMWidget

    @property
    def value(self) -> Any:
        """The value as it stands."""
        return self.widget.value

    @value.setter
    def value(self, value: Any) -> None:
        self.widget.value = value

    def observe(self, handler: Callable[[Any], None]) -> None:
        """Call the handler after each change."""
        self.widget.observe(handler, names="value")


class ChoiceControl(OneWidget):
    """A choice between a few named values."""

    def __init__(self, name: str, label: str, options: Mapping[str, Any], value: Any) -> None:
        """Make the row of buttons."""
        self.name, self.start = name, value
        self.samples = list(options.values())
        self.widget = widgets.ToggleButtons(
            options=list(options.items()), value=value, description=label,
            style={**WIDE, "button_width": "auto"}, layout={"width": "100%"})


class TextControl(OneWidget):
    """A field for many lines, or for one; a change counts when the field is left."""

    def __init__(self, name: str, label: str, value: str, height: str = "auto") -> None:
        """Make the field; one with a height has many lines."""
        self.name, self.start, self.samples = name, value, [value]
        self.widget = (widgets.Text if height == "auto" else widgets.Textarea)(
            value=value, description=label, continuous_update=False, style=WIDE,
            layout={"width": "100%", "height": height})


def drawn(picture: Picture) -> Picture:
    """Return the picture that was computed: draw, where compute needs it for its words."""
    return picture


def choice(section: str, name: str, keys: Sequence[Any], start: Any) -> ChoiceControl:
    """Return a row of buttons whose words stand in a section of the word table."""
    options = {words(f"{section}.{name}_{key}".lower()): key for key in keys}
    return ChoiceControl(name, words(f"{section}.{name}"), options, start)


Control = NumberControl | ChoiceControl | TextControl
Presets = Mapping[str, Mapping[str, Any]]


class Explorer:
    """A picture under controls, with the sentence that says what it shows now."""

    def __init__(
        self,
        compute: Callable[..., Any],
        draw: Callable[[Any], Picture],
        controls: Sequence[Control],
        code: Callable[..., str],
        presets: Presets | None = None,
        presets_label: str = "",
    ) -> None:
        """Lay out the widgets and show the opening state."""
        self.compute, self.draw, self.code = compute, draw, code
        self.controls = {control.name: control for control in controls}
        self.presets = dict(presets or {})
        self.error: Exception | None = None
        self._held = False
        self._waiting: asyncio.TimerHandle | None = None
        self._make_widgets(presets_label)
        self._show()
        self._say()
        self._listen()

    def _make_widgets(self, presets_label: str) -> None:
        self.preset_buttons = widgets.ToggleButtons(
            options=list(self.presets), value=None, description=presets_label,
            style={**WIDE, "button_width": "auto"}, layout={"width": "100%"})
        self.reset_button = widgets.Button(
            description=words("explorer.reset"), tooltip=words("explorer.reset_tip"), icon="undo")
        self.picture_box = widgets.GridBox(layout={"overflow": "auto"})
        self.sentence_box = widgets.HTML()
        self.code_box, self.alert_box = widgets.HTML(layout={"max_width": "100%"}), widgets.HTML()
        rows = [control.widget for control in self.controls.values()]
        head = [self.preset_buttons] if self.presets else []
        foot = widgets.VBox([self.reset_button, self.code_box])
        self.root = widgets.VBox(
            [*head, *rows, self.picture_box, self.sentence_box, foot, self.alert_box])
        self.root.add_class("nv-explorer")
        self.picture_box.add_class("nv-picture")
        self.sentence_box.add_class("nv-sentence")
        self.root.layout.max_width = "980px"

    def _listen(self) -> None:
        for control in self.controls.values():
            control.observe(self.on_change)
        self.preset_buttons.observe(self.on_preset, names="value")
        self.reset_button.on_click(self.on_reset)

    @property
    def values(self) -> dict[str, Any]:
        """The value of every control, by name."""
        return {name: control.value for name, control in self.controls.items()}

    @property
    def sentence(self) -> str:
        """What the picture says now, in words."""
        return self.picture.description

    def set(self, **values: Any) -> None:
        """Move several controls at once; the picture is drawn one time."""
        with self._hold():
            for name, value in values.items():
                self.controls[name].value = value
        self.on_change()

    def on_change(self, _change: Any = None) -> None:
        """Answer to a moved control."""
        if not self._held:
            with self._told():
                self._show()

    def on_preset(self, change: Any) -> None:
        """Answer to a preset's button."""
        if not self._held and change["new"] is not None:
            with self._told():
                self.set(**self.presets[change["new"]])

    def on_reset(self, _button: Any = None) -> None:
        """Go back to the opening state."""
        with self._told():
            self.set(**{name: control.start for name, control in self.controls.items()})

    def _show(self) -> None:
        self.picture = self.draw(self.compute(**self.values))
        layers = self.picture.layers or (self.picture.svg,)
        boxes = self.picture_box.children
        if len(boxes) < len(layers):
            more = [widgets.HTML(layout={"grid_area": "1 / 1"}) for _ in layers[len(boxes) :]]
            boxes = self.picture_box.children = (*boxes, *more)
        for number, box in enumerate(boxes):
            # A traitlet that is set to what it holds sends nothing: only what changed travels.
            box.value = layers[number] if number < len(layers) else ""
        self._say_error(None)
        self._wait_to_say()

    def _wait_to_say(self) -> None:
        """Say the words once no change has come for a moment; at once where no kernel runs."""
        if self._waiting:
            self._waiting.cancel()
        try:
            self._waiting = asyncio.get_running_loop().call_later(SETTLED, self._say)
        except RuntimeError:
            self._say()

    def _say(self) -> None:
        values, self._waiting = self.values, None
        look = "min-height:6.5em;white-space:pre-line"
        self.sentence_box.value = _line(self.picture.description, look)
        line = f"{words('explorer.code')} <code>{escape(self.code(**values))}</code>"
        self.code_box.value = f'<div style="white-space:nowrap;overflow-x:auto">{line}</div>'
        with self._hold():
            self.preset_buttons.value = self._preset_of(values)

    def _preset_of(self, values: Mapping[str, Any]) -> str | None:
        for label, wanted in self.presets.items():
            if all(values[name] == value for name, value in wanted.items()):
                return label
        return None

    @contextmanager
    def _hold(self) -> Iterator[None]:
        before, self._held = self._held, True
        try:
            yield
        finally:
            self._held = before

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Show an exception to the learner: a widget's callback would drop it unseen."""
        try:
            yield
        except Exception as error:  # any fault must be seen, whatever its kind
            self._say_error(error)

    def _say_error(self, error: Exception | None) -> None:
        self.error = error
        told = "" if error is None else words("explorer.error", error=error)
        self.alert_box.value = f'<span role="alert">{escape(told)}</span>' if told else ""

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return {**self.root._repr_mimebundle_(), **self.picture._repr_mimebundle_()}


def _line(text: str, look: str) -> str:
    return f'<p style="{look};margin:0.4em 0;max-width:960px;line-height:1.3">{escape(text)}</p>'
