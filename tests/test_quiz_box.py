"""The quiz box: every kind of question by its controls, hints, retry, the way, the end."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import ipywidgets as widgets
import pytest
import yaml

from nvlearn import answers
from nvlearn.explorers import quiz_box
from nvlearn.explorers.quiz_box import Question, QuizBox
from nvlearn.quiz import bank, ledger

KINDS = {item.kind: item for item in reversed([*bank.everything()])}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NVLEARN_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def one(kind: str, **options: bool) -> Question:
    box = quiz_box(KINDS[kind].id, **options)
    return box.questions[0]


def fill(question: Question) -> None:
    """Answer right, through the controls."""
    item = question.item
    if item.kind == "single":
        question.controls[0].value = item.answer[0]
    elif item.kind == "multiple":
        for option, tick in zip(item.options, question.controls, strict=True):
            tick.value = option["key"] in item.answer
    elif item.kind == "number":
        truth = answers.compute(item.number, **item.values(question.seed))
        question.controls[0].value = answers.in_unit(truth, item.number)
    else:
        question.controls[0].value = ", ".join(item.answer)


@pytest.mark.parametrize("kind", bank.KINDS)
def test_a_right_answer_by_the_controls_is_right_and_kept(kind: str) -> None:
    question = one(kind)
    fill(question)
    question.submit()
    assert question.grade.outcome == "right"
    assert "Right." in question.told.value
    assert [r["outcome"] for r in ledger.read("answer")] == ["right"]


@pytest.mark.parametrize("kind", bank.KINDS)
def test_nothing_chosen_is_not_wrong_and_not_kept(kind: str) -> None:
    question = one(kind)
    question.submit()
    assert question.grade.outcome == "unanswered"
    assert ledger.read() == []


@pytest.mark.parametrize("kind", bank.KINDS)
def test_trying_again_clears_and_draws_other_numbers(kind: str) -> None:
    question = one(kind)
    asked = question.prompt.value
    fill(question)
    question.submit()
    question.again()
    assert question.told.value == ""
    assert question.answer in (None, [], "")
    assert (question.prompt.value != asked) == (kind == "number")
    fill(question)
    question.submit()
    assert [r["outcome"] for r in ledger.read("answer")] == ["right"] * 2


def test_hints_come_one_by_one() -> None:
    question = one("single")
    hints = [question.item.say(hint) for hint in question.item.hints]
    for count in range(1, len(hints) + 2):
        question.hint()
        assert question.told.value.count("\n") + 1 == min(count, len(hints))


def test_without_feedback_at_once_reasons_wait_for_the_end() -> None:
    ids = [KINDS[kind].id for kind in bank.KINDS]
    box = quiz_box(ids, at_once=False)
    for number, question in enumerate(box.questions):
        box.go(number)
        assert "%" not in box.told.value
        fill(question)
        question.submit()
        if number < len(ids) - 1:
            assert "Right" not in question.told.value
    assert all("Right." in question.told.value for question in box.questions)
    assert "Score: 4 of 4" in box.told.value
    assert "100%" in box.told.value


def test_one_question_at_a_time() -> None:
    box = quiz_box(1)
    assert [len(box.place.children), box.back.disabled, box.next.disabled] == [1, True, False]
    box.next.click()
    assert box.at == 1
    box.go(99)
    assert (box.at, box.next.disabled) == (len(box.questions) - 1, True)


def test_the_still_form_asks_the_same_and_gives_nothing_away() -> None:
    box = quiz_box(6)
    told = box._repr_mimebundle_()
    assert "widget-view" in " ".join(told)
    for item in bank.lesson(6):
        assert item.say(item.prompt) in told["text/plain"]
        assert not any(item.say(o["reason"]) in told["text/plain"] for o in item.options)
    assert "quiz.answer(" in told["text/plain"]


def test_private_questions_come_from_a_file_and_their_text_is_never_html(tmp_path: Path) -> None:
    bad = "<script>alert(1)</script>"
    options = [{"key": key, "text": {"en": f"{key} {bad}"}, "reason": {"en": bad}} for key in "abc"]
    item = {
        "id": "01-77",
        "kind": "single",
        "level": "easy",
        "topic": "links",
        "options": options,
        "answer": "a",
        "prompt": {"en": bad},
        "hints": [{"en": bad}],
    }
    file = tmp_path / "own.yaml"
    file.write_text(yaml.safe_dump({"lesson": 1, "items": [item]}), encoding="utf-8")
    box = quiz_box(str(file), seed=3)
    question = box.questions[0]
    question.hint()
    said = [question.told.value, question.prompt.value]
    question.controls[0].value = "a"
    question.submit()
    said += [question.told.value, box.told.value, box._repr_mimebundle_()["text/html"]]
    assert not any("<script" in text for text in said)
    assert question.grade.outcome == "right"


def test_a_fault_is_shown_and_not_swallowed(monkeypatch: pytest.MonkeyPatch) -> None:
    question = one("single")
    fill(question)
    monkeypatch.setattr("nvlearn.quiz.session.grade", lambda *_: 1 / 0)
    question.submit()
    assert "division by zero" in question.told.value


def test_only_widgets_that_work_by_keyboard_are_used() -> None:
    allowed = {
        widgets.ToggleButtons,
        widgets.Checkbox,
        widgets.Text,
        widgets.Button,
        widgets.HTML,
        widgets.HBox,
        widgets.VBox,
    }

    def kinds(widget: widgets.Widget) -> set[type]:
        return {type(widget)}.union(*(kinds(child) for child in getattr(widget, "children", ())))

    box: QuizBox = quiz_box([KINDS[kind].id for kind in bank.KINDS])
    for question in box.questions:
        assert kinds(question.root) | kinds(box.root) <= allowed


def test_a_notebook_outside_the_course_says_whose_questions_it_asks(tmp_path: Path) -> None:
    for folder, said in ((tmp_path, str(bank.folder().parent)), (bank.folder(), "")):
        done = subprocess.run([sys.executable, "-c", "import nvlearn.explorers"], cwd=folder,
                              capture_output=True, text=True, check=True)  # fmt: skip
        assert (said in done.stdout) if said else not done.stdout
