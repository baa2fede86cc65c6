"""Files of the quiz: a learner's results out and in, a class graded, the bank for Moodle."""

import csv
import io
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from nvlearn import answers, units
from nvlearn.data import read_text, small_file, write_whole
from nvlearn.formulas import require
from nvlearn.i18n import words
from nvlearn.quiz import ledger
from nvlearn.quiz.bank import Item, grade
from nvlearn.quiz.session import latest

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
