"""Files of the quiz: a learner's results out and in, a class graded, the bank for Moodle."""

import csv
import io
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from nvlearn import answers, units
from nvlearn.formulas import require
from nvlearn.i18n import words
from nvlearn.quiz import ledger
from nvlearn.quiz.bank import Item
from nvlearn.quiz.grading import grade
from nvlearn.quiz.session import latest

FORMAT, LARGEST = "nvlearn results 1", 20_000_000
COLUMNS = ("at", "kind", "id", "seed", "answer", "outcome", "score", "guess", "truth", "unit",
           "ratio", "slip")


def save(target: Path | str) -> int:
    """Write the learner's records to a .json (which `load` reads back) or .csv file."""
    target, records = Path(target), ledger.read()
    if target.suffix.lower() == ".csv":
        page = io.StringIO()
        table = csv.DictWriter(page, COLUMNS, extrasaction="ignore", lineterminator="\n")
        table.writeheader()
        table.writerows(records)
        written = page.getvalue()
    else:
        written = json.dumps({"format": FORMAT, "records": records}, ensure_ascii=False, indent=1)
    target.write_text(written + "\n" * (written[-1:] != "\n"), encoding="utf-8", newline="\n")
    return len(records)


def load(source: Path | str) -> int:
    """Add the records of a saved file that are not here yet; return how many those are."""
    have = {json.dumps(record, sort_keys=True) for record in ledger.read()}
    new = [r for r in results(Path(source)) if json.dumps(r, sort_keys=True) not in have]
    for record in new:
        ledger.append(record)
    return len(new)


def results(source: Path) -> list[dict[str, Any]]:
    """Return the records of a saved file; ValueError names a file that is damaged or foreign."""
    try:
        if source.stat().st_size > LARGEST:
            raise ValueError
        found = json.loads(source.read_text(encoding="utf-8"))
        records = found["records"]
        if found["format"] != FORMAT or not all(
                isinstance(r["kind"], str) and isinstance(r["at"], str) and (
                    r["kind"] != "answer" or isinstance(r["id"], str)) for r in records):
            raise ValueError
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ValueError(words("quiz.damaged", file=source, format=FORMAT)) from None
    return list(records)


def grade_folder(
    folder: Path, items: Sequence[Item], seed: int | None = None
) -> tuple[str, list[str]]:
    """Grade the saved files of a class anew; return a CSV text, and a sentence for each bad file.

    A row for each file, a column for each question, and last the wrong option that most chose.
    The last answer counts. `seed` is what the class was told to use; answers to others are left.
    """
    require(folder.is_dir(), words("quiz.no_folder", folder=folder))
    known, rows, bad = {item.id: item for item in items}, [], []
    wrong: dict[str, Counter[str]] = {id: Counter() for id in known}
    for source in sorted(folder.glob("*.json")):
        try:
            last = latest(results(source))
        except ValueError as error:
            bad.append(str(error))
            continue
        row: dict[str, Any] = {"learner": source.stem.lstrip("=+-@")}  # no formula in a spreadsheet
        for id in known.keys() & last.keys():
            given = last[id].get("seed", 0)
            if seed in (None, given) and isinstance(given, int):
                found = grade(known[id], last[id].get("answer"), given)
                row[id] = round(found.score, 3)
                wrong[id].update(key for key in found.chosen if key not in known[id].answer)
        rows.append({**row, "total": round(sum(row.get(id, 0) for id in known), 3)})
    most = {id: " ".join(f"{key} ({n})" for key, n in c.most_common(1)) for id, c in wrong.items()}
    page = io.StringIO()
    table = csv.DictWriter(page, ["learner", *known, "total"], lineterminator="\n")
    table.writeheader()
    table.writerows([*rows, {"learner": words("quiz.most_wrong"), **most}])
    return page.getvalue(), bad


# ---- Moodle --------------------------------------------------------------------------------------


def moodle(items: Sequence[Item], seed: int = 0) -> bytes:
    """Return questions as Moodle XML: multichoice, numerical and ordering."""
    quiz = ElementTree.Element("quiz")
    kinds = {"single": "multichoice", "multiple": "multichoice", "number": "numerical",
             "order": "ordering"}
    for item in items:
        made = ElementTree.SubElement(quiz, "question", type=kinds[item.kind])
        put(made, "name", f"{item.id} ({item.level}, {item.topic})")
        put(made, "questiontext", item.say(item.prompt, seed), format="plain_text")
        if item.why:
            put(made, "generalfeedback", item.say(item.why, seed), format="plain_text")
        if item.kind == "number":
            numerical(made, item, seed)
        else:
            choices(made, item)
        for hint in item.hints:
            put(made, "hint", item.say(hint, seed), format="plain_text")
    ElementTree.indent(quiz)
    page = io.BytesIO()
    ElementTree.ElementTree(quiz).write(page, encoding="utf-8", xml_declaration=True)
    return page.getvalue()


def put(parent: ElementTree.Element, tag: str, said: str, **more: str) -> ElementTree.Element:
    """Add an element that holds a text."""
    made = ElementTree.SubElement(parent, tag, more)
    ElementTree.SubElement(made, "text").text = said
    return made


def choices(made: ElementTree.Element, item: Item) -> None:
    """Add the options, each with its share of the points and its reason."""
    if item.kind == "order":
        for name, value in (("layouttype", "VERTICAL"), ("selecttype", "ALL"),
                            ("gradingtype", "ALL_OR_NOTHING")):
            ElementTree.SubElement(made, name).text = value
    else:
        ElementTree.SubElement(made, "single").text = str(item.kind == "single").lower()
    options: Mapping[str, Any] = {option["key"]: option for option in item.options}
    for rank, key in enumerate(item.answer if item.kind == "order" else options, 1):
        share = 100 / len(item.answer) if key in item.answer else -100 / len(item.answer)
        share = max(share, 0) if item.kind == "single" else share
        points = str(rank) if item.kind == "order" else f"{share:.7g}"
        added = put(made, "answer", item.say(options[key]["text"]), fraction=points,
                    format="plain_text")
        put(added, "feedback", item.say(options[key]["reason"]), format="plain_text")


def numerical(made: ElementTree.Element, item: Item, seed: int) -> None:
    """Add the value, its tolerance and its unit."""
    entry = item.number
    value = answers.compute(entry, **item.values(seed)) / units.base_unit(entry["unit"])[0]
    added = put(made, "answer", f"{value:.10g}", fraction="100")
    ElementTree.SubElement(added, "tolerance").text = f"{abs(value) * entry['tolerance']:.6g}"
    if entry["unit"]:
        shown = ElementTree.SubElement(ElementTree.SubElement(made, "units"), "unit")
        ElementTree.SubElement(shown, "multiplier").text = "1"
        ElementTree.SubElement(shown, "unit_name").text = entry["unit"]
