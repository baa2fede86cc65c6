"""Mystery machines: right answers come from the reader, and each wrong kind gets its sentence."""

from __future__ import annotations

import ast
from typing import Any

import lesson_frame
import notebook_form as form
import pytest
from field_cases import HERE, SHIPPED

from nvlearn import field
from nvlearn.data import printout, printout_row, read_table
from nvlearn.exercises import Check, check_mystery, mystery
from nvlearn.i18n import words

FABRICS = ("switch", "mesh", "pairs", "none", "unknown")
IDS = [row["id"] for row in read_table("printouts")["mystery"]]
# What a GPU has when all its links are up, by the data sheets; else what the printout shows.
RATES = {"m1": 300, "m2": 150, "m3": 300, "m4": 56.25, "m5": 300, "m6": 450, "m7": 900, "m8": 13.52,
         "m9": 7.5, "m10": 300}  # fmt: skip


def documents(id: str) -> list[dict[str, Any]]:
    gpu = printout_row(id).get("gpu")
    return [document.as_json() for document in field.read(printout(id), gpu)]


def right(id: str, **other: object) -> dict[str, Any]:
    """Return what the reader says, as a learner's answer, changed in some way."""
    told = documents(id)
    codes = list(dict.fromkeys(f["code"] for document in told for f in document["findings"]))
    own = {"fabric": told[0]["fabric"]} if "fabric" in told[0] else {}
    return {**own, "findings": codes, "gb_per_s": RATES[id], **other}


def test_a_fabric_is_read_in_capitals_too() -> None:
    id = next(id for id in IDS if right(id).get("fabric") == "switch")
    assert check_mystery(id, **right(id) | {"fabric": "Switch"}).passed


def wrong(id: str, **other: object) -> str:
    result = check_mystery(id, **right(id, **other))
    assert result.passed is False
    return str(result)


def test_a_ladder_of_ten_with_what_the_course_is_about() -> None:
    assert len(IDS) == len(RATES) == 10
    kinds = [documents(id)[0]["kind"] for id in IDS]
    assert {kind: kinds.count(kind) for kind in kinds} == {
        "topo": 6, "nvlink-status": 1, "nccl-tests": 3}  # fmt: skip
    codes = {code for id in IDS for code in right(id)["findings"]}
    assert codes >= {"half_contact", "off_fabric", "log_above_line", "log_network", "log_wrong",
                     "links_down"}  # fmt: skip
    fabrics = {right(id).get("fabric") for id in IDS}
    assert fabrics >= {"switch", "mesh", "pairs", "unknown"}
    assert [] in [right(id)["findings"] for id in IDS]  # one of them is in order


@pytest.mark.parametrize("id", IDS)
def test_what_the_reader_says_is_right_and_is_told(id: str) -> None:
    result = check_mystery(id, **right(id))
    assert result.passed, result
    gpu = printout_row(id).get("gpu")
    for document in field.read(printout(id), gpu):
        assert document.in_words() in str(result)
    codes = right(id)["findings"]
    assert check_mystery(id, **right(id, findings=set(codes))).passed
    assert check_mystery(id, **right(id, gb_per_s=f"{2 * RATES[id]} GB/s both ways")).passed


@pytest.mark.parametrize("id", IDS)
def test_a_stub_is_not_yet(id: str) -> None:
    for result in (check_mystery(id), check_mystery(id, **right(id, findings=...)),
                   check_mystery(id, **right(id, findings=[...])),
                   check_mystery(id, **right(id, gb_per_s=None))):  # fmt: skip
        assert isinstance(result, Check)
        assert result.passed is None
        assert str(result) == words("exercise.not_yet")
    for stub in (None, ...):
        blank = check_mystery(id, **right(id, fabric=stub))
        assert blank.passed is (None if "fabric" in documents(id)[0] else True)


