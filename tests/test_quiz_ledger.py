"""The learner's records: nothing lost, nothing half written; and predictions."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from nvlearn import answers
from nvlearn.quiz import ledger, predict


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NVLEARN_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def test_what_is_recorded_is_read_in_order(home: Path) -> None:
    ledger.record("prediction", id="a", guess=1.5, truth=3)
    ledger.record("answer", id="b", score=1, text="你好\n")
    ledger.record("prediction", id="c", guess=0, truth=3)
    assert [entry["id"] for entry in ledger.read("prediction")] == ["a", "c"]
    assert ledger.read()[1]["text"] == "你好\n"
    assert ledger.read().torn == []
    assert len((home / "ledger.jsonl").read_bytes().splitlines()) == 3


def test_without_a_file_there_is_nothing_to_read() -> None:
    assert ledger.read() == []


def test_a_home_that_is_a_file_is_told_and_not_taken_for_an_empty_one(home: Path) -> None:
    home.write_text("mine", encoding="utf-8")
    with pytest.raises(OSError, match=r"home"):
        ledger.read()
    assert "could not be kept" in ledger.keep("answer", id="a")
    assert home.read_text(encoding="utf-8") == "mine"


def test_a_torn_line_is_kept_aside_and_the_next_record_stands_alone(home: Path) -> None:
    ledger.record("answer", id="whole", score=1)
    with (home / "ledger.jsonl").open("ab") as file:
        file.write('{"kind": "answer", "id": "torn", "text": "你'.encode()[:-1])
    assert [entry["id"] for entry in ledger.read()] == ["whole"]
    assert "Line 2" in ledger.read().torn[0]
    ledger.record("answer", id="next", score=0.5)
    read = ledger.read("answer")
    assert [entry["id"] for entry in read] == ["whole", "next"]
    assert len(read.torn) == 1
    assert "torn" in (home / "ledger.jsonl").read_text(encoding="utf-8", errors="replace")


def test_a_line_that_is_json_but_no_record_is_named(home: Path) -> None:
    home.mkdir()
    (home / "ledger.jsonl").write_text('[1]\n{"id": 1}\n\n', encoding="utf-8")
    read = ledger.read()
    assert read == []
    assert len(read.torn) == 2


def test_two_kernels_that_write_at_once_lose_nothing() -> None:
    code = (
        "from nvlearn.quiz import ledger\n"
        "for i in range(200): ledger.record('answer', id=str(i), score=1, text='x' * 300)"
    )
    writers = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(2)]
    assert [writer.wait() for writer in writers] == [0, 0]
    read = ledger.read("answer")
    assert len(read) == 400
    assert read.torn == []


def test_each_record_is_one_write(monkeypatch: pytest.MonkeyPatch) -> None:
    writes: list[bytes] = []
    real = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: (writes.append(data), real(fd, data))[1])
    ledger.record("answer", id="a")
    assert len(writes) == 1
    assert writes[0].endswith(b"\n")


def test_a_disk_that_takes_only_a_part_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "write", lambda fd, data: len(data) - 1)
    with pytest.raises(OSError, match="only a part"):
        ledger.record("answer", id="a")


def test_the_folder_is_the_users_own_without_nvlearn_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NVLEARN_HOME")
    assert ledger.folder().name == "nvlearn"


def test_a_prediction_is_recorded_with_truth_ratio_and_slip(home: Path) -> None:
    text = predict("02-b200", 1800)
    assert "1800 GB/s one way" in text
    assert "900 GB/s one way" in text
    (entry,) = ledger.read("prediction")
    del entry["at"]
    assert entry == {
        "kind": "prediction", "id": "02-b200", "guess": 1800.0, "truth": 900.0,
        "unit": "GB/s one way", "ratio": 2.0, "slip": "both_ways", "right": False,
    }  # fmt: skip


@pytest.mark.parametrize("guess", [900, "900 GB/s", "1800 GB/s both ways", "7200 Gb/s one way"])
def test_a_right_prediction_may_name_its_own_unit(guess: object) -> None:
    assert "Well predicted" in predict("02-b200", guess)
    assert ledger.read()[0]["slip"] is None


def test_a_truth_of_nothing_has_no_ratio() -> None:
    text = predict("11-overlap", "30 %")
    assert "0 %" in text
    (entry,) = ledger.read()
    assert entry["truth"] == 0
    assert entry["ratio"] is None
    assert "Well predicted" in predict("11-overlap", 0)
    assert predict("11-overlap", 32.4)
    assert ledger.read()[-1]["slip"] == "waiting_share"
    for guess, slip in ((27.7, "in_turn_saving"), (41, "times_alone"), (85.8, "links_alone")):
        predict("11-overlap", guess)
        assert ledger.read()[-1]["slip"] == slip


def test_the_stub_is_not_recorded(home: Path) -> None:
    assert "not yet" in str(predict("02-b200", None)).lower()
    assert repr(predict("02-b200", ...)) == str(predict("02-b200", None))
    assert not home.exists()


@pytest.mark.parametrize("guess", ["fast", "450 GB", "nan", float("nan"), float("inf"), [1], "-3"])
def test_a_guess_that_is_no_number_gets_a_sentence(guess: object, home: Path) -> None:
    assert predict("02-b200", guess).endswith(".")
    assert not home.exists()


def test_the_lesson_goes_on_where_nothing_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("NVLEARN_HOME", str(tmp_path / "file"))
    text = predict("02-b200", 900)
    assert "Well predicted" in text
    assert "NVLEARN_HOME" in text


def test_an_unknown_prediction_names_the_known_ones() -> None:
    with pytest.raises(KeyError, match="02-b200"):
        predict("99-z", 1)


@pytest.mark.parametrize("id", list(answers.table("predictions")))
def test_every_prediction_answers_every_of_its_own_slips(id: str) -> None:
    entry = answers.find("predictions", id)
    for code in answers.wrong_values(entry, answers.compute(entry)):
        assert answers.slip_sentence(code)
    predict(id, 12345)
    assert json.dumps(ledger.read()[0])
