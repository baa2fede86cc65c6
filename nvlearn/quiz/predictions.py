"""Predictions: the learner commits a number, sees the truth, and the slip that it looks like."""

from typing import Any

from nvlearn import answers, units
from nvlearn.answers import Told
from nvlearn.i18n import words
from nvlearn.quiz import ledger


def predict(id: str, guess: object) -> Told:
    """Record a guess and answer with the truth, the ratio and the slip it looks like."""
    entry = answers.find("predictions", id)
    if answers.is_blank(guess):
        return Told(words("prediction.not_yet"))
    try:
        given, truth, slip = answers.judge(entry, guess)
    except units.UnitError as error:
        return Told(error)
    scale = units.base_unit(entry["unit"])[0]
    kept = ledger.keep(
        "prediction", id=id, guess=given / scale, truth=truth / scale,
        unit=f"{entry['unit']} {entry.get('direction', '')}".strip(),
        ratio=given / truth if truth else None, slip=slip)
    return Told(" ".join(filter(None, [*_say(entry, given, truth, slip), kept])))


def ids() -> list[str]:
    """Return the ids of all predictions."""
    return list(answers.table("predictions"))


def _say(entry: dict[str, Any], given: float, truth: float, slip: str | None) -> list[str]:
    shown = [answers.in_unit(value, entry) for value in (given, truth)]
    compared = words("prediction.compared", guess=shown[0], truth=shown[1])
    if answers.near(entry, given, truth):
        return [compared, words("prediction.right")]
    ratio = words("prediction.ratio", ratio=f"{given / truth:.3g}") if truth else ""
    why = words(f"prediction.why.{entry['id']}")
    return [compared, ratio, answers.slip_sentence(slip), why]
