"""Taking the quiz, results out and in, a class graded, and the bank for Moodle."""

from __future__ import annotations

import csv
import io
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest

from nvlearn import answers, quiz, units
from nvlearn.quiz import bank, ledger, session

SIX = bank.lesson(6)
SINGLE = next(item for item in SIX if item.kind == "single")
MULTIPLE = next(item for item in SIX if item.kind == "multiple")
NUMBER = next(item for item in SIX if item.kind == "number")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NVLEARN_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def wrong_key(item: bank.Item) -> str:
    return next(option["key"] for option in item.options if option["key"] not in item.answer)


def test_a_question_as_text_says_how_to_answer() -> None:
    said = str(quiz.ask(MULTIPLE.id))
    assert said.startswith(f"{MULTIPLE.id} · ")
    assert "one answer or several" in said
    assert all(f"\n  {option['key']}  " in said for option in MULTIPLE.options)
    assert quiz.ask(NUMBER.id, seed=5) != quiz.ask(NUMBER.id)


def test_an_answer_is_graded_kept_and_explained() -> None:
    said = quiz.answer(SINGLE.id, SINGLE.answer[0])
    assert said.startswith("Right.")
    quiz.answer(SINGLE.id, wrong_key(SINGLE), seed=3)
    quiz.answer(SINGLE.id, None)
    records = ledger.read("answer")
    assert [(r["id"], r["outcome"], r["score"], r["seed"]) for r in records] == [
        (SINGLE.id, "right", 1.0, 0),
        (SINGLE.id, "wrong", 0.0, 3),
    ]


def test_hints_go_from_the_first_to_the_last() -> None:
    first, last = (SINGLE.say(hint) for hint in (SINGLE.hints[0], SINGLE.hints[-1]))
    assert (quiz.hint(SINGLE.id), quiz.hint(SINGLE.id, 99)) == (first, last)
    assert quiz.hint(SINGLE.id, -1) == first


def test_an_answer_that_cannot_be_kept_is_still_graded(home: Path) -> None:
    home.write_text("a file stands where the folder should be")
    said = quiz.answer(SINGLE.id, SINGLE.answer[0])
    assert said.startswith("Right.")
    assert "could not be kept" in said


def test_an_interview_is_drawn_by_level_and_topic_and_the_same_for_a_seed() -> None:
    ids = quiz.interview(6, level="hard", topic="collectives", seed=4)
    assert ids == quiz.interview(6, level="hard", topic="collectives", seed=4)
    assert ids != quiz.interview(6, level="hard", topic="collectives", seed=5)
    assert {(bank.find(i).level, bank.find(i).topic) for i in ids} == {("hard", "collectives")}
    levels = [bank.LEVELS.index(bank.find(i).level) for i in quiz.interview(20, seed=1)]
    assert levels == sorted(levels)
    assert len(set(quiz.interview(1000))) == len(list(bank.everything()))
    with pytest.raises(ValueError, match="No question has level"):
        quiz.interview(topic="cooking")


def test_the_sources_ten_are_a_fixed_set_in_its_order() -> None:
    assert [bank.find(i).source for i in quiz.source_questions()] == [f"Q{n}" for n in range(1, 11)]


def test_progress_tells_scores_and_what_to_read_again() -> None:
    quiz.answer(SINGLE.id, wrong_key(SINGLE))
    quiz.answer(MULTIPLE.id, MULTIPLE.answer)
    said = str(quiz.progress())
    assert f"  lesson 06:   2 of {len(SIX)}, 50%" in said
    assert "  lesson 07:   0 of 12, -" in said
    assert "Read again: lesson 06." in said
    quiz.answer(SINGLE.id, SINGLE.answer)  # the last answer counts
    assert f"  lesson 06:   2 of {len(SIX)}, 100%" in str(quiz.progress())
    assert "Read again" not in str(quiz.progress())


def test_results_are_saved_and_loaded_elsewhere_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quiz.answer(SINGLE.id, SINGLE.answer)
    quiz.predict("02-copy", 3)
    assert session.save(tmp_path / "mine.json") == 2
    before = ledger.read()
    monkeypatch.setenv("NVLEARN_HOME", str(tmp_path / "elsewhere"))
    quiz.answer(NUMBER.id, 1)
    assert session.load(tmp_path / "mine.json") == 2
    assert session.load(tmp_path / "mine.json") == 0
    assert ledger.read()[1:] == before


def test_results_as_a_table(tmp_path: Path) -> None:
    quiz.answer(NUMBER.id, "1 GB")
    session.save(tmp_path / "mine.csv")
    (row,) = csv.DictReader((tmp_path / "mine.csv").read_text(encoding="utf-8").splitlines())
    assert (row["id"], row["answer"], row["outcome"]) == (NUMBER.id, "1 GB", "wrong")


