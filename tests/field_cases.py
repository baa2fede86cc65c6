"""The cases of tests/field/expected.json, and whether an answer meets their checks.

A printout stands in tests/field or, if it ships with the course, in nvlearn/data/printouts.
"""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

from nvlearn import field

HERE = Path(__file__).parent / "field"
SHIPPED = HERE.parents[1] / "nvlearn" / "data" / "printouts"
CASES = json.loads((HERE / "expected.json").read_text(encoding="utf-8"))["cases"]


def runs(kind: str) -> list[tuple[str, str | None, list[dict[str, Any]]]]:
    """Return file, stated GPU and checks of every run of a kind of printout."""
    found = []
    for name, case in CASES.items():
        if name.startswith(f"{kind}/"):
            found.append((name, None, case["checks"]))
            found += [(name, v["args"][1], v["checks"]) for v in case.get("variants", [])]
    return found


def path_of(name: str) -> Path:
    """Return the file of a case, in either folder."""
    return next(folder / name for folder in (HERE, SHIPPED) if (folder / name).is_file())


def numbered(kind: str, number: str) -> Path:
    """Return the file of a case by its kind and number, such as topo 47."""
    return path_of(next(name for name in CASES if name.startswith(f"{kind}/{number}-")))


def text_of(name: str) -> str:
    """Return the text of a printout, as the command line would read it."""
    return path_of(name).read_bytes().decode("utf-8", "replace")


def failures(text: str, gpu: str | None, checks: list[dict[str, Any]]) -> list[str]:
    """Return what is wrong with the answer to a text."""
    documents = field.read(text, gpu)
    assert all(document.in_words().strip() for document in documents)
    data = json.loads(json.dumps({"documents": [d.as_json() for d in documents]}, allow_nan=False))
    level = max((LEVELS[f["severity"]] for f in findings(data)), default=0)
    code = 2 if all(d["kind"] == "unsupported" for d in data["documents"]) else int(level == 2)
    result = {"json": data, "exit": code}
    return [error for check in checks if (error := evaluate(check, result))]


LEVELS = {"info": 0, "warning": 1, "fault": 2}
OPS = (
    "eq", "in", "approx", "between", "gt", "set", "set_any", "contains", "each", "each_in", "len",
    "count", "match", "name",
)  # fmt: skip


class Missing:
    def __repr__(self):
        return "nothing"


MISSING = Missing()


# ---- looking up a path -------------------------------------------------------


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def child(value, key):
    """One step of a path. Inside null is null; a bare number stands for a list of it."""
    if value is None or value is MISSING:
        return value
    if isinstance(key, int):
        if isinstance(value, list):
            return value[key] if key < len(value) else MISSING
        return value if is_number(value) else MISSING
    if isinstance(value, dict):
        for name in (key, "GPU" + key):
            if name in value:
                return value[name]
    return MISSING


def look_up(data, path):
    steps = re.findall(r"\[(\d+|\*)\]|([^.\[\]]+)", path)

    def walk(value, rest):
        for i, (index, name) in enumerate(rest):
            if index == "*":
                if not isinstance(value, list):
                    return value if value is None else MISSING
                return [walk(item, rest[i + 1 :]) for item in value]
            value = child(value, int(index) if index else name)
        return value

    return walk(data, steps)


# ---- comparing ---------------------------------------------------------------


def same(got, want, rel=1e-9):
    if is_number(got) and is_number(want):
        return math.isclose(got, want, rel_tol=rel, abs_tol=1e-9)
    if isinstance(got, list) and isinstance(want, list):
        return len(got) == len(want) and all(
            same(g, w, rel) for g, w in zip(got, want, strict=True)
        )
    return type(got) is type(want) and got == want


def same_set(got, want):
    return (
        isinstance(got, list)
        and all(isinstance(g, str) for g in got)
        and sorted(set(got)) == sorted(set(want))
    )


def plain_name(text):
    return (
        re.sub(r"perf$", "", re.sub(r"[^a-z0-9]", "", text.lower()))
        if isinstance(text, str)
        else text
    )


def flat(value):
    if isinstance(value, list):
        return [leaf for item in value for leaf in flat(item)]
    return [value]


