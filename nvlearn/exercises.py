"""Checks of the lessons' exercises: numbers, functions, schedules; a slip gets its name."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from nvlearn import answers, catalog, field, units
from nvlearn.collectives import Schedule, run
from nvlearn.data import printout, printout_row
from nvlearn.i18n import Told, words


@dataclass(frozen=True, slots=True)
class Check:
    """What a check says; `passed` is None as long as the stub stands there."""

    passed: bool | None
    text: str
    slip: str | None = None

    def __repr__(self) -> str:
        """Return the text, as the notebook shows it."""
        return self.text

    def _repr_html_(self) -> str:
        return Told(self.text)._repr_html_()


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


COPIES = ("all_gather", "broadcast", "all_to_all")  # they move chunks and add nothing


def check_schedule(plan: Schedule) -> Check:
    """Try a schedule on marked arrays; the first place that ends wrong is named with its parts.

    Each rank's array says, chunk by chunk, whose parts it holds; a broadcast starts at rank 0.
    """
    if not isinstance(plan, Schedule):
        return Check(False, words("schedule.none", got=repr(plan)[:60]))
    if plan.collective == "all_to_all" and plan.chunks != plan.ranks:
        return Check(False, words("schedule.chunks", name=plan.name, ranks=plan.ranks))
    marks = np.zeros((plan.ranks, plan.chunks, plan.ranks), dtype=np.int64)
    for rank in range(plan.ranks):
        marks[rank, :, rank] = 1
    if plan.collective in COPIES:
        marks *= np.arange(1, plan.chunks + 1)[:, None]  # the chunks must be told apart as well
    held = np.array(run(plan, marks.reshape(plan.ranks, -1))).reshape(marks.shape)
    want, counts = expected(plan, marks)
    wrong = np.argwhere((held != want).any(-1) & counts)
    if not len(wrong):
        told = {"steps": len(plan.bounds) - 1, "transfers": len(plan)}
        return Check(True, words("schedule.right", name=plan.name, goal=plan.collective, **told))
    rank, chunk = wrong[0]
    return Check(False, words(
        "schedule.wrong", rank=rank, chunk=chunk, got=parts(held[rank, chunk], plan),
        expected=parts(want[rank, chunk], plan), count=len(wrong), places=int(counts.sum())))


def expected(plan: Schedule, given: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return what every rank must hold, shape (rank, chunk, mark), and which places count."""
    owner = np.arange(plan.chunks) * plan.ranks // plan.chunks
    mine = owner == np.arange(plan.ranks)[:, None]
    copies = {"all_gather": given[owner, np.arange(plan.chunks)], "broadcast": given[0],
              "all_to_all": given.swapaxes(0, 1)}
    want = np.broadcast_to(copies.get(plan.collective, given.sum(0)), given.shape)
    return want, mine if plan.collective == "reduce_scatter" else np.ones_like(mine)


def parts(marks: np.ndarray, plan: Schedule) -> str:
    """Say whose parts a place holds: which chunk, or for sums whose more than once."""
    owners = np.flatnonzero(marks)
    if not len(owners):
        return words("schedule.nothing")
    if plan.collective in COPIES and len(owners) == 1 and marks[owners[0]] <= plan.chunks:
        return words("schedule.copy", rank=owners[0], chunk=marks[owners[0]] - 1)
    listed = ", ".join(map(str, owners))
    twice = owners[marks[owners] > 1] if plan.collective not in COPIES else owners[:0]
    again = words("schedule.twice", ranks=", ".join(map(str, twice))) if len(twice) else ""
    return words("schedule.parts", ranks=listed) + again


# --- mystery machines: what a learner says of a printout, against what the reader finds ----------


class Shown(Told):
    """A printout, whose lines are not broken; a wide one can be moved from side to side."""

    LOOK = "white-space:pre;overflow:auto;font-size:12px"


def mystery(id: str) -> Shown:
    """Return what a mystery machine printed, below what its owner says of it."""
    gpu = printout_row(id).get("gpu") or words("mystery.nothing")
    return Shown(f"{words('mystery.owner', gpu=gpu)}\n\n{printout(id)}")


def check_mystery(id: str, fabric: object = ..., findings: object = ...,
                  gb_per_s: object = ...) -> Check:
    """Check what a learner says of a mystery machine.

    `fabric` is asked of a matrix alone: switch, mesh, pairs, none or unknown. `findings` is a list
    of codes of `nvlearn.field.codes()`. `gb_per_s`, one way, is what the NVLinks of one GPU carry
    when all are up; where nobody names the GPU, the most that the printout shows.
    """
    gpu = printout_row(id).get("gpu", "")
    documents = field.read(printout(id), gpu or None)
    joined, whole, now = _asked(documents[0].as_json(), gpu)
    if any(each in (None, ..., [...]) for each in (gb_per_s, findings, fabric if joined else 0)):
        return Check(None, words("exercise.not_yet"))
    if not isinstance(findings, list | tuple | set):
        return Check(False, words("mystery.list"))
    try:
        given = answers.read_answer(gb_per_s, "GB/s", "one way")
    except units.UnitError as error:
        return Check(False, str(error))
    wrong = [*_misnamed([*map(str, findings)], documents)]
    if abs(given - whole) > 0.02 * whole:
        slip = answers.slip(given, whole, {"as_it_is": now}, 0.02, "GB/s", "one way")
        wrong.insert(0, f"gb_per_s: {answers.slip_sentence(slip) or words('mystery.rate')}")
    if joined and str(fabric).lower() != joined:
        wrong.insert(0, words(f"mystery.fabric_{joined}"))
    lines = wrong or [document.in_words() for document in documents]
    return Check(not wrong, "\n".join([words(f"mystery.{'wrong' if wrong else 'right'}"), *lines]))


def _misnamed(named: list[str], documents: list[field.Document]) -> Iterator[str]:
    """Say which findings were invented and which were missed, each with its line of advice."""
    there = {found.code: found for document in documents for found in document.findings}
    for code in (code for code in named if code not in there):
        known = field.codes().get(code, {})
        yield words(f"mystery.{'invented' if known else 'no_code'}", code=code, **known)
    for code in (code for code in there if code not in named):
        yield words("mystery.missed", code=code, text=there[code].text, advice=there[code].advice)


def _asked(told: dict[str, Any], gpu: str) -> tuple[str | None, float, float]:
    """Return the fabric, and bytes/s one way: of a GPU with all its links, and as printed."""
    listed = told["gpus"][0] if told["kind"] == "nvlink-status" else {}
    now = told.get("peak_busbw") or listed.get("gb_per_s_one_way") or max(told["gb_per_s_one_way"])
    model, now = catalog.gpu.find(gpu or listed.get("name", "")), now * units.GB
    return told.get("fabric"), model.nvlink_total.one_way if model else now, now
