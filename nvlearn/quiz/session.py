"""Taking part: questions, answers, predictions, progress; and a class, graded from its files."""

import csv
import io
import json
import random
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from nvlearn import answers, units
from nvlearn.data import read_text, small_file, write_whole
from nvlearn.formulas import require
from nvlearn.i18n import Told, words
from nvlearn.quiz import bank, ledger
from nvlearn.quiz.bank import Grade, Item, grade


def text(item: Item, seed: int = 0, listed: bool = True) -> str:
    """Return a question as plain text: how to answer, what is asked and, if listed, the options."""
    unit = answers.unit(item.number) or words("quiz.no_unit")
    head = words("quiz.head", id=item.id, level=words(f"quiz.level.{item.level}"),
                 kind=words(f"quiz.kind.{item.kind}", unit=unit))
    options = [f"  {option['key']}  {item.say(option['text'])}" for option in item.options]
    return "\n".join([head, item.say(item.prompt, seed), *(options if listed else [])])


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


def predict(id: str, guess: object) -> Told:
    """Record a guess and answer with the truth, the ratio and the slip it looks like."""
    entry = answers.find("predictions", id)
    if answers.is_blank(guess):
        return Told(words("prediction.not_yet"))
    try:
        given, truth, right, slip = answers.judge(entry, guess)
    except units.UnitError as error:
        return Told(error)
    scale, ratio = units.base_unit(entry["unit"])[0], given / truth if truth else None
    kept = ledger.keep("prediction", id=id, guess=given / scale, truth=truth / scale,
                       unit=answers.unit(entry), ratio=ratio, slip=slip, right=right)
    told = [words("prediction.right")] if right else [
        "" if ratio is None else words("prediction.ratio", ratio=f"{ratio:.3g}"),
        answers.slip_sentence(slip), words(f"prediction.why.{id}")]
    compared = words("prediction.compared", guess=answers.in_unit(given, entry),
                     truth=answers.in_unit(truth, entry))
    return Told(" ".join(filter(None, [compared, *told, kept])))


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
    records = ledger.read()
    last = latest(records)
    lessons = [words("quiz.progress.lesson", lesson=f"{n:02}", **tally(bank.lesson(n), last))
               for n in bank.LESSONS]
    return Told("\n".join([
        words("quiz.progress.head"), *lessons, *report([*bank.everything()]), *records.torn]))


def report(items: Collection[Item]) -> list[str]:
    """Say of each topic that was answered how it went, and which lessons to read again."""
    last, lines = latest(ledger.read()), []
    for topic in sorted({item.topic for item in items if item.id in last}):
        group = [item for item in items if item.topic == topic]
        again = sorted({f"{item.lesson:02}" for item in group
                        if item.id in last and last[item.id]["score"] < 1})
        reread = words("quiz.progress.again", lessons=", ".join(again)) if again else ""
        lines.append(words("quiz.progress.topic", topic=words(f"quiz.topic.{topic}"),
                           again=reread, **tally(group, last)).rstrip())
    return lines


def tally(items: Collection[Item], last: Mapping[str, Mapping[str, Any]]) -> dict[str, object]:
    """Return how many questions were answered, of how many, and the mean score or a dash."""
    scores = [last[item.id]["score"] for item in items if item.id in last]
    mean = f"{sum(scores) / len(scores):.0%}" if scores else "-"
    return {"done": len(scores), "of": len(items), "score": mean}


# --- files: results out and in, a class graded, the bank for Moodle --------------


FORMAT, FORMULA = "nvlearn results 1", ("=", "+", "-", "@")


def save(target: Path | str) -> int:
    """Write the learner's records to a .json (which `load` reads back) or .csv file."""
    target, records = Path(target), ledger.read()
    written = json.dumps({"format": FORMAT, "records": records}, ensure_ascii=False, indent=1)
    if target.suffix.lower() == ".csv":
        written = table(list(dict.fromkeys(key for record in records for key in record)), records)
    write_whole(target, written.rstrip("\n") + "\n", ".json", ".csv")
    return len(records)


def table(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """Return rows as CSV."""
    page = io.StringIO()
    made = csv.DictWriter(page, columns, lineterminator="\n")
    made.writeheader()
    for row in rows:  # a text that begins so would be a formula in a spreadsheet
        made.writerow({key: f"'{cell}" if str(cell).lstrip()[:1] in FORMULA else cell
                       for key, cell in row.items()})
    return page.getvalue()


def load(source: Path | str) -> int:
    """Add the records of a saved file that are not here yet; return how many those are."""
    have = {json.dumps(record, sort_keys=True) for record in ledger.read()}
    new = [r for r in results(Path(source)) if json.dumps(r, sort_keys=True) not in have]
    for record in new:
        ledger.append(record)
    return len(new)


def results(source: Path) -> list[dict[str, Any]]:
    """Return the records of a saved file; ValueError names a file that is damaged or foreign."""
    raw = small_file(source)
    try:
        found = json.loads(raw.decode("utf-8-sig"))
        records = found["records"]
        json.dumps(records, ensure_ascii=False, allow_nan=False).encode()  # what a ledger holds
        if found["format"] != FORMAT or not all(map(ledger.sound, records)):
            raise ValueError
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ValueError(words("quiz.damaged", file=source, format=FORMAT)) from None
    return list(records)


def grade_folder(folder: Path, items: Sequence[Item],
                 seed: int | None = None) -> tuple[str, list[str]]:
    """Grade the saved files of a class anew; return a CSV text, and a sentence for each bad file.

    A row for each file, a column for each question, and last the wrong option that most chose.
    The last answer counts. `seed` is what the class was told to use; answers to others are left.
    """
    require(folder.is_dir(), words("quiz.no_folder", folder=folder))
    known, rows, bad = {item.id: item for item in items}, [], []
    wrong: dict[str, Counter[str]] = {id: Counter() for id in known}
    files = sorted(path for path in folder.iterdir() if path.suffix.lower() == ".json")
    require(bool(files), words("quiz.no_files", folder=folder))
    for source in files:
        try:
            records = results(source)
        except (ValueError, OSError) as error:
            bad.append(str(error))
            continue
        row: dict[str, Any] = {"learner": source.stem}
        asked = latest(records).keys() & known.keys()
        counted = latest(r for r in records if seed in (None, r.get("seed", 0)))
        for id in asked & counted.keys():
            found = grade(known[id], counted[id].get("answer"), counted[id].get("seed", 0))
            row[id] = round(found.score, 3)
            wrong[id].update(key for key in found.chosen if key not in known[id].answer)
        if left := [id for id in asked if id not in row]:
            bad.append(words("quiz.uncounted", file=source, count=len(left), seed=seed))
        elif not asked:
            bad.append(words("quiz.none_counted", file=source))
        rows.append({**row, "total": round(sum(row.get(id, 0) for id in known), 3)})
    most = {id: " ".join(f"{key} ({n})" for key, n in c.most_common(1)) for id, c in wrong.items()}
    rows.append({"learner": words("quiz.most_wrong"), **most})
    return table(["learner", *known, "total"], rows), bad


def moodle(items: Sequence[Item], seed: int = 0) -> str:
    """Return questions as Moodle XML: multichoice, numerical and ordering."""
    from jinja2 import Environment  # only a teacher needs it

    def value_of(item: Item) -> float:
        value = answers.compute(item.number, **item.values(seed))
        return value / units.base_unit(item.number["unit"])[0]

    made = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    page = made.from_string(read_text("moodle.xml.jinja"))
    return page.render(items=items, seed=seed, value_of=value_of)
