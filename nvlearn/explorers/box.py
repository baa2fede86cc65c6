"""Box: what every interactive cell shares, from its handlers to its form without a kernel."""

from collections.abc import Callable, Sequence
from functools import wraps
from html import escape
from typing import Any

import ipywidgets as widgets

from nvlearn.i18n import words

WIDE = {"description_width": "210px"}
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