BROKEN = [
    "",
    "{",
    "[]",
    '{"format": "other", "records": []}',
    '{"format": "nvlearn results 1"}',
    '{"format": "nvlearn results 1", "records": [3]}',
    "\x00\xff",
    '{"format": "nvlearn results 1", "records": [{"kind": "answer", "at": "x", "id": 3}]}',
    '{"format": "nvlearn results 1", "records": [{"kind": "answer", "at": "x", "id": "02-01"}]}',
    '{"format": "nvlearn results 1", "records": [{"kind": "note", "at": "x", "is": NaN}]}',
    '{"format": "nvlearn results 1", "records": [{"kind": "note", "at": "\\ud800"}]}',
    '{"format": "nvlearn results 1", "records": [{"kind": "answer", "at": "x", "id": "02-01", '
    '"score": "1"}]}',
    "[" * 100_000,
]


@pytest.mark.parametrize("text", BROKEN, ids=range(len(BROKEN)))
def test_a_damaged_file_is_named_and_changes_nothing(text: str, tmp_path: Path) -> None:
    quiz.answer(SINGLE.id, SINGLE.answer)
    source = tmp_path / "theirs.json"
    source.write_text(text, encoding="latin-1")
    with pytest.raises(ValueError, match=r"theirs\.json is damaged") as caught:
        session.load(source)
    assert "\n" not in str(caught.value)
    assert len(ledger.read()) == 1


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    source = tmp_path / "theirs.json"
    with source.open("wb") as file:
        file.truncate((1 << 24) + 1)
    with pytest.raises(ValueError, match=r"theirs\.json is larger than 16 MB"):
        session.load(source)
    for read in (bank.read, bank.check):
        with pytest.raises(ValueError, match="larger than 16 MB"):
            read(source)


def test_an_export_leaves_what_was_there_if_it_fails(tmp_path: Path, monkeypatch) -> None:
    quiz.answer(SINGLE.id, SINGLE.answer)
    target = tmp_path / "good.json"
    session.save(target)
    good = target.read_text(encoding="utf-8")

    def full(path: Path, *_: object, **__: object) -> None:
        path.touch()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="No space left"):
        session.save(target)
    assert target.read_text(encoding="utf-8") == good
    assert {path.name for path in tmp_path.iterdir()} == {"home", "good.json"}