@pytest.mark.parametrize("id", IDS)
def test_the_owner_speaks_only_where_the_printout_cannot(id: str) -> None:
    shown, gpu = mystery(id), printout_row(id).get("gpu", "nothing")
    assert repr(shown).startswith(f"The owner says: {gpu}.\n\n")
    assert printout(id) in shown
    assert "white-space:pre;" in shown._repr_html_()
    assert "<stdout>" not in shown._repr_html_()
    assert gpu not in printout(id)


@pytest.mark.parametrize("id", IDS)
def test_a_missed_and_an_invented_finding_are_named_with_their_advice(id: str) -> None:
    codes, advice = right(id)["findings"], field.codes()
    for code in codes:
        said = wrong(id, findings=[other for other in codes if other != code])
        assert f"Missed: {code}. " in said
        assert advice[code]["advice"] in said
        assert "Invented" not in said
    said = wrong(id, findings=[*codes, "uneven"])
    assert "Invented: uneven." in said
    assert advice["uneven"]["advice"] in said
    assert "Missed" not in said
    assert "no finding 'on_fire'" in wrong(id, findings=[*codes, "on_fire"])


@pytest.mark.parametrize("id", [id for id in IDS if "fabric" in documents(id)[0]])
def test_a_wrong_fabric_is_told_what_to_look_at(id: str) -> None:
    fabric = right(id)["fabric"]
    for other in {*FABRICS, "ring", 7} - {fabric}:
        assert words(f"mystery.fabric_{fabric}") in wrong(id, fabric=other)


def test_every_fabric_has_its_sentence() -> None:
    for fabric in FABRICS:
        assert all(name in words(f"mystery.fabric_{fabric}") for name in FABRICS)


@pytest.mark.parametrize("id", IDS)
def test_a_wrong_rate_is_told_its_slip(id: str) -> None:
    assert words("slip.both_ways") in wrong(id, gb_per_s=2 * RATES[id])
    assert words("mystery.rate") in wrong(id, gb_per_s=3.3 * RATES[id])
    assert "GB/s" in wrong(id, gb_per_s="fast")


def test_what_a_printout_shows_is_not_what_its_machine_should_reach() -> None:
    for id, shown in (("m2", 100), ("m4", 42.19), ("m6", 483.05)):
        assert words("slip.as_it_is") in wrong(id, gb_per_s=shown)


@pytest.mark.parametrize("findings", [5, {"off_fabric": 1}, "cut"])
def test_findings_are_a_list(findings: object) -> None:
    assert wrong("m1", findings=findings) == words("mystery.list")
    assert wrong("m4", findings="half_contact") == words("mystery.list")


def test_an_unknown_machine_names_the_known_ones() -> None:
    with pytest.raises(KeyError, match="m10"):
        check_mystery("m11")


def test_no_printout_stands_twice_and_each_has_a_source() -> None:
    here, shipped = ({path.relative_to(folder) for path in folder.rglob("*.txt")}
                     for folder in (HERE, SHIPPED))  # fmt: skip
    assert not here & shipped
    rows = [row for kind in read_table("printouts").values() for row in kind]
    assert {row["file"] for row in rows} == {path.as_posix() for path in shipped}
    assert {row["file"] for row in rows if row.get("source")} == {row["file"] for row in rows}
    told = (HERE / "SOURCES.md").read_text(encoding="utf-8")
    assert [path.stem for path in here if f"| {path.stem} |" not in told] == []


def test_the_answers_folded_into_the_lesson_are_right() -> None:
    (path,) = form.notebooks([form.ROOT / "notebooks" / "12_misconceptions.ipynb"])
    cells = form.read(path).cells
    shown = [cell.source for cell in cells if cell.source.startswith("mystery(")]
    assert shown == [f'mystery("{id}")' for id in IDS]
    (folded,) = [cell for cell in cells if "The ten answers" in cell.source]
    (block,) = lesson_frame.fences(folded.source)
    results = [eval(ast.unparse(line), {"check_mystery": check_mystery})
               for line in ast.parse(block).body]  # fmt: skip
    assert [result.passed for result in results] == [True] * len(IDS)