def holds(op, got, want, check):
    rel = check.get("rel", 1e-9)
    if op == "eq":
        return same(got, want, rel)
    if op == "in":
        return any(same(got, w, rel) for w in want)
    if op == "approx":
        return is_number(got) and math.isclose(
            got, want, rel_tol=check.get("rel", 1e-3), abs_tol=check.get("abs", 0.0)
        )
    if op == "between":
        return is_number(got) and want[0] <= got <= want[1]
    if op == "gt":
        return is_number(got) and got > want
    if op == "set":
        return same_set(got, want)
    if op == "set_any":
        return any(same_set(got, w) for w in want)
    if op == "contains":
        return isinstance(got, list) and any(same(g, want, rel) for g in got)
    if op in ("each", "each_in"):
        leaves = flat(got)
        allowed = want if op == "each_in" else [want]
        return bool(leaves) and all(any(same(g, w, rel) for w in allowed) for g in leaves)
    if op == "len":
        return isinstance(got, (list, dict)) and len(got) == want
    if op == "count":
        number = len(got) if isinstance(got, list) else got
        return is_number(number) and any(same(number, w) for w in want)
    if op == "match":
        return isinstance(got, str) and re.search(want, got) is not None
    if op == "name":
        return plain_name(got) == plain_name(want)
    raise ValueError(op)


# ---- findings ----------------------------------------------------------------


def findings(data):
    found = []
    for document in documents(data):
        listed = document.get("findings")
        found += [f for f in listed if isinstance(f, dict)] if isinstance(listed, list) else []
    return found


def documents(data):
    listed = data.get("documents") if isinstance(data, dict) else None
    return [d for d in listed if isinstance(d, dict)] if isinstance(listed, list) else []


def gpus_of(finding):
    listed = finding.get("gpus")
    listed = listed if isinstance(listed, list) else [listed]
    return {int(m.group()) for m in (re.search(r"\d+", str(g)) for g in listed) if m}


def at_least(data, severity, gpus=()):
    level = LEVELS[severity]
    return [
        f
        for f in findings(data)
        if LEVELS.get(f.get("severity"), -1) >= level and set(gpus) <= gpus_of(f)
    ]


# ---- one check ---------------------------------------------------------------


def short(value, width=90):
    text = "nothing" if value is MISSING else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= width else text[: width - 3] + "..."


def evaluate(check, result):
    """None if the check holds, else one line that says what was wanted and found."""
    if "any_of" in check:
        tries = [
            [e for e in (evaluate(c, result) for c in group) if e] for group in check["any_of"]
        ]
        return (
            None
            if any(not t for t in tries)
            else "no accepted answer: " + " / ".join("; ".join(t[:2]) for t in tries)
        )
    if "exit" in check:
        return (
            None
            if result["exit"] in check["exit"]
            else f"exit code: want {check['exit']}, got {result['exit']}"
        )
    if "refused" in check:
        kinds = {d.get("kind") for d in documents(result["json"])}
        ok = result["exit"] == 2 and kinds <= {"unsupported"}
        return (
            None
            if ok == check["refused"]
            else f"refused: exit {result['exit']}, kinds {sorted(map(str, kinds))}"
        )
    if result["json"] is MISSING:
        return f"{check.get('path', 'findings')}: no JSON on standard output"
    if "severity_at_least" in check:
        want, gpus = check["severity_at_least"], check.get("gpus_include", [])
        if at_least(result["json"], want, gpus):
            return None
        return f"no finding of severity {want} or above" + (
            f" that names GPU {gpus}" if gpus else ""
        )
    if "no_severity" in check:
        bad = at_least(result["json"], check["no_severity"])
        return f"finding of severity {check['no_severity']}: {short(bad[0])}" if bad else None
    got = look_up(result["json"], check["path"])
    op = next(o for o in OPS if o in check)
    if (got is None and check.get("or_null")) or (got is MISSING and check.get("or_missing")):
        return None
    if got is not MISSING and holds(op, got, check[op], check):
        return None
    return f"{check['path']}: want {op} {short(check[op])}, got {short(got)}"


def codes(document: dict[str, Any]) -> dict[str, list[int]]:
    """Return the GPUs that each finding of a document names, by its code."""
    return {f["code"]: f["gpus"] for f in document["findings"]}
