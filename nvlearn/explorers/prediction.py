"""The box in which a learner commits a number before an explorer."""

from html import escape
from typing import Any

import ipywidgets as widgets

from nvlearn import answers, quiz
from nvlearn.i18n import words


class PredictionBox:
    """One line for a number, a button that commits it, and what came of it."""

    def __init__(self, id: str) -> None:
        """Lay out the widgets; an unknown id is told with the known ones."""
        entry = answers.find("predictions", id)
        self.id, self.unit = id, f"{entry['unit']} {entry.get('direction', '')}".strip()
        self.number = widgets.Text(
            description=words("prediction_box.label", unit=self.unit), continuous_update=False,
            placeholder=words("prediction_box.example", unit=entry["unit"]),
            style={"description_width": "initial"}, layout={"width": "420px"})
        self.button = widgets.Button(
            description=words("prediction_box.commit"), tooltip=words("prediction_box.tip"))
        self.told = widgets.HTML()
        self.button.on_click(self.commit)
        self.number.observe(self.commit, names="value")  # Enter commits as well
        self.committed = ""
        line = widgets.HBox([self.number, self.button], layout={"flex_flow": "row wrap"})
        self.root = widgets.VBox([line, self.told], layout={"max_width": "980px"})
        self.root.add_class("nv-prediction")

    def commit(self, _event: Any = None) -> None:
        """Record the number, each once, and show the truth beside it."""
        given = self.number.value.strip()
        if given and given == self.committed:
            return
        self.committed = given
        try:
            said = str(quiz.predict(self.id, given)) if given else words("prediction_box.empty")
        except Exception as error:  # any fault must be seen, whatever its kind
            said = words("explorer.error", error=error)
        self.told.value = f'<p role="status" style="max-width:960px">{escape(said)}</p>'

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        still = words("prediction_box.still", id=self.id, unit=self.unit)
        html = f"<p>{escape(still)}</p>"
        return {**self.root._repr_mimebundle_(), "text/html": html, "text/plain": still}


def prediction_box(id: str) -> PredictionBox:
    """Return the box for one prediction, such as "02-copy"."""
    return PredictionBox(id)
