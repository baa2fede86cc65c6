"""Checks of the lessons' exercises; a wrong answer is told which slip it looks like."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from nvlearn import answers, units
from nvlearn.i18n import words


@dataclass(frozen=True, slots=True)
class Check:
    """What a check says; `passed` is None as long as the stub stands there."""

    passed: bool | None
    text: str
    slip: str | None = None

    def __repr__(self) -> str:
        """Return the text, as the notebook shows it."""
        return self.text


def check(id: str, answer: object) -> Check:
    """Check an answer to an exercise: a number, a text with its unit, or a function."""
    exercise = answers.find("exercises", id)
    if answers.is_blank(answer):
        return Check(None, words("exercise.not_yet"))
    return (_check_function if exercise["kind"] == "function" else _check_number)(exercise, answer)


def _passed(exercise: dict[str, Any]) -> Check:
    return Check(True, f"{words('exercise.passed')} {words('exercise.why.' + exercise['id'])}")


def _wrong(said: str, slip: str | None) -> Check:
    return Check(False, f"{said} {answers.slip_sentence(slip) or words('exercise.no_slip')}", slip)


def _check_number(exercise: dict[str, Any], answer: object) -> Check:
    if callable(answer):
        return Check(False, words("exercise.want_number"))
    try:
        given, _, right, slip = answers.judge(exercise, answer)
    except units.UnitError as error:
        return Check(False, str(error))
    if right:
        return _passed(exercise)
    return _wrong(words("exercise.wrong", answer=answers.in_unit(given, exercise)), slip)


def _check_function(exercise: dict[str, Any], answer: object) -> Check:
    if not callable(answer):
        return Check(False, words("exercise.want_function", name=exercise["name"]))
    misses, slips = [], set()
    for sample in exercise["samples"]:
        given = dict(zip(exercise["parameters"], sample, strict=True))
        truth = answers.compute(exercise, **given)
        call = f"{exercise['name']}({', '.join(map(repr, sample))})"
        got = _try(answer, sample, call, truth)
        if isinstance(got, Check):
            # an exception and a missing return speak for themselves, whatever else is wrong
            return got
        if not answers.near(exercise, got, truth):
            told = {"call": call, "got": f"{got:.6g}", "expected": f"{truth:.6g}"}
            misses.append(words("exercise.wrong_call", **told))
            slips.add(answers.recognise(exercise, got, truth, **given))
    if not misses:
        return _passed(exercise)
    return _wrong(misses[0], slips.pop() if len(slips) == 1 else None)


def _try(function: Callable[..., Any], sample: list[Any], call: str, truth: float) -> float | Check:
    told = {"call": call, "expected": f"{truth:.6g}"}
    try:
        got = function(*sample)
    except (Exception, SystemExit) as error:  # what the learner's code raises is told, not thrown
        kind = type(error).__name__
        return Check(False, words("exercise.raised", kind=kind, error=error, **told))
    if answers.is_blank(got):
        return Check(None, words("exercise.not_yet_returned", **told))
    with suppress(TypeError, ValueError, OverflowError):
        if not isinstance(got, str):  # "900" is a text, even if it looks like a number
            return float(got)
    return Check(False, words("exercise.no_number", got=repr(got)[:60], **told))
