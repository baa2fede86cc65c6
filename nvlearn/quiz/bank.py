"""The question bank: YAML files read into checked items, and the one function that grades them."""

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from itertools import chain, combinations, islice, pairwise, product
from pathlib import Path
from typing import Any, NamedTuple

from nvlearn import answers, data, units
from nvlearn.formulas import FORMULAS, require
from nvlearn.i18n import FALLBACK, language, words

KINDS, LEVELS = ("single", "multiple", "number", "order"), ("easy", "mid", "hard", "extreme")
LESSONS = range(1, 14)
TRIED = 1000  # draws of a question; a file of its own kind could ask for millions
Text = Mapping[str, str]


class BankError(ValueError):
    """A question that cannot be used, in one sentence with file, id and field."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Item:
    """One question; texts are by language, the answer is stored once."""

    id: str
    lesson: int
    kind: str = ""
    level: str = ""
    topic: str = ""
    prompt: Text = field(default_factory=dict)
    hints: tuple[Text, ...] = ()
    source: str = ""
    options: tuple[Mapping[str, Any], ...] = ()
    answer: tuple[str, ...] = ()
    why: Text = field(default_factory=dict)
    references: tuple[str, ...] = ()
    number: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse what the front end and the grading could not serve."""
        keys, counts = self.keys, {"number": 0, "single": 1, "order": len(self.options)}
        fine = {
            "kind": self.kind in KINDS, "level": self.level in LEVELS, "topic": self.topic,
            "prompt": self.prompt.get(FALLBACK), "hints": self.hints,
            "texts": all(isinstance(said, str) for text in self.texts for said in text.values()),
            "options": len(keys) == len(set(keys)) and bool(keys) == (self.kind != "number"),
            "answer": set(self.answer) <= set(keys) and bool(self.answer) == bool(keys) and (
                len(set(self.answer)) == counts.get(self.kind, len(self.answer))),
            "formula": self.kind != "number" or self.number.get("formula") in FORMULAS}
        if wrong := [name for name in fine if not fine[name]]:
            raise BankError(words("bank.field", id=self.id, field=wrong[0]))

    @property
    def texts(self) -> list[Text]:
        """All texts of the question: what is asked, hints, options, reasons."""
        parts = [option[part] for option in self.options for part in ("text", "reason")]
        slips = [slip["reason"] for slip in self.number.get("slips", ())]
        return [self.prompt, self.why, *self.hints, *parts, *slips]

    @property
    def keys(self) -> list[str]:
        """The letters of the options."""
        return [option["key"] for option in self.options]

    def values(self, seed: int = 0) -> dict[str, Any]:
        """Return the values of the question's placeholders; seed 0 is the printed question."""
        draw = self.number.get("draw", {})
        chance = random.Random(f"{seed} {self.id}")
        return {name: chance.choice(given) if seed else given[0] for name, given in draw.items()}

    def say(self, text: Text, seed: int = 0) -> str:
        """Return a text in the learner's language, its placeholders filled."""
        said = text.get(language()) or text[FALLBACK]
        for name, value in self.values(seed).items():
            said = said.replace(f"{{{name}}}", f"{value:,.10g}")
        return said


def parsed(path: Path) -> Any:
    """Return what a YAML file holds; BankError names the file and what is wrong with it."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        text = data.small_file(path).decode("utf-8-sig")
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, loader)):
            raise ValueError(words("bank.alias"))  # a few of them can stand for gigabytes
        return yaml.load(text, loader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        said = " ".join(str(error).split()).rstrip(".")
        raise BankError(words("bank.form", file=path, error=said)) from None


def read(path: Path) -> list[Item]:
    """Read a file of one's own; BankError names file, question and field, or what it lacks."""
    items = questions(path, parsed(path))
    for fault in chain.from_iterable(map(trial, items)):
        raise BankError(f"{path}: {fault}")
    return items


