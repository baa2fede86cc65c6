"""The question bank: every item is sound, complete, and cannot be read wrongly."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from pathlib import Path

import jsonschema
import pytest
import yaml

from nvlearn import answers, units
from nvlearn.data import read_table
from nvlearn.quiz import bank
from nvlearn.quiz.bank import BankError, Item

FOLDER = Path(__file__).parents[1] / "quizzes"
FILES = sorted(FOLDER.glob("[01]*.yaml"))
ITEMS = list(bank.everything())
NUMBERS = [item for item in ITEMS if item.kind == "number"]
each_item = pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.id)
each_number = pytest.mark.parametrize("item", NUMBERS, ids=lambda item: item.id)
SINGLE = next(item for item in ITEMS if item.kind == "single")
USUAL = {case["code"] for case in read_table("slips")["slip"]}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_file_has_the_form_of_the_schema(path: Path) -> None:
    jsonschema.Draft202012Validator.check_schema(
        json.loads((FOLDER / "schema.json").read_text(encoding="utf-8"))
    )
    assert bank.check(path) == (len(bank.read(path)), [])
    assert {item.lesson for item in bank.read(path)} == {int(path.stem)}


def test_each_lesson_has_six_questions_or_more_and_the_bank_80() -> None:
    counts = Counter(item.lesson for item in ITEMS)
    assert set(counts) == {*range(1, 14)}
    assert min(counts.values()) >= 6
    assert len(ITEMS) >= 80
    assert len(NUMBERS) >= 30
    assert {item.kind for item in ITEMS} == {*bank.KINDS}
    assert {item.level for item in ITEMS} == {*bank.LEVELS}


def test_ids_are_unique_and_belong_to_their_lesson() -> None:
    ids = [item.id for item in ITEMS]
    assert len(ids) == len(set(ids))
    assert all(item.id.startswith(f"{item.lesson:02}-") for item in ITEMS)


def test_the_ten_questions_of_the_source_are_all_there() -> None:
    assert sorted(item.source for item in ITEMS if item.source) == sorted(
        f"Q{n}" for n in range(1, 11)
    )
    assert {i.source: i.id for i in ITEMS if i.source}["Q9"].startswith("08")


def test_no_position_is_right_much_more_often_than_others() -> None:
    places = Counter(item.answer[0] for item in ITEMS if item.kind == "single")
    assert max(places.values()) < 2 * min(places.values())


@each_item
def test_every_option_has_a_reason_and_every_text_is_filled(item: Item) -> None:
    texts = [item.prompt, *item.hints, *(option["text"] for option in item.options)]
    texts += [option["reason"] for option in item.options]
    texts += [item.why] if item.why else []
    texts += [slip["reason"] for slip in item.number.get("slips", ())]
    for seed in (0, 1, 2):
        said = [item.say(text, seed) for text in texts]
        assert all(part.strip() for part in said)
        assert not any(brace in part for part in said for brace in "{}")
    named = [item.say(option["text"]) for option in item.options]
    assert len(named) == len(set(named))


@each_item
def test_references_are_known(item: Item) -> None:
    errata = {entry["id"] for entry in read_table("errata")["erratum"]}
    assert {*item.references} <= errata | {*read_table("sources")}


@each_number
def test_all_draws_have_a_sensible_value_and_slips_that_differ(item: Item) -> None:
    entry, draw = item.number, item.number["draw"]
    base = units.base_unit(entry["unit"])[0]
    for values in itertools.product(*draw.values()):
        given = dict(zip(draw, values, strict=True))
        truth = answers.compute(entry, **given)
        assert 1e-4 < truth / base < 1e7
        wrong = answers.wrong_values(entry, truth, **given)
        assert not set(wrong) & USUAL
        ordered = sorted([truth, *wrong.values()])
        for low, high in itertools.pairwise(ordered):
            assert high > low * (1 + entry["tolerance"]), (item.id, given)


def test_a_seed_draws_numbers_and_always_the_same() -> None:
    item = next(i for i in NUMBERS if all(len(v) > 2 for v in i.number["draw"].values()))
    assert item.values() == {name: given[0] for name, given in item.number["draw"].items()}
    assert item.values(7) == item.values(7)
    assert len({str(item.values(seed)) for seed in range(20)}) > 2


def write(path: Path, **changes: object) -> Path:
    entry = yaml.safe_load((FOLDER / f"{SINGLE.lesson:02}.yaml").read_text(encoding="utf-8"))
    (item,) = (i for i in entry["items"] if i["id"] == SINGLE.id)
    made = {key: value for key, value in {**item, **changes}.items() if value is not None}
    path.write_text(yaml.safe_dump({"lesson": 1, "items": [made]}), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"kind": "essay"}, "kind"),
        ({"hints": [{"en": 5}]}, "texts"),
        ({"level": "nightmare"}, "level"),
        ({"answer": "z"}, "answer"),
        ({"answer": None}, "answer"),
        ({"prompt": {"zh": "?"}}, "prompt"),
        ({"hints": []}, "hints"),
        ({"prompt": None}, "prompt"),
        ({"options": None}, "options"),
        ({"kind": "number", "options": None, "answer": None}, "formula"),
        ({"answer": ["a", "b"]}, "answer"),
        ({"kind": "order", "answer": ["a"]}, "answer"),
    ],
)
def test_a_wrong_item_is_told_with_file_id_and_field(
    changes: dict[str, object], field: str, tmp_path: Path
) -> None:
    path = write(tmp_path / "own.yaml", **changes)
    with pytest.raises(BankError) as caught:
        bank.read(path)
    said = str(caught.value)
    assert str(path) in said
    assert SINGLE.id in said
    assert f"field {field} " in said
    assert bank.check(path)[1] != []


def own(path: Path, id: str, changes: dict[str, object]) -> Path:
    """Write a file of one's own with a number item of the course under a new id."""
    found = yaml.safe_load((FOLDER / f"{NUMBERS[0].lesson:02}.yaml").read_text(encoding="utf-8"))
    (entry,) = (i for i in found["items"] if i["id"] == NUMBERS[0].id)
    path.write_text(yaml.safe_dump({"lesson": 2, "items": [{**entry, "id": id, **changes}]}))
    return path


