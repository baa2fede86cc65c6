"""Boxes that ask: for a prediction before an explorer, and the questions of the quiz.

They answer by the same functions as the text form.
"""

from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from typing import Any

import ipywidgets as widgets

from nvlearn import answers, quiz

# isort: off
from nvlearn.explorers.explorer import (
    Box, button, choices, handler, number_field, paragraph, text_field)
# isort: on
from nvlearn.i18n import Told, words
from nvlearn.quiz import bank, session
from nvlearn.quiz.bank import Grade, Item

# The setup cell of a notebook outside the course says whose questions it will ask.
if not Path.cwd().is_relative_to(bank.folder().parent):
    print(words("quiz_box.folder", folder=bank.folder().parent))


def quiz_box(what: int | str | Sequence[str] = 1, *, seed: int = 0,
             at_once: bool = True) -> "QuizBox":
    """Return the questions of a lesson, of a list of ids or of a file of the bank.

    Other seeds draw other numbers. `at_once` says after each answer what came of it; without it
    the box tells at the end, by topic.
    """
    if isinstance(what, int):
        items: Sequence[Item] = bank.lesson(what)
    elif isinstance(what, str) and what.endswith((".yaml", ".yml")):
        items = bank.read(Path(what))
    else:
        items = [bank.find(id) for id in ([what] if isinstance(what, str) else what)]
    return QuizBox(items, seed, at_once)


class PredictionBox(Box):
    """One line for a number, a button that commits it, and what came of it."""

    def __init__(self, id: str) -> None:
        """Lay out the widgets; an unknown id is told with the known ones."""
        self.id, self.unit = id, answers.unit(answers.find("predictions", id))
        self.number = number_field(self.unit)
        self.number.observe(self.commit, names="value")  # Enter commits as well
        self.button = button("prediction_box.commit", self.commit)
        self.committed = ""
        line = widgets.HBox([self.number, self.button], layout={"flex_flow": "row wrap"})
        super().__init__("prediction", [line])

    @handler
    def commit(self, _event: Any) -> None:
        """Record the number, each once, and show the truth beside it."""
        given = self.number.value.strip()
        if given and given == self.committed:
            return
        self.committed = given
        self.tell(quiz.predict(self.id, given) if given else words("prediction_box.empty"))

    def still(self) -> tuple[str, str]:
        """Return how to commit a number without the box."""
        unit = self.unit and f", {self.unit}"
        still = words("prediction_box.still", id=self.id, unit=unit)
        return f"<p>{escape(still)}</p>", still


class Question(Box):
    """One question with its controls, its hints and what came of the answer."""

    def __init__(self, item: Item, seed: int, at_once: bool, done: Callable[[], None]) -> None:
        """Lay out the widgets; `done` is called after each graded answer."""
        self.item, self.seed, self.at_once, self.done = item, seed, at_once, done
        self.grade: Grade | None = None
        self.hinted = 0
        self.prompt, self.controls = widgets.HTML(), controls(item)
        acts = (self.submit, self.hint, self.again)
        buttons = [button(f"quiz_box.{act.__name__}", act) for act in acts]
        super().__init__("question", [self.prompt, *self.controls, widgets.HBox(buttons)])
        self.ask()

    @property
    def answer(self) -> Any:
        """What the controls hold."""
        held = [control.value for control in self.controls]
        if self.item.kind != "multiple":
            return held[0]
        return [key for key, ticked in zip(self.item.keys, held, strict=True) if ticked]

    def ask(self) -> None:
        """Show the question; options are listed where the controls carry only letters."""
        self.prompt.value = paragraph(
            session.text(self.item, self.seed, listed=self.item.kind != "multiple"))

    @handler
    def submit(self, _button: Any) -> None:
        """Grade and keep the answer."""
        self.grade, kept = session.submit(self.item, self.answer, self.seed)
        now = self.at_once or self.grade.outcome == "unanswered"
        told = self.grade.told if now else [words("quiz_box.kept")]
        self.tell("\n".join(filter(None, [*told, kept])))
        self.done()

    @handler
    def hint(self, _button: Any) -> None:
        """Show the next hint below those shown."""
        self.hinted += 1
        hints = self.item.hints[: self.hinted]
        self.tell("\n".join(self.item.say(hint, self.seed) for hint in hints))

    @handler
    def again(self, _button: Any) -> None:
        """Clear the answer; a number is asked with other values."""
        self.seed += self.item.kind == "number"
        for control in self.controls:
            control.value = {"single": None, "multiple": False}.get(self.item.kind, "")
        self.tell()
        self.ask()


def controls(item: Item) -> list[widgets.ValueWidget]:
    """Return what takes the answer: buttons, boxes to tick, or a field."""
    if item.kind == "single":
        return [choices(words("quiz_box.choice"), item.keys)]
    if item.kind == "multiple":
        return [widgets.Checkbox(
            description=f"{option['key']}  {item.say(option['text'])}", indent=False,
            layout={"width": "100%"}) for option in item.options]
    if item.kind == "number":
        return [number_field(answers.unit(item.number))]
    return [text_field(words("quiz_box.choice"), placeholder=words("quiz_box.order"))]


class QuizBox(Box):
    """Questions, the way through them, and how far it is."""

    def __init__(self, items: Sequence[Item], seed: int, at_once: bool) -> None:
        """Lay out the widgets and show the first question."""
        self.questions = [Question(item, seed, at_once, self.count) for item in items]
        self.at, self.at_once = 0, at_once
        self.place = widgets.VBox()
        self.back = button("quiz_box.back", lambda _: self.go(self.at - 1))
        self.next = button("quiz_box.next", lambda _: self.go(self.at + 1))
        super().__init__("quiz", [self.place, widgets.HBox([self.back, self.next])])
        self.go(0)

    @handler
    def go(self, at: int) -> None:
        """Show another question."""
        self.at = min(max(at, 0), len(self.questions) - 1)
        self.place.children = [self.questions[self.at].root]
        self.back.disabled, self.next.disabled = self.at == 0, self.at == len(self.questions) - 1
        self.count()

    def count(self) -> None:
        """Say how far it is; after the last answer also how it went, by topic."""
        grades = [q.grade for q in self.questions if q.grade and q.grade.outcome != "unanswered"]
        of = len(self.questions)
        lines = [words("quiz_box.bar", at=self.at + 1, done=len(grades), of=of)]
        if len(grades) == of:
            score = sum(grade.score for grade in grades)
            lines.append(words("quiz_box.score", score=f"{score:.3g}", of=of))
            if not self.at_once:
                lines += session.report([question.item for question in self.questions])
                for question, grade in zip(self.questions, grades, strict=True):
                    question.tell("\n".join(grade.told))
        self.tell("\n".join(lines))

    def still(self) -> tuple[str, str]:
        """Return all questions as text, and how to answer them without the box."""
        asked = [session.text(question.item, question.seed) for question in self.questions]
        still = "\n\n".join([*asked, words("quiz_box.still")])
        return Told(still)._repr_html_(), still


prediction_box = PredictionBox  # the name that lessons use, beside `quiz_box`
