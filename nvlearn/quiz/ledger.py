"""The learner's own record: append-only JSON lines that survive two kernels and a kill."""

import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from math import isfinite
from pathlib import Path
from typing import Any

from nvlearn.i18n import words

NAME = "ledger.jsonl"


NUMBERS = {"answer": ("score",), "prediction": ("guess", "truth")}


def sound(entry: Any) -> bool:
    """Tell whether a record has what the course reads in one of its kind."""
    if not isinstance(entry, dict) or not isinstance(kind := entry.get("kind"), str):
        return False
    numbers = [entry.get(name) for name in NUMBERS.get(kind, ())]
    named = isinstance(entry.get("id", ""), str) and isinstance(entry.get("at"), str)
    return named and all(isinstance(n, int | float) and isfinite(n) for n in numbers)


class Records(list[dict[str, Any]]):
    """Records that were read, and in `torn` a sentence for each line that could not be."""

    torn: list[str]


def folder() -> Path:
    """Return the folder of the learner's data: NVLEARN_HOME, or the user's data folder."""
    home = os.environ.get("NVLEARN_HOME", "").strip()
    if home:
        return Path(home).expanduser()
    from platformdirs import user_data_path  # only a learner who records something needs it

    return user_data_path("nvlearn", appauthor=False)


def record(kind: str, **fields: Any) -> None:
    """Append one record with a single write; OSError if the folder cannot be written."""
    append({"kind": kind, "at": datetime.now(UTC).isoformat(timespec="seconds"), **fields})


def keep(kind: str, **fields: Any) -> str:
    """Append a record; return "", or a sentence if it could not be kept."""
    try:
        record(kind, **fields)
    except OSError as error:
        return words("quiz.not_kept", folder=folder(), reason=error.strerror or error)
    return ""


def append(whole: Mapping[str, Any]) -> None:
    """Append a record as it is, such as one that was saved elsewhere."""
    text = json.dumps(whole, ensure_ascii=False, allow_nan=False)
    target = folder() / NAME
    target.parent.mkdir(parents=True, exist_ok=True)
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
    handle = os.open(target, flags, 0o644)
    try:
        line = f"{_gap(handle)}{text}\n".encode()
        if os.write(handle, line) < len(line):
            raise OSError(f"The disk took only a part of a record of {target}.")
    finally:
        os.close(handle)


def _gap(handle: int) -> str:
    """Return a newline if the last record was torn, so that the next one stands alone."""
    if os.lseek(handle, 0, os.SEEK_END) == 0:
        return ""
    os.lseek(handle, -1, os.SEEK_END)
    return "" if os.read(handle, 1) == b"\n" else "\n"


def read(kind: str | None = None) -> Records:
    """Return the records of a kind (all if None), oldest first; torn lines are kept aside."""
    records = Records()
    records.torn = []
    source = folder() / NAME  # a folder that is a file is an error, not an empty record
    written = source.read_bytes() if source.exists() or folder().is_file() else b""
    for number, line in enumerate(written.split(b"\n"), start=1):
        try:
            entry = json.loads(line)
            if not sound(entry):
                raise ValueError
            records += [entry] * (kind in (None, entry["kind"]))
        except ValueError:
            shown = line[:40].decode("utf-8", "replace")
            told = words("quiz.torn", number=number, file=source, seen=repr(shown))
            records.torn += [told] if line.strip() else []
    return records