def test_a_sound_question_of_ones_own_has_no_fault(tmp_path: Path) -> None:
    assert bank.check(own(tmp_path / "own.yaml", "02-50", {})) == (1, [])


@pytest.mark.parametrize(("changes", "said"), [
    ({"id": NUMBERS[0].id}, f"{NUMBERS[0].id} is a question of the course"),
    ({"args": {"nonsense": 3}}, "cannot be graded"),
    ({"formula": "no_such"}, "field formula"),
    ({"unit": "furlong"}, "cannot be graded with"),
    ({"tolerance": float("nan")}, "not within its own tolerance"),
    ({"prompt": {"en": "How far is {town}?"}}, "says {town}, but its field draw has no town"),
    ({"slips": [{"code": "same", "times": 1.0, "reason": {"en": "?"}}]}, "slip same gives"),
    ({"factor": 1e400}, "cannot be graded with"),
    ({"draw": {key: [-3] for key in NUMBERS[0].number["draw"]}}, "cannot be graded with"),
])  # fmt: skip
def test_a_question_that_would_fail_when_asked_is_told_by_the_check(
    changes: dict[str, object], said: str, tmp_path: Path
) -> None:
    path = own(tmp_path / "own.yaml", "02-50", changes)
    try:
        _, faults = bank.check(path)
    except BankError as error:
        faults = [str(error)]
    assert len(faults) == 1
    assert said in faults[0]
    assert faults[0].startswith(str(path))
    if "id" not in changes:  # whoever reads the file, in a notebook or to grade, is told as well
        with pytest.raises(BankError) as caught:
            bank.read(path)
        assert said in str(caught.value)


@pytest.mark.parametrize("text", [
    "", "[]", "lesson: 1", "items: 3", "lesson: 1\nitems: [3]", "a: [", "\x00",
    "!!python/name:os.system x",
    "lesson: 1\nitems:\n - {id: x, kind: {a: 1}}",
])  # fmt: skip
def test_any_text_gives_items_or_one_sentence(text: str, tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BankError) as caught:
        bank.read(path)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("id", ["06-99", "99-01", "x", "", "6", None])
def test_an_unknown_id_is_told_with_known_ones(id: str) -> None:
    with pytest.raises(KeyError, match="ids of that lesson are"):
        bank.find(id)


@pytest.mark.parametrize(("text", "said"), [
    ("\ta: 1", "is not a question file"),
    ("a: &x [1]\nb: *x", "aliases"),
    ("[" * 3000, "is not a question file"),
    (b"\xff\xfe".decode("latin-1"), "is not a question file"),
    ("", "is not a question file"),
    ("lesson: 1\nitems: [1]", "is not a question file"),
])  # fmt: skip
def test_a_file_that_is_no_bank_gets_one_sentence(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(ValueError, match=said) as caught:
        bank.read(path)
    assert str(path) in str(caught.value)
    if "items" not in text and text:
        with pytest.raises(BankError, match=said):
            bank.check(path)


def test_an_id_that_stands_twice_is_named(tmp_path: Path) -> None:
    source = (bank.folder() / "01.yaml").read_text(encoding="utf-8")
    path = tmp_path / "own.yaml"
    path.write_text(source.replace('"01-02"', '"01-01"', 1), encoding="utf-8")
    with pytest.raises(ValueError, match="the id 01-01 more than once"):
        bank.read(path)