def questions(path: Path, found: Any) -> list[Item]:
    """Return the items of what a file holds."""
    try:
        items = [item(entry, found["lesson"]) for entry in found["items"]]
        again = [a for a, b in pairwise(sorted(each.id for each in items)) if a == b]
    except BankError as error:
        raise BankError(f"{path}: {error}") from None
    except (KeyError, TypeError, AttributeError) as error:
        raise BankError(words("bank.form", file=path, error=error)) from None
    require(not again, words("bank.twice", file=path, id=", ".join(again)))
    return items


def item(entry: Mapping[str, Any], lesson: int) -> Item:
    """Return the item of one entry; what belongs to numbers stays together."""
    lists = ("hints", "options", "answer", "references")
    own = {part.name for part in fields(Item)}
    given: dict[str, Any] = {
        key: tuple(value) if key in lists else value for key, value in entry.items()}
    number = {key: given.pop(key) for key in entry if key not in own}
    return Item(**given, lesson=lesson, number=number)


def folder() -> Path:
    """Return the folder of the course's own bank."""
    return data.course_folder("quizzes")


@cache
def lesson(number: int) -> tuple[Item, ...]:
    """Return the questions of a lesson."""
    path = folder() / f"{number:02}.yaml"
    return tuple(questions(path, parsed(path)))


def everything() -> Iterator[Item]:
    """Yield all questions of the course."""
    for number in LESSONS:
        yield from lesson(number)


def find(id: str) -> Item:
    """Return one question, or say which ids its lesson has."""
    given = str(id).partition("-")[0]
    known = lesson(int(given)) if given.isdecimal() and int(given) in LESSONS else ()
    found = {entry.id: entry for entry in known}
    if id not in found:
        raise KeyError(words("bank.unknown", id=repr(id), ids=", ".join(found) or "01-01 ..."))
    return found[id]


def check(path: Path) -> tuple[int, list[str]]:
    """Return how many questions a file has, and a sentence for each of its faults.

    Its form is held against the JSON Schema first; if that is right, every question is tried.
    """
    import json

    import jsonschema

    found = parsed(path)
    schema = json.loads((folder() / "schema.json").read_text(encoding="utf-8"))
    errors = jsonschema.Draft202012Validator(schema).iter_errors(found)
    if faults := [f"{path}: {error.json_path}: {error.message}" for error in errors]:
        return 0, faults
    items = questions(path, found)
    taken = set() if path.resolve().parent == folder() else {item.id for item in everything()}
    faults += [f"{path}: {words('bank.taken', id=item.id)}" for item in items if item.id in taken]
    return len(items), faults + [f"{path}: {fault}" for item in items for fault in trial(item)]


def trial(item: Item) -> Iterator[str]:
    """Yield what a question's form does not show: lost words, and numbers that cannot be graded."""
    draw = item.number.get("draw", {})
    said = " ".join(said for text in item.texts for said in text.values())
    for name in sorted({*re.findall(r"{(.*?)}", said)} - {*draw}):
        yield words("bank.placeholder", id=item.id, name=name)
    for values in islice(product(*draw.values()), TRIED * (item.kind == "number")):
        given = dict(zip(draw, values, strict=True))
        try:
            prove(item.number, given)
        except (TypeError, ValueError, LookupError, ArithmeticError, AttributeError) as error:
            yield words("bank.number", id=item.id, given=given, error=str(error).rstrip("."))
            return


def prove(entry: Mapping[str, Any], given: Mapping[str, float]) -> None:
    """Raise an error unless the right number is graded as right, and each slip as wrong."""
    truth = answers.compute(entry, **given)
    answers.read_answer(answers.in_unit(truth, entry), entry["unit"])  # as the prompt asks for it
    require(answers.judge(entry, truth / units.base_unit(entry["unit"])[0], **given)[2],
            words("bank.tolerance", truth=truth))
    for code, wrong in answers.wrong_values(entry, truth, **given).items():
        require(not answers.near(entry, wrong, truth), words("bank.slip", code=code, truth=truth))


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
    keys = (str(part).strip(" ,;.>()").lower() for part in parts)
    return tuple(dict.fromkeys(filter(None, keys)))


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
    except units.UnitError as error:
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
