"""Taking the quiz: ask, answer, hints, draws for an interview, and what the learner has reached."""

import random
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from nvlearn.answers import Told
from nvlearn.i18n import words
from nvlearn.quiz import bank, ledger
from nvlearn.quiz.bank import Item
from nvlearn.quiz.grading import Grade, grade


def text(item: Item, seed: int = 0) -> str:
    """Return a question as plain text: what is asked, the options, how to answer."""
    unit = " ".join(filter(None, (item.number.get("unit"), item.number.get("direction"))))
    head = words("quiz.head", id=item.id, level=words(f"quiz.level.{item.level}"),
                 kind=words(f"quiz.kind.{item.kind}", unit=unit or words("quiz.no_unit")))
    options = [f"  {option['key']}  {item.say(option['text'])}" for option in item.options]
    return "\n".join([head, item.say(item.prompt, seed), *options])


def ask(id: str, seed: int = 0) -> Told:
    """Return a question as text; another seed draws other numbers."""
    return Told(text(bank.find(id), seed))


def hint(id: str, number: int = 1, seed: int = 0) -> Told:
    """Return the first hint, or a later one; the last one if there are fewer."""
    item = bank.find(id)
    return Told(item.say(item.hints[min(max(number, 1), len(item.hints)) - 1], seed))


def answer(id: str, answer: Any, seed: int = 0) -> Told:
    """Grade an answer, keep it, and say what came of it."""
    found, kept = submit(bank.find(id), answer, seed)
    return Told("\n".join(filter(None, [*found.told, kept])))


def submit(item: Item, answer: Any, seed: int = 0) -> tuple[Grade, str]:
    """Grade and record an answer; the text says so if it could not be kept."""
    found = grade(item, answer, seed)
    if found.outcome == "unanswered":
        return found, ""
    shown = list(answer) if isinstance(answer, list | tuple | set) else answer
    return found, ledger.keep("answer", id=item.id, seed=seed, answer=shown, score=found.score,
                              outcome=found.outcome, chosen=list(found.chosen))


def interview(count: int = 10, level: str | None = None, topic: str | None = None,
              seed: int = 0) -> list[str]:
    """Draw questions for an interview; the same seed draws the same ones, easy ones first.

    The ten of the source document are `source_questions`.
    """
    fits = [item for item in bank.everything()
            if level in (None, item.level) and topic in (None, item.topic)]
    if not fits:
        raise ValueError(words("quiz.nothing_to_draw", level=level, topic=topic))
    drawn = random.Random(f"interview {seed}").sample(fits, min(count, len(fits)))
    return [item.id for item in sorted(drawn, key=lambda i: bank.LEVELS.index(i.level))]


def source_questions() -> list[str]:
    """Return the ids of the source document's ten questions, in its order."""
    found = {int(item.source[1:]): item.id for item in bank.everything() if item.source}
    return [found[number] for number in sorted(found)]


def latest(records: Iterable[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Return the last answer to each question."""
    return {record["id"]: record for record in records if record["kind"] == "answer"}


def progress() -> Told:
    """Say how far the learner is: by lesson, then by topic."""
    last, lines = latest(ledger.read()), [words("quiz.progress.head")]
    for number in range(1, 14):
        items = bank.lesson(number)
        scores = [last[item.id]["score"] for item in items if item.id in last]
        lines.append(words("quiz.progress.lesson", lesson=f"{number:02}", done=len(scores),
                           of=len(items), score=share(scores)))
    return Told("\n".join([*lines, *report(item.id for item in bank.everything())]))


def report(ids: Iterable[str]) -> list[str]:
    """Say of each topic that was answered how it went, and which lessons to read again."""
    last, topics = latest(ledger.read()), dict[str, list[Item]]()
    for item in map(bank.find, ids):
        topics.setdefault(item.topic, []).append(item)
    lines = []
    for topic, items in sorted(topics.items()):
        scores = {item: last[item.id]["score"] for item in items if item.id in last}
        again = sorted({f"{item.lesson:02}" for item, score in scores.items() if score < 1})
        reread = words("quiz.progress.again", lessons=", ".join(again)) if again else ""
        if scores:
            lines.append(words(
                "quiz.progress.topic", topic=words(f"quiz.topic.{topic}"), done=len(scores),
                of=len(items), score=share(scores.values()), again=reread).rstrip())
    return lines


def share(scores: Collection[float]) -> str:
    """Return the mean of scores as per cent, or a dash."""
    return f"{sum(scores) / len(scores):.0%}" if scores else "-"
