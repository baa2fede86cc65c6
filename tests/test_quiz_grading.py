"""Grading: four outcomes, partial credit, numbers with tolerance and units, named slips."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nvlearn import answers, units
from nvlearn.quiz import bank
from nvlearn.quiz.bank import Item, grade

ITEMS = list(bank.everything())
OPTIONS = tuple(
    {"key": k, "text": {"en": f"option {k}"}, "reason": {"en": f"why {k}"}} for k in "abcd")


def item(kind: str, answer: str, **more: object) -> Item:
    given = {"prompt": {"en": "?"}, "hints": ({"en": "!"},), "options": OPTIONS, "lesson": 1,
             "level": "mid", "topic": "links", "answer": tuple(answer), "id": "01-99", **more}
    return Item(kind=kind, **given)  # type: ignore[arg-type]


RING = item(
    "number", "", options=(), why={"en": "because"}, number={
        "unit": "s", "formula": "ring_all_reduce_time", "tolerance": 0.02,
        "args": {"message": 14e9, "bandwidth": 450e9, "ranks": 8}, "slips": [{
            "code": "sheet", "args": {"bandwidth": 900e9}, "reason": {"en": "900 is both ways."}}]})


@pytest.mark.parametrize("each", ITEMS, ids=lambda i: i.id)
def test_every_key_is_right_and_nothing_else_is_wholly_right(each: Item) -> None:
    if each.kind == "number":
        for seed in (0, 3):
            truth = answers.compute(each.number, **each.values(seed))
            shown = truth / units.base_unit(each.number["unit"])[0]
            assert grade(each, shown, seed).outcome == "right"
            assert grade(each, answers.in_unit(truth, each.number), seed).outcome == "right"
            assert grade(each, shown * 1.3, seed).outcome == "wrong"
        return
    keys = [option["key"] for option in each.options]
    assert grade(each, list(each.answer)).score == 1
    assert grade(each, ", ".join(each.answer)).outcome == "right"
    if each.kind == "order":
        assert grade(each, each.answer[::-1]).score == 0
        return
    for key in keys:
        wanted = "right" if (key,) == each.answer else "partly" if key in each.answer else "wrong"
        assert grade(each, key).outcome == wanted
        assert any(each.say(o["reason"]) in line for o in each.options if o["key"] == key
                   for line in grade(each, key).told)


@pytest.mark.parametrize("nothing", [None, "", ..., [], " , "])
def test_no_answer_is_unanswered_and_not_wrong(nothing: object) -> None:
    for each in (item("single", "a"), item("multiple", "ab"), RING):
        assert grade(each, nothing)[:2] == ("unanswered", 0.0)


@pytest.mark.parametrize(("answer", "score"), [
    ("ab", 1.0), ("a", 0.5), ("abc", 0.5), ("ac", 0.0), ("cd", 0.0), ("abcd", 0.0), ("B A", 1.0),
    (["a", "a", "b"], 1.0), ({"a", "b"}, 1.0), ("a;b", 1.0)])
def test_several_score_right_minus_wrong_and_not_below_zero(answer: object, score: float) -> None:
    found = grade(item("multiple", "ab"), answer)
    assert found.score == score
    assert found.outcome == ("right" if score == 1 else "partly" if score else "wrong")


def test_what_was_left_out_is_counted_but_not_named() -> None:
    told = grade(item("multiple", "ab"), "a").told
    assert told == ("Partly right (50%).", "a: why a", "Right options that you left out: 1.")


@pytest.mark.parametrize(("answer", "score"), [
    ("abcd", 1.0), ("abdc", 5 / 6), ("dcba", 0.0), ("ab", 1 / 6), ("a > b > c > d", 1.0)])
def test_an_order_scores_its_pairs(answer: str, score: float) -> None:
    assert grade(item("order", "abcd", why={"en": "so"}), answer).score == pytest.approx(score)


@pytest.mark.parametrize("answer", ["e", "ab", "why a", 3, ["a", "b"]])
def test_a_single_choice_refuses_what_is_no_single_option(answer: object) -> None:
    found = grade(item("single", "a"), answer)
    assert found.outcome == "unanswered"
    assert found.told[0].count(".") == 1


@pytest.mark.parametrize("answer", [0.0544, "0.0544", "0.0544 s", "54.4 ms", "54,400 us", 54.6e-3])
def test_numbers_count_with_their_units(answer: object) -> None:
    assert grade(RING, answer).outcome == "right"


@pytest.mark.parametrize(("answer", "said"), [
    ("27.2 ms", "900 is both ways."), ("109 ms", "half"), ("54.4", "power of ten")])
def test_a_wrong_number_is_told_the_slip_it_looks_like(answer: str, said: str) -> None:
    found = grade(RING, answer)
    assert found.outcome == "wrong"
    assert len(found.chosen) == 1 or "power" in said
    assert found.told[-2:] == ("It is 0.054444 s.", "because")


@pytest.mark.parametrize("answer", ["quickly", "54 GB", "nan", "-1", float("inf"), [1], "1e999"])
def test_an_unreadable_number_is_unanswered_in_one_sentence(answer: object) -> None:
    found = grade(RING, answer)
    assert found.outcome == "unanswered"
    assert "\n" not in found.told[0]


@given(st.sampled_from(ITEMS), st.one_of(
    st.text(max_size=20), st.floats(), st.integers(), st.lists(st.text(max_size=3), max_size=5)),
    st.integers(0, 5))
def test_anything_gets_an_outcome_and_a_sentence(each: Item, answer: object, seed: int) -> None:
    found = grade(each, answer, seed)
    assert found.outcome in ("right", "partly", "wrong", "unanswered")
    assert 0 <= found.score <= 1
    assert found.told
    assert (found.outcome == "right") == (found.score == 1)
    assert bank.grade(each, answer, seed) == found
