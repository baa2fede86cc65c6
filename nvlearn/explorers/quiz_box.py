"""The quiz box: questions one at a time or all, graded by the same function as the text form."""

from collections.abc import Sequence
from html import escape
from typing import Any

import ipywidgets as widgets

from nvlearn.i18n import words
from nvlearn.quiz import bank, session
from nvlearn.quiz.bank import Item

Answer = Any


def quiz_box(what: int | str | Sequence[str] = 1, *, seed: int = 0, one_by_one: bool = True,
             at_once: bool = True) -> "QuizBox":
    """Return the questions of a lesson, of a list of ids or of a file of the bank.

    Other seeds draw other numbers. `at_once` says after each answer what came of it; without it
    the box tells at the end, by topic.
    """
    if isinstance(what, int):
        items = bank.lesson(what)
    elif isinstance(what, str) and what.endswith((".yaml", ".yml")):
        items = tuple(bank.read(bank.Path(what)))
    else:
        items = tuple(map(bank.find, [what] if isinstance(what, str) else what))
    return QuizBox(items, seed, one_by_one, at_once)


class Question:
    """One question with its controls, its hints and what came of the answer."""

    def __init__(self, item: Item, seed: int, at_once: bool, done: Any) -> None:
        """Lay out the widgets; `done` is called after each graded answer."""
        self.item, self.seed, self.at_once, self.done = item, seed, at_once, done
        self.grade: Any = None
        self.hinted = 0
        self.prompt, self.told = widgets.HTML(), widgets.HTML()
        self.controls = self._controls()
        buttons = [("quiz_box.submit", self.submit), ("quiz_box.hint", self.hint),
                   ("quiz_box.again", self.again)]
        self.buttons = [widgets.Button(description=words(key), tooltip=words(f"{key}_tip"))
                        for key, _ in buttons]
        for button, (_, handler) in zip(self.buttons, buttons, strict=True):
            button.on_click(handler)
        self.root = widgets.VBox([self.prompt, *self.controls, widgets.HBox(self.buttons),
                                  self.told], layout={"max_width": "980px"})
        self.root.add_class("nv-question")
        self.ask()

    def _controls(self) -> list[Any]:
        """Return what takes the answer: buttons, boxes to tick, or a field for a number."""
        item, wide = self.item, {"width": "100%"}
        keys = [option["key"] for option in item.options]
        if item.kind == "number":
            unit = " ".join(filter(None, (item.number["unit"], item.number.get("direction"))))
            return [widgets.BoundedFloatText(
                value=0, min=0, max=1e300, description=unit or words("quiz_box.number"),
                style={"description_width": "initial"}, layout={"width": "330px"})]
        if item.kind == "single":
            return [widgets.ToggleButtons(
                options=keys, value=None, tooltips=[item.say(o["text"]) for o in item.options],
                style={"button_width": "4em"}, description=words("quiz_box.choice"))]
        if item.kind == "multiple":
            return [widgets.Checkbox(description=f"{option['key']}  {item.say(option['text'])}",
                                     indent=False, layout=wide) for option in item.options]
        self.order = widgets.HTML()
        made = [widgets.Button(description=key, layout={"width": "4em"},
                               tooltip=item.say(option["text"]))
                for key, option in zip(keys, item.options, strict=True)]
        for button in made:
            button.on_click(self.pick)
        self.picked: list[str] = []
        return [widgets.HBox(made), self.order]

    @property
    def answer(self) -> Answer:
        """What the controls hold."""
        if self.item.kind == "order":
            return self.picked
        if self.item.kind == "multiple":
            keys = [option["key"] for option in self.item.options]
            return [key for key, box in zip(keys, self.controls, strict=True) if box.value]
        value = self.controls[0].value
        return (value or None) if self.item.kind == "number" else value

    def ask(self) -> None:
        """Show the question; options are listed where the buttons carry only letters."""
        head, *lines = session.text(self.item, self.seed).split("\n")
        listed = "" if self.item.kind == "multiple" else "<br>".join(map(escape, lines[1:]))
        self.prompt.value = (f'<p style="color:var(--jp-ui-font-color2,#53606B)">{escape(head)}'
                             f"</p><p>{escape(lines[0])}</p><p>{listed}</p>")

    def say(self, lines: Sequence[str]) -> None:
        """Show what came of an answer, or a hint."""
        told = "".join(f"<p>{escape(line)}</p>" for line in lines if line)
        self.told.value = f'<div role="status">{told}</div>'

    def pick(self, button: Any) -> None:
        """Take the next place of an order."""
        if button.description not in self.picked:
            self.picked.append(button.description)
        self.order.value = escape(" → ".join(self.picked))

    def submit(self, _button: Any = None) -> None:
        """Grade and keep the answer."""
        try:
            self.grade, kept = session.submit(self.item, self.answer, self.seed)
            told = self.grade.told if self.at_once else self.grade.told[:0]
            self.say([*(told or [words("quiz_box.kept")]), kept])
        except Exception as error:  # any fault must be seen, whatever its kind
            self.say([words("explorer.error", error=error)])
        self.done()

    def hint(self, _button: Any = None) -> None:
        """Show the next hint below those shown."""
        self.hinted = min(self.hinted + 1, len(self.item.hints))
        self.say([self.item.say(hint, self.seed) for hint in self.item.hints[: self.hinted]])

    def again(self, _button: Any = None) -> None:
        """Clear the answer; a number is asked with other values."""
        self.seed += self.item.kind == "number"
        for control in self.controls:
            if hasattr(control, "value") and self.item.kind != "order":
                control.value = {"number": 0, "single": None}.get(self.item.kind, False)
        if self.item.kind == "order":
            self.picked, self.order.value = [], ""
        self.told.value = ""
        self.ask()


