"""Grading: one pure function for the quiz box, the text form and the teacher's command."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

from nvlearn import answers
from nvlearn.i18n import words
from nvlearn.quiz.bank import Item
from nvlearn.units import UnitError


class Grade(NamedTuple):
    """An outcome, its score from 0 to 1, what is to be said, and the slip or options chosen."""

    outcome: str
    score: float
    told: tuple[str, ...]
    chosen: tuple[str, ...] = ()


def grade(item: Item, answer: Any, seed: int = 0) -> Grade:
    """Grade an answer: a key, keys, or a number with or without unit.

    A choice of several scores (right - wrong) / all right ones, not below 0; an order scores the
    share of pairs that stand in the right order; a number is right within its tolerance.
    """
    if answers.is_blank(answer) or (isinstance(answer, str | list) and not answer):
        return unanswered("unanswered")
    if item.kind == "number":
        return number(item, answer, seed)
    keys = chosen(answer)
    if strange := [key for key in keys if key not in item.keys]:
        return unanswered("no_option", name=repr(strange[0])[:40], keys=", ".join(item.keys))
    if not keys or (len(keys) > 1 and item.kind == "single"):
        return unanswered("one_only" if keys else "unanswered")
    score = ordered(item.answer, keys) if item.kind == "order" else selected(item.answer, keys)
    return verdict(item, score, keys, reasons(item, keys))


def unanswered(why: str, **values: object) -> Grade:
    """Return the grade of what is no answer, with the sentence that says why."""
    return Grade("unanswered", 0.0, (words(f"quiz.{why}", **values),))


def chosen(answer: Any) -> tuple[str, ...]:
    """Return the keys of an answer: "b", "a, c", "ac" or a list, each key once."""
    parts = answer if isinstance(answer, list | tuple | set) else str(answer)
    return tuple(dict.fromkeys(str(p).strip().lower() for p in parts if str(p).strip(" ,;>")))


def selected(right: Sequence[str], keys: Sequence[str]) -> float:
    """Return (right - wrong) / all right ones, not below 0."""
    hits = len({*keys} & {*right})
    return max(0.0, (2 * hits - len(keys)) / len(right))


def ordered(right: Sequence[str], keys: Sequence[str]) -> float:
    """Return the share of all pairs that stand in the right order."""
    place = {key: i for i, key in enumerate(keys)}
    pairs = [*combinations(right, 2)]
    return sum(a in place and b in place and place[a] < place[b] for a, b in pairs) / len(pairs)


def reasons(item: Item, keys: Sequence[str]) -> list[str]:
    """Return the reason of each option chosen, and of right ones that were not."""
    if item.kind == "order":
        return [words("quiz.right_order", keys=", ".join(item.answer)), item.say(item.why)]
    told = [words("quiz.option", name=option["key"], reason=item.say(option["reason"]))
            for option in item.options if option["key"] in keys]
    missed = [key for key in item.answer if key not in keys]
    if item.kind == "multiple" and missed:
        told.append(words("quiz.missed", count=len(missed)))
    return told


def number(item: Item, answer: Any, seed: int) -> Grade:
    """Grade a number; a wrong one is told the slip that it looks like."""
    entry = item.number
    try:
        _, truth, right, slip = answers.judge(entry, answer, **item.values(seed))
    except UnitError as error:
        return Grade("unanswered", 0.0, (str(error),))
    own = {case["code"]: item.say(case["reason"], seed) for case in entry.get("slips", ())}
    said = own.get(slip or "") or answers.slip_sentence(slip)
    told = [said, words("quiz.truth", value=answers.in_unit(truth, entry)),
            item.say(item.why, seed)]
    return verdict(item, float(right), (slip,) if slip else (), told)


def verdict(item: Item, score: float, keys: Sequence[str], told: Sequence[str]) -> Grade:
    """Return the grade of a score, its outcome named first."""
    outcome = "right" if score > 1 - 1e-9 else "partly" if score > 0 else "wrong"
    said = words(f"quiz.{outcome}", score=f"{score:.0%}")
    if item.kind in ("single", "multiple") and item.why and outcome == "right":
        told = [*told, item.say(item.why)]
    return Grade(outcome, score, tuple(filter(None, (said, *told))), tuple(keys))