def test_an_export_takes_only_its_own_kinds_of_file(tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text("my questions", encoding="utf-8")
    with pytest.raises(ValueError, match=r"\.json or \.csv"):
        session.save(own)
    assert own.read_text(encoding="utf-8") == "my questions"


def test_a_folder_among_the_handed_in_files_is_named(tmp_path: Path) -> None:
    (tmp_path / "dir.json").mkdir()
    results(tmp_path / "ANN.JSON", {SINGLE.id: SINGLE.answer[0]})
    rows, bad = graded(tmp_path)
    assert "ANN" in rows
    assert len(bad) == 1
    assert "dir.json" in bad[0]


def test_an_odd_record_is_left_out_and_the_rest_is_read() -> None:
    quiz.answer(SINGLE.id, SINGLE.answer)
    with (ledger.folder() / ledger.NAME).open("a", encoding="utf-8") as file:
        file.write('{"kind": "answer", "at": 3, "id": [1], "score": 1}\n')
    assert "lesson 01" in session.progress()
    assert len(ledger.read("answer")) == 1


def results(path: Path, given: dict[str, object], seed: int = 0) -> None:
    records = [
        {
            "kind": "answer",
            "at": f"2026-01-01T00:00:{n:02}",
            "id": id,
            "seed": seed,
            "answer": answer,
            "score": 1.0,
            "outcome": "right",
            "chosen": [],
        }
        for n, (id, answer) in enumerate(given.items())
    ]
    path.write_text(json.dumps({"format": session.FORMAT, "records": records}), "utf-8")


def graded(folder: Path, seed: int | None = None) -> tuple[dict[str, dict[str, str]], list[str]]:
    text, bad = session.grade_folder(folder, SIX, seed)
    return {row["learner"]: row for row in csv.DictReader(io.StringIO(text))}, bad


def test_a_class_is_graded_anew_into_one_table(tmp_path: Path) -> None:
    wrong = wrong_key(SINGLE)
    results(tmp_path / "ada.json", {SINGLE.id: SINGLE.answer[0], MULTIPLE.id: MULTIPLE.answer})
    results(tmp_path / "bo.json", {SINGLE.id: wrong})  # claims a score of 1
    results(tmp_path / "cy.json", {SINGLE.id: wrong, "99-99": "a"})
    results(tmp_path / "=cmd.json", {SINGLE.id: None})
    (tmp_path / "dee.json").write_text("half a fi")
    rows, bad = graded(tmp_path)
    assert list(rows) == ["'=cmd", "ada", "bo", "cy", "most chosen wrong option"]
    assert [rows[n][SINGLE.id] for n in ("ada", "bo", "cy")] == ["1.0", "0.0", "0.0"]
    assert (rows["ada"]["total"], rows["bo"]["total"]) == ("2.0", "0.0")
    assert rows["most chosen wrong option"][SINGLE.id] == f"{wrong} (2)"
    assert len(bad) == 1
    assert "dee.json" in bad[0]


def test_a_class_with_a_seed_counts_only_its_own_numbers(tmp_path: Path) -> None:
    values = NUMBER.values(7)
    truth = answers.compute(NUMBER.number, **values) / units.base_unit(NUMBER.number["unit"])[0]
    results(tmp_path / "ada.json", {NUMBER.id: truth}, seed=7)
    results(tmp_path / "bo.json", {NUMBER.id: truth}, seed=8)
    results(tmp_path / "cy.json", {"99-01": "a"}, seed=7)
    rows, bad = graded(tmp_path, seed=7)
    assert (rows["ada"][NUMBER.id], rows["bo"][NUMBER.id]) == ("1.0", "")
    assert [fault.partition(".json")[2] for fault in bad] == [
        ": 1 of its answers are to these questions with another seed, and were not counted",
        " answers none of these questions; look at --bank",
    ]


def test_a_look_at_the_questions_with_another_seed_takes_no_answer_away(tmp_path: Path) -> None:
    truth = answers.compute(NUMBER.number, **NUMBER.values(7))
    given = truth / units.base_unit(NUMBER.number["unit"])[0]
    records = [
        {"kind": "answer", "at": "x", "id": NUMBER.id, "seed": seed, "answer": said, "score": 0}
        for seed, said in [(7, 1), (7, given), (0, 1)]
    ]
    written = {"format": session.FORMAT, "records": records}
    (tmp_path / "ada.json").write_text(json.dumps(written), encoding="utf-8")
    rows, bad = graded(tmp_path, seed=7)
    assert (rows["ada"][NUMBER.id], bad) == ("1.0", [])


def test_a_torn_line_is_told_with_the_progress() -> None:
    quiz.answer(SINGLE.id, SINGLE.answer)
    with (ledger.folder() / ledger.NAME).open("a", encoding="utf-8") as file:
        file.write('{"kind": "answer", "id": "02-0')
    assert "Line 2 of" in session.progress()


@pytest.mark.parametrize("name", ["=cmd()", "+1", "-anna", "@x", " =HYPERLINK(1)", "\t=cmd"])
def test_no_cell_of_a_table_is_a_formula(name: str) -> None:
    text = session.table(["learner", "total"], [{"learner": name, "total": 1}])
    assert text.splitlines()[1] == f"'{name},1"


def test_a_folder_without_results_is_told(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"holds no \.json file"):
        graded(tmp_path)


def test_moodle_reads_what_the_bank_holds() -> None:
    items = [*bank.everything()]
    questions = ElementTree.fromstring(session.moodle(items)).findall("question")
    assert len(questions) == len(items)
    for item, question in zip(items, questions, strict=True):
        given = question.findall("answer")
        assert question.findtext("questiontext/text") == item.say(item.prompt)
        assert question.findtext("name/text", "").startswith(item.id)
        points = [float(a.attrib["fraction"]) for a in given]
        if item.kind == "number":
            truth = answers.compute(item.number, **item.values())
            shown = truth / units.base_unit(item.number["unit"])[0]
            assert float(given[0].findtext("text", "")) == pytest.approx(shown)
            assert float(given[0].findtext("tolerance", "")) == pytest.approx(
                abs(shown) * item.number["tolerance"], rel=1e-4
            )
        elif item.kind == "order":
            said = {o["key"]: item.say(o["text"]) for o in item.options}
            assert [a.findtext("text") for a in given] == [said[key] for key in item.answer]
        else:
            right = [key for key, p in zip("abcdef", points, strict=False) if p > 0]
            assert right == sorted(item.answer)
            assert sum(p for p in points if p > 0) == pytest.approx(100, abs=0.01)
            assert all(a.findtext("feedback/text") for a in given)


WRITER = """
from nvlearn import quiz
while True:
    quiz.answer("01-01", "a")
"""


def test_two_kernels_and_a_kill_at_any_moment_lose_no_answer(home: Path) -> None:
    """Kill writers many times; every record but a torn last line is whole, none is lost."""
    chance, count = random.Random(1), 0
    for _ in range(6):
        writers = [
            subprocess.Popen([sys.executable, "-c", WRITER], env=os.environ) for _ in range(2)
        ]
        patience = time.monotonic() + 60
        while len(ledger.read()) < count + 5:
            assert time.monotonic() < patience
            time.sleep(0.01)
        time.sleep(chance.random() / 10)
        for writer in writers:
            writer.send_signal(getattr(signal, "SIGKILL", signal.SIGTERM))
            writer.wait()
        records = ledger.read()
        assert len(records) >= count + 5
        assert len(records.torn) <= 12
        assert {r["id"] for r in records} == {"01-01"}
        count = len(records)
    lines = (home / ledger.NAME).read_bytes().split(b"\n")
    assert len([line for line in lines if line]) == count + len(ledger.read().torn)
    assert session.latest(ledger.read())["01-01"]["answer"] == "a"
