"""Checks of exercises: right, not yet, wrong with its slip, and code that fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nvlearn import answers, catalog
from nvlearn.exercises import check


def total_bandwidth(lanes: float, gbit_per_lane: float, links: float) -> float:
    return lanes * gbit_per_lane / 8 * links * 2


def step_time(compute: float, communication: float, overlap: bool) -> float:
    return max(compute, communication) if overlap else compute + communication


def ring_seconds(gigabytes: float, gpus: float, sheet: float) -> float:
    return 2 * (gpus - 1) / gpus * gigabytes / (sheet / 2)


def mean_hops(gpus: int) -> float:
    return sum(min(k, gpus - k) for k in range(1, gpus)) / (gpus - 1)


def bus_bandwidth(algbw: float, ranks: float) -> float:
    return algbw * 2 * (ranks - 1) / ranks


def exposed(buckets: float, bucket_ms: float, backward_ms: float) -> float:
    return bucket_ms + (buckets - 1) * max(0, bucket_ms - backward_ms / buckets)


def crossover(gpus: float, gb_per_s: float, microseconds: float) -> float:
    return gpus * gb_per_s * microseconds * (gpus - 1 - np.log2(gpus)) / 1000


def across_ms(gigabytes: float, servers: float) -> float:
    return 2 * (servers - 1) / servers * gigabytes / 8 / 50 * 1000


def yearly_growth(start: float, end: float, years: float) -> float:
    return 100 * ((end / start) ** (1 / years) - 1)


def step_speedup(share: float, times: float) -> float:
    return 1 / (1 - share + share / times)


RIGHT = {
    "01-1": [26, "26 GB", "26"],
    "01-2": [7, 7.03, "7"],
    "02-1": [300, "300 GB/s", "300", "600 GB/s both ways", "2400 Gb/s one way"],
    "02-2": [total_bandwidth],
    "02-3": [1800, "1.8 TB/s", "900 GB/s one way"],
    "03-1": [16, "16"],
    "03-2": [9.375, "9.4", "9.4x"],
    "03-3": [1.633, "1.63 s", "1633 ms"],
    "04-1": [mean_hops],
    "04-2": [9, "9"],
    "04-3": [100, "100 GB/s", "200 GB/s both ways"],
    "05-1": [bus_bandwidth],
    "05-2": [441.2, "441 GB/s"],
    "05-3": [306, "306 GB/s", "305.98"],
    "05-4": [57.8, "57.8 ms", "0.0578 s"],
    "06-4": [168.75, "168.75 GB"],
    "07-1": [90, "90 GB"],
    "07-2": [exposed],
    "07-3": [crossover],
    "08-1": [across_ms],
    "08-2": [75, "75 %", "75"],
    "08-3": [36.4, "36.4 GB/s"],
    "09-1": [yearly_growth],
    "09-2": [39.27, "39.3 ms", "0.0393 s"],
    "09-3": [74.5, "75 %", "75"],
    "10-1": [66.7, "67 %", "66.7"],
    "10-2": [12.03, "12 GB"],
    "10-3": [4.84, "4.84 ms", "0.00484 s"],
    "11-1": [0.0544, "54.4 ms", "54 ms"],
    "11-2": [0.383, "383 ms"],
    "11-3": [step_time],
    "12-1": [step_speedup],
    "12-2": [52.5, "52.5 ms", "0.0525 s"],
    "12-3": [90, "90 MB"],
    "13-1": [ring_seconds],
    "13-2": [9, "9", "9x"],
    "13-3": [91, 90.99, "91"],
}


def test_every_exercise_has_a_right_answer_here() -> None:
    assert list(answers.table("exercises")) == list(RIGHT)


@pytest.mark.parametrize("id", list(answers.table("exercises")))
def test_a_right_answer_passes_and_says_why(id: str) -> None:
    for answer in RIGHT[id]:
        result = check(id, answer)
        assert result.passed is True, (answer, result)
        assert len(str(result)) > 20


@pytest.mark.parametrize("id", list(answers.table("exercises")))
@pytest.mark.parametrize("stub", [None, ...])
def test_the_stub_is_not_yet(id: str, stub: object) -> None:
    result = check(id, stub)
    assert result.passed is None
    assert repr(result).startswith("Not yet")


@pytest.mark.parametrize(
    ("id", "answer", "slip"),
    [
        ("02-1", 600, "both_ways"),
        ("02-1", 150, "half"),
        ("02-1", 2400, "bits"),
        ("02-1", 25, "one_link"),
        ("02-1", "300 kB/s", "thousand"),
        ("02-3", 1200, "as_printed"),
        ("02-3", 900, "one_way"),
        ("03-1", 32, "both_cells"),
        ("03-1", 28, "all_pairs"),
        ("03-1", 24, "node_is_near"),
        ("03-2", 18.75, "mixed_directions"),
        ("03-3", 0.933, "gradient_once"),
        ("03-3", 0.766, "slot_rate"),
        ("04-1", lambda gpus: gpus / 4, None),
        ("04-2", 18, "chip_for_each_link"),
        ("04-3", 150, "all_six"),
        ("04-3", 125, "one_of_two"),
        ("11-1", 0.0272, "both_way_rate"),
        ("11-1", 0.0311, "gradient_once"),
        ("11-1", 14 / 900, "gradient_once_both_way_rate"),
        ("11-1", 28 / 450, "n_for_n_minus_1"),
        ("11-1", 54.4, "thousand"),
        ("11-2", 0.219, "gradient_once"),
        ("11-2", 0.8, "given_compute"),
        ("11-2", "191 ms", "both_way_rate"),
        ("07-1", 45, "sixteen_bit_gradients"),
        ("07-1", 22.5, "with_no_sync"),
        ("07-1", 48, "gradient_once"),
        ("07-2", lambda buckets, bucket_ms, backward_ms: buckets * bucket_ms, "nothing_hidden"),
        ("07-3", lambda gpus, rate, us: crossover(gpus, rate, us) * 2, "both_ways_rate"),
        ("08-1", lambda *given: 8 * across_ms(*given), "whole_message_across"),
        ("08-2", 12, "speedup_for_efficiency"),
        ("08-3", 376.6, "busbw_as_wire"),
        ("08-3", 47.1, "busbw_over_8"),
        ("10-1", 60, "gone_altogether"),
        ("10-2", 35, "nothing_shared"),
        ("10-3", 4.36, "one_per_layer"),
        ("12-1", lambda share, times: times, "all_gets_faster"),
        ("12-1", lambda share, times: 1 / max(1 - share, 1e-9), "exchange_gone"),
        ("12-2", 35, "links_all_up"),
        ("12-2", 36.5, "links_averaged"),
        ("12-3", 9, "half_speed_itself"),
        ("13-2", 2.25, "bits_as_bytes"),
        ("13-2", 1.125, "bits_as_bytes_one_way"),
        ("13-2", 18, "mixed_directions"),
        ("13-3", 99, "amdahl_printed"),
        ("13-3", 100, "amdahl_limit"),
        ("13-3", 1000, "amdahl_all_parallel"),
        ("13-3", 990, "amdahl_serial_taken_off"),
        ("13-1", lambda *given: ring_seconds(*given) / 2, "both_way_rate"),
        ("13-1", lambda *given: ring_seconds(*given) * 1e3, "thousand"),
        ("02-2", lambda lanes, rate, links: lanes * rate / 8 * links * 4, "doubled_twice"),
        ("02-2", lambda lanes, rate, links: lanes * rate / 8 * links, "one_way"),
        ("02-2", lambda lanes, rate, links: lanes * rate * links * 2, "bits"),
        ("02-2", lambda lanes, rate, links: lanes + rate + links, None),
        ("11-3", lambda compute, communication, overlap: compute + communication,
         "never_overlapped"),
        ("11-3", lambda compute, communication, overlap: max(compute, communication),
         "always_overlapped"),
    ],
)  # fmt: skip
def test_a_wrong_answer_is_told_its_slip(id: str, answer: object, slip: str | None) -> None:
    result = check(id, answer)
    assert result.passed is False
    assert result.slip == slip
    assert answers.slip_sentence(slip) in repr(result)


def test_a_wrong_function_is_told_the_call() -> None:
    assert "total_bandwidth(2, 100, 18) gives 450, expected was 900" in repr(
        check("02-2", lambda lanes, rate, links: lanes * rate / 8 * links)
    )


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda lanes, rate, links: lanes / 0, "ZeroDivisionError"),
        (lambda lanes: lanes, "TypeError"),
        (lambda lanes, rate, links: None, "return"),
        (lambda lanes, rate, links: ..., "return"),
        (lambda lanes, rate, links: "many", "'many'"),
        (lambda lanes, rate, links: float("nan"), "nan"),
        (lambda lanes, rate, links: {}[lanes], "KeyError"),
        (900, "total_bandwidth"),
    ],
)
def test_a_function_that_fails_is_told_in_one_sentence(function: object, said: str) -> None:
    result = check("02-2", function)
    assert result.passed is not True
    assert said in repr(result)
    assert "\n" not in repr(result)


@pytest.mark.parametrize(
    "answer", ["fast", "300 GB", [1, 2], float("nan"), float("inf"), len, "-1", "", -1, 1j, "1e999"]
)
def test_an_answer_that_is_no_number_gets_a_sentence(answer: object) -> None:
    result = check("02-1", answer)
    assert result.passed is False
    assert repr(result).endswith(".")


def test_an_unknown_exercise_names_the_known_ones() -> None:
    with pytest.raises(KeyError, match="02-1"):
        check("99-9", 1)


def test_numbers_of_other_libraries_are_numbers() -> None:
    assert check("02-1", np.float32(300)).passed
    assert check("02-2", lambda *f: np.float64(total_bandwidth(*f))).passed


@pytest.mark.parametrize("id", list(answers.table("exercises")))
def test_every_slip_has_its_sentence_and_differs_from_the_truth(id: str) -> None:
    entry = answers.find("exercises", id)
    given: dict[str, Any] = {}
    if entry["kind"] == "function":
        given = dict(zip(entry["parameters"], entry["samples"][0], strict=True))
    truth = answers.compute(entry, **given)
    for code in answers.wrong_values(entry, truth, **given):
        assert answers.slip_sentence(code)


def test_the_arguments_agree_with_the_catalog() -> None:
    def factors(name: str) -> tuple[float, float, float]:
        made = catalog.nvlink(name)
        return made.lanes.value, made.lane_rate.value, made.links.value

    for id, name in (("02-1", "3.0"), ("02-3", "5.0")):
        args = answers.find("exercises", id)["args"]
        assert (args["lanes"], args["lane_rate_bits"], args["links"]) == factors(name)


def test_a_slip_must_explain_every_miss() -> None:
    twice_once: Callable[..., float] = lambda lanes, rate, links: (  # noqa: E731
        total_bandwidth(lanes, rate, links) * (2 if links == 18 else 3)
    )
    assert check("02-2", twice_once).slip is None
