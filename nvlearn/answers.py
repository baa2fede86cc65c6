"""What exercises, predictions and quiz items share: reading an answer and computing the truth."""

import math
from collections.abc import Mapping
from typing import Any, cast

from nvlearn import units
from nvlearn.data import read_table
from nvlearn.formulas import FORMULAS
from nvlearn.formulas.checks import pick
from nvlearn.i18n import words

NEAR = 0.025  # how close an answer must come to a wrong value to be called that slip


def table(name: str) -> dict[str, dict[str, Any]]:
    """Return a table of the package's data folder by its entries' ids."""
    return {entry["id"]: entry for entry in read_table(name)["entry"]}


def find(name: str, key: str) -> dict[str, Any]:
    """Return one entry, or say in one sentence which ids there are."""
    entries = table(name)
    if key not in entries:
        raise KeyError(f"There is no entry {key!r} in {name}; the ids are: {', '.join(entries)}.")
    return entries[key]


def is_blank(answer: object) -> bool:
    """Return whether the answer is still the stub of the notebook."""
    return answer is None or answer is Ellipsis


def compute(entry: Mapping[str, Any], **given: Any) -> float:
    """Return the value of an entry's formula.

    `given` are values of the entry's parameters; `renames` and `scales` turn them into the
    formula's arguments. An argument may be a formula with arguments of its own.
    """
    scales, renames = entry.get("scales", {}), entry.get("renames", {})
    arguments = {renames.get(name, name): v * scales.get(name, 1) for name, v in given.items()}
    for name, value in (entry.get("args") or {}).items():
        arguments[name] = compute(value) if isinstance(value, dict) else value
    factor: float = entry.get("factor", 1.0)
    return factor * float(pick(FORMULAS, entry["formula"], "formula")(**arguments))


def wrong_values(entry: Mapping[str, Any], truth: float, **given: Any) -> dict[str, float]:
    """Return what each of the entry's own slips would give, by its code."""
    wrong = {}
    for case in entry.get("slips", ()):
        if "formula" in case:
            wrong[case["code"]] = compute(case)
        elif "args" in case:
            args = {**entry.get("args", {}), **case["args"]}
            wrong[case["code"]] = compute({**entry, "args": args}, **given)
        else:
            wrong[case["code"]] = truth * case["times"]
    return wrong


def read_answer(answer: object, unit: str, direction: str = "") -> float:
    """Return a learner's answer in the base unit of `unit`.

    A bare number is taken in that unit; a text such as "54 ms" names its own.
    """
    factor, base = units.base_unit(unit)
    plain = answer
    if isinstance(answer, str) and unit in ("", "%"):
        factor *= 0.01 if answer.rstrip().endswith("%") and not unit else 1
        plain = answer.strip().removesuffix("times").strip(" %x\u00d7")
    try:
        value = float(cast(Any, plain)) * factor  # a learner may answer with anything
    except (TypeError, ValueError, OverflowError):
        asked = isinstance(answer, str) and base not in ("", "%")
        value = _quantity(cast(str, answer), base, direction) if asked else math.nan
    if not 0 <= value < math.inf:
        key = "unreadable" if unit else "no_number"
        raise units.UnitError(words(f"answer.{key}", answer=repr(answer)[:60], unit=unit))
    return value


def unit(entry: Mapping[str, Any]) -> str:
    """Return the unit that an entry asks for, with its direction."""
    return f"{entry.get('unit', '')} {entry.get('direction', '')}".strip()


def in_unit(value: float, entry: Mapping[str, Any]) -> str:
    """Write a value in the unit that the entry asks for."""
    return f"{value / units.base_unit(entry['unit'])[0]:.5g} {unit(entry)}".strip()


def _quantity(answer: str, base: str, direction: str) -> float:
    """Read a text in a base unit and in the direction asked for; NaN if it is of another kind."""
    read = units.read(answer)
    in_bits = (read.unit, base) == ("bit/s", "B/s")
    if read.unit != base and not in_bits:
        return math.nan
    value = read.value / units.BITS_PER_BYTE if in_bits else read.value
    if direction == "both ways" and read.direction == "one way":
        return value * 2
    return value / 2 if direction == "one way" and read.direction == "both ways" else value


def slip_sentence(code: str | None) -> str:
    """Return the sentence that names a slip, or "" if none was recognised."""
    return words(f"slip.{code}") if code else ""


def slip(answer: float, truth: float, extra: Mapping[str, float] | None = None,
         tolerance: float = 0.01, unit: str = "", direction: str = "") -> str | None:
    """Return the code of the slip that turns the truth into the answer, or None.

    `extra` maps codes of an exercise's own slips to the wrong values that they give; they are
    looked at first. Of the usual slips only those count that the unit and direction asked for
    allow. A right answer is never a slip.
    """
    right = abs(answer - truth) <= max(tolerance, 1e-12) * abs(truth)
    if right or not (math.isfinite(answer) and math.isfinite(truth)):
        return None
    near = NEAR if tolerance >= 0.001 else max(tolerance, 1e-9)
    kind = units.base_unit(unit)[1] if unit not in ("", "%") else unit
    usual = [(case["code"], truth * factor) for case in read_table("slips")["slip"]
             for factor in case["factors"] if truth and kind in case.get("kinds", (kind,))
             and direction in case.get("ways", (direction,))]
    for wrongs in ((extra or {}).items(), usual):
        hits = [(abs(answer - wrong), code) for code, wrong in wrongs
                if abs(answer - wrong) <= near * abs(wrong)]
        if hits:
            return min(hits)[1]
    return None


def recognise(entry: Mapping[str, Any], answer: float, truth: float, **given: Any) -> str | None:
    """Return the code of the slip of an entry that turns the truth into the answer, or None."""
    return slip(answer, truth, wrong_values(entry, truth, **given), entry.get("tolerance", 0.01),
                entry.get("unit", ""), entry.get("direction", ""))


def near(entry: Mapping[str, Any], given: float, truth: float) -> bool:
    """Return whether an answer is as close to the truth as its entry asks."""
    return bool(abs(given - truth) <= entry.get("tolerance", 0.01) * abs(truth))


def judge(entry: Mapping[str, Any], answer: object,
          **given: Any) -> tuple[float, float, bool, str | None]:
    """Return an answer, the truth, whether they agree, and the slip; UnitError if unreadable."""
    value = read_answer(answer, entry["unit"], entry.get("direction", ""))
    truth = compute(entry, **given)
    slip = recognise(entry, value, truth, **given)
    return value, truth, near(entry, value, truth), slip