class QuizBox:
    """Questions, the way through them, and how far it is."""

    def __init__(self, items: Sequence[Item], seed: int, one_by_one: bool, at_once: bool) -> None:
        """Lay out the widgets and show the first question."""
        self.questions = [Question(item, seed, at_once, self.tell) for item in items]
        self.at, self.one_by_one, self.at_once = 0, one_by_one, at_once
        self.back, self.next = (
            widgets.Button(description=words(f"quiz_box.{name}")) for name in ("back", "next"))
        self.back.on_click(lambda _: self.go(self.at - 1))
        self.next.on_click(lambda _: self.go(self.at + 1))
        self.bar, self.place = widgets.HTML(), widgets.VBox()
        head = [widgets.HBox([self.back, self.next, self.bar])] if one_by_one else [self.bar]
        self.root = widgets.VBox([*head, self.place])
        self.root.add_class("nv-quiz")
        self.go(0)

    def go(self, at: int) -> None:
        """Show another question, or all."""
        self.at = min(max(at, 0), len(self.questions) - 1)
        shown = self.questions[self.at : self.at + 1] if self.one_by_one else self.questions
        self.place.children = [question.root for question in shown]
        self.back.disabled, self.next.disabled = self.at == 0, self.at == len(self.questions) - 1
        self.tell()

    def tell(self) -> None:
        """Say how far it is; after the last answer also how it went, by topic."""
        grades = [q.grade for q in self.questions if q.grade and q.grade.outcome != "unanswered"]
        lines = [words("quiz_box.bar", at=self.at + 1, done=len(grades), of=len(self.questions))]
        if len(grades) == len(self.questions):
            lines += [words("quiz_box.score", score=f"{sum(g.score for g in grades):.3g}",
                            of=len(grades))]
            lines += [] if self.at_once else session.report(q.item.id for q in self.questions)
        self.bar.value = f'<span role="status">{"<br>".join(map(escape, lines))}</span>'

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        still = "\n\n".join(session.text(q.item, q.seed) for q in self.questions)
        still += "\n\n" + words("quiz_box.still")
        html = f"<pre style=\"white-space:pre-wrap\">{escape(still)}</pre>"
        return {**self.root._repr_mimebundle_(), "text/html": html, "text/plain": still}
