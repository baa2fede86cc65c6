"""The question bank: YAML files, one for each lesson, read into items that are checked."""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any

from nvlearn import data
from nvlearn.formulas import FORMULAS
from nvlearn.i18n import FALLBACK, language, words

KINDS, LEVELS = ("single", "multiple", "number", "order"), ("easy", "mid", "hard", "extreme")
LARGEST = 2_000_000  # bytes of a file
Text = Mapping[str, str]


class BankError(ValueError):
    """A question that cannot be used, in one sentence with file, id and field."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Item:
    """One question; texts are by language, the answer is stored once."""

    id: str
    kind: str
    level: str
    topic: str
    prompt: Text
    hints: tuple[Text, ...]
    lesson: int
    source: str = ""
    options: tuple[Mapping[str, Any], ...] = ()
    answer: tuple[str, ...] = ()
    why: Text = field(default_factory=dict)
    references: tuple[str, ...] = ()
    number: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse what the front end and the grading could not serve."""
        keys = [option["key"] for option in self.options]
        sure = {
            "kind": self.kind in KINDS, "level": self.level in LEVELS,
            "prompt": bool(self.prompt.get(FALLBACK)), "hints": bool(self.hints),
            "options": len(keys) == len(set(keys)) and bool(keys) == (self.kind != "number"),
            "answer": set(self.answer) <= set(keys) and bool(self.answer) == bool(keys),
            "formula": self.kind != "number" or self.number.get("formula") in FORMULAS}
        sure["answer"] &= self.kind != "single" or len(self.answer) == 1
        sure["answer"] &= self.kind != "order" or sorted(self.answer) == sorted(keys)
        for name, fine in sure.items():
            if not fine:
                raise BankError(words("bank.field", id=self.id, field=name))

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


def read(path: Path) -> list[Item]:
    """Read one file of the bank; BankError names file, question and field."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    if path.stat().st_size > LARGEST:
        raise BankError(words("bank.large", file=path, most=LARGEST))
    try:
        found = yaml.load(path.read_text(encoding="utf-8"), loader)
        return [item(entry, found["lesson"]) for entry in found["items"]]
    except BankError as error:
        raise BankError(f"{path}: {error}") from None
    except (yaml.YAMLError, UnicodeDecodeError, KeyError, TypeError, AttributeError) as error:
        raise BankError(words("bank.form", file=path, error=" ".join(str(error).split()))) from None


def item(entry: Mapping[str, Any], lesson: int) -> Item:
    """Return the item of one entry; what belongs to numbers stays together."""
    own = {part.name for part in fields(Item)} - {"number", "lesson"}
    given = {key: value for key, value in entry.items() if key in own}
    missing = {"id", "kind", "level", "topic", "prompt", "hints"} - given.keys()
    if missing:
        raise BankError(words("bank.field", id=entry.get("id", "?"), field=min(missing)))
    answer = given.get("answer", ())
    given["answer"] = (answer,) if isinstance(answer, str) else tuple(answer)
    for name in ("hints", "options", "references"):
        given[name] = tuple(given.get(name, ()))
    number = {key: value for key, value in entry.items() if key not in own}
    return Item(**given, lesson=lesson, number=number)


def folder() -> Path:
    """Return the folder of the course's own bank."""
    return data.course_folder("quizzes")


@cache
def lesson(number: int) -> tuple[Item, ...]:
    """Return the questions of a lesson."""
    return tuple(read(folder() / f"{number:02}.yaml"))


def everything() -> Iterator[Item]:
    """Yield all questions of the course."""
    for number in range(1, 14):
        yield from lesson(number)


def find(id: str) -> Item:
    """Return one question, or say which ids its lesson has."""
    given = str(id).partition("-")[0]
    known = lesson(int(given)) if given.isdecimal() and 0 < int(given) < 14 else ()
    found = {entry.id: entry for entry in known}
    if id not in found:
        raise KeyError(words("bank.unknown", id=repr(id), ids=", ".join(found) or "01-01 ..."))
    return found[id]


def check(path: Path) -> list[str]:
    """Return a sentence for each place where a file departs from the JSON Schema."""
    import json

    import jsonschema
    import yaml

    schema = json.loads((folder() / "schema.json").read_text(encoding="utf-8"))
    found = yaml.safe_load(path.read_text(encoding="utf-8"))
    errors = jsonschema.Draft202012Validator(schema).iter_errors(found)
    return [f"{path}: {error.json_path}: {error.message}" for error in errors]
