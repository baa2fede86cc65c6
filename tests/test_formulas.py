"""The closed forms against the worked numbers, their limits, and their legends."""

from __future__ import annotations

import inspect
import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nvlearn import formulas as f

GB, GIB, MIB, KIB = 1e9, 2**30, 2**20, 2**10
RING = {"message": 14e9, "bandwidth": 450e9, "latency": 1e-6}
SMALL = {"message": KIB, "ranks": 8, "bandwidth": 450e9, "latency": 1e-6}
DECODE = (140e9, 0, 8, 3.35e12, 80)
ACTIVATION = f.activation_bytes(1, 4096, 8192)
BF16_75 = f.parameter_bytes(7.5e9, 2)
BUCKET = 1.75 * 25 * MIB / 235e9 + 32e-6

# computed, printed, in units of the printed number
WORKED = {
    "ring 8": (f.ring_all_reduce_time(ranks=8, **RING), "54.4584", 1e-3),
    "ring 72": (f.ring_all_reduce_time(ranks=72, **RING), "61.5000", 1e-3),
    "ring 576": (f.ring_all_reduce_time(ranks=576, **RING), "63.2642", 1e-3),
    "reduce-scatter": (f.ring_reduce_scatter_time(ranks=8, **RING), "27.2292", 1e-3),
    "all-gather": (f.ring_all_gather_time(ranks=8, **RING), "27.2292", 1e-3),
    "tree 1 KiB": (f.tree_all_reduce_time(**SMALL), "6.005", 1e-6),
    "ring 1 KiB": (f.ring_all_reduce_time(**SMALL), "14.004", 1e-6),
    "doubling 1 KiB": (f.recursive_doubling_time(**SMALL), "3.007", 1e-6),
    "halving 16 MiB": (f.halving_doubling_time(16 * MIB, 8, 450e9, 1e-6), "71.245", 1e-6),
    "ring 16 MiB": (f.ring_all_reduce_time(16 * MIB, 8, 450e9, 1e-6), "79.245", 1e-6),
    "tree 16 MiB": (f.tree_all_reduce_time(16 * MIB, 8, 450e9, 1e-6), "80.565", 1e-6),
    "crossover 8": (f.ring_tree_crossover(8, 450e9, 1e-6), "14.4", 1e6),
    "crossover 512": (f.ring_tree_crossover(512, 50e9, 5e-6), "64.256", GB),
    "nvls 1 GiB": (f.nvls_all_reduce_time(GIB, 8, 305e9), "3960.5", 1e-6),
    "ring:nvls 8": (f.ring_nvls_ratio(8), "1.5556", 1),
    "ring:nvls 72": (f.ring_nvls_ratio(72), "1.9452", 1),
    "ring:nvls 2": (f.ring_nvls_ratio(2), "0.6667", 1),
    "nvls from N, H200": (f.ring_nvls_crossover(366e9, 306e9), "3.98", 1),
    "nvls from N, B200": (f.ring_nvls_crossover(680e9, 541e9), "4.38", 1),
    "hierarchy inside": (
        f.hierarchical_all_reduce_time(4 * GIB, 8, 4, 740.64e9, 50e9).inside, "10.148", 1e-3),
    "hierarchy across": (
        f.hierarchical_all_reduce_time(4 * GIB, 8, 4, 740.64e9, 50e9).across, "16.106", 1e-3),
    "wire": (f.network_rate_from_busbw(377.34e9, 4, 32), "36.517", GB),
    "all-to-all": (f.all_to_all_time(GIB, 72, 660e9), "1.6043", 1e-3),
    "buckets": (f.bucket_count(14e9), "535", 1),
    "one bucket": (BUCKET, "0.22721", 1e-3),
    "exposed 200 ms": (f.bucket_exposed_time(535, BUCKET, 0.2), "0.2272", 1e-3),
    "exposed 100 ms": (f.bucket_exposed_time(535, BUCKET, 0.1), "21.746", 1e-3),
    "ddp": (f.zero_volume(BF16_75, 8), "26.25", GB),
    "zero 2": (f.zero_volume(BF16_75, 8, stage=2), "26.25", GB),
    "zero 3": (f.zero_volume(BF16_75, 8, stage=3), "39.375", GB),
    "memory 0": (f.zero_memory(7.5e9, 64), "120", GB),
    "memory 1": (f.zero_memory(7.5e9, 64, 1), "31.406", GB),
    "memory 2": (f.zero_memory(7.5e9, 64, 2), "16.641", GB),
    "memory 3": (f.zero_memory(7.5e9, 64, 3), "1.875", GB),
    "activation": (ACTIVATION, "64", MIB),
    "tensor bytes": (f.tensor_parallel_bytes(ACTIVATION, 8), "469.762", 1e6),
    "tensor bytes, 80 layers": (f.tensor_parallel_bytes(ACTIVATION, 8, 80), "37.581", GB),
    "tensor time": (f.tensor_parallel_time(ACTIVATION, 8, 370e9, layers=80), "101.57", 1e-3),
    "tensor time, PCIe": (f.tensor_parallel_time(ACTIVATION, 8, 20.6e9), "22.804", 1e-3),
    "tensor time, NVLink": (f.tensor_parallel_time(ACTIVATION, 8, 370e9), "1.2696", 1e-3),
    "sequence": (f.sequence_parallel_bytes(ACTIVATION, 8), "469.762", 1e6),
    "bubble of step": (f.pipeline_bubble_share(8, 32), "0.17949", 1),
    "bubble of ideal": (f.pipeline_bubble_overhead(8, 32), "0.21875", 1),
    "bubble interleaved": (f.pipeline_bubble_overhead(8, 32, 4), "0.054688", 1),
    "accumulation, no_sync": (f.accumulation_volume(BF16_75, 8, 8), "26.25", GB),
    "accumulation": (f.accumulation_volume(BF16_75, 8, 8, no_sync=False), "210", GB),
    "accumulation, stage 3": (f.accumulation_volume(BF16_75, 8, 8, stage=3), "315", GB),
    "dispatch fp8": (
        f.expert_parallel_bytes(f.activation_bytes(1, 4096, 7168, 1), 8, 64), "231.21", 1e6),
    "combine bf16": (
        f.expert_parallel_bytes(f.activation_bytes(1, 4096, 7168, 2), 8, 64), "462.42", 1e6),
    "experts at 50 GB/s": (
        f.expert_parallel_bytes(f.activation_bytes(1, 4096, 7168, 3), 8, 64) / 50e9,
        "13.873", 1e-3),
    "kv": (f.kv_cache_bytes(80, 8, 128), "327680", 1),
    "kv, 8192 tokens": (8192 * f.kv_cache_bytes(80, 8, 128), "2.68435", GB),
    "kv, all heads": (f.kv_cache_bytes(40, 40, 128), "819200", 1),
    "decode, weights": (f.decode_time(*DECODE, 0.0).weights, "5.224", 1e-3),
    "decode, GB200": (f.decode_time(*DECODE, 9.57e-6).communication, "1.531", 1e-3),
    "decode, one-shot": (f.decode_time(*DECODE, 4.04e-6).communication, "0.646", 1e-3),
    "decode, RTX 4090": (f.decode_time(*DECODE, 43.1e-6).communication, "6.896", 1e-3),
    "decode, V100": (f.decode_time(*DECODE, 50.35e-6).communication, "8.056", 1e-3),
}  # fmt: skip

# Gain of reduction in the switch over a ring, in a published sweep over N: N, predicted.
GAINS = [
    (366e9, 306e9, {5: 1.115, 6: 1.194, 7: 1.254, 8: 1.301}),
    (680e9, 541e9, {6: 1.137, 7: 1.193, 8: 1.238}),
]
TIMES = [
    f.ring_all_reduce_time, f.ring_reduce_scatter_time, f.ring_all_gather_time,
    f.tree_all_reduce_time, f.recursive_doubling_time, f.halving_doubling_time,
    f.nvls_all_reduce_time, f.all_to_all_time, f.break_even_compute,
]  # fmt: skip
sizes = st.floats(0, 1e13)
rates = st.floats(1e6, 1e14)
delays = st.floats(0, 1e-2)
counts = st.integers(1, 100_000)


@pytest.mark.parametrize("name", WORKED)
def test_worked_number(name: str) -> None:
    computed, printed, unit = WORKED[name]
    digits = len(printed.partition(".")[2])
    assert computed / unit == pytest.approx(float(printed), abs=0.5001 * 10**-digits)


def test_published_nvls_time_is_within_one_percent() -> None:
    assert 4000.8e-6 / f.nvls_all_reduce_time(GIB, 8, 305e9) == pytest.approx(1.01, abs=5e-4)


@pytest.mark.parametrize(("ring", "nvls", "gains"), GAINS)
def test_gain_of_the_switch(ring: float, nvls: float, gains: dict[int, float]) -> None:
    for n, gain in gains.items():
        assert f.ring_nvls_ratio(n, ring, nvls) == pytest.approx(gain, abs=5.001e-4)
    assert f.ring_nvls_ratio(math.ceil(f.ring_nvls_crossover(ring, nvls)), ring, nvls) >= 1
    assert f.ring_nvls_ratio(math.floor(f.ring_nvls_crossover(ring, nvls)), ring, nvls) <= 1


def test_every_formula_is_pure_closed_and_documented() -> None:
    assert len(f.FORMULAS) >= 50
    for name, function in f.FORMULAS.items():
        assert getattr(f, name) is function
        text = inspect.getdoc(function) or ""
        assert "Formula: " in text, name
        assert re.search(r"^>>> ", text, re.MULTILINE), name
        assert f"Lesson {f.legend(name).lesson}." in text, name


@pytest.mark.parametrize("name", f.FORMULAS)
def test_legend_names_every_argument(name: str) -> None:
    legend = f.legend(f.FORMULAS[name])
    names = list(inspect.signature(f.FORMULAS[name]).parameters)
    assert [row.argument for row in legend.rows] == names
    assert all(all(row) for row in legend.rows)
    assert len({row.symbol for row in legend.rows}) == len(legend.rows)
    assert legend.latex.count("{") == legend.latex.count("}")
    assert len(legend.markdown().splitlines()) == len(legend.rows) + 4


def test_the_formulas_of_the_source_document_are_marked() -> None:
    marked = {name for name in f.FORMULAS if f.legend(name).document}
    assert marked == {
        "link_bandwidth", "bandwidth_ratio", "ring_aggregate_bandwidth", "amdahl_speedup",
        "parameter_server_upload", "step_time", "scaling_efficiency", "growth",
        "ring_all_reduce_time",
    }  # fmt: skip


def test_unknown_legend_names_the_nearest() -> None:
    with pytest.raises(ValueError, match="no formula 'ring_allreduce_time'; there is ring_all_re"):
        f.legend("ring_allreduce_time")


@pytest.mark.parametrize("time", TIMES)
@given(message=sizes, bandwidth=rates, latency=delays)
@settings(max_examples=25)
def test_one_rank_costs_nothing(time, message: float, bandwidth: float, latency: float) -> None:
    assert time(message, 1, bandwidth, latency) == 0


TINY = 1e-300  # below it numbers lose their digits


@pytest.mark.parametrize("time", TIMES)
@given(message=sizes, n=counts, bandwidth=rates, latency=delays, factor=st.floats(1, 100))
@settings(max_examples=25)
def test_times_are_monotone(time, message, n, bandwidth, latency, factor) -> None:
    here = time(message, n, bandwidth, latency)
    slack = here * (1 + 1e-12) + TINY
    assert time(message * factor, n, bandwidth, latency) * (1 + 1e-12) + TINY >= here
    assert time(message, n, bandwidth, latency * factor) * (1 + 1e-12) + TINY >= here
    assert time(message, n, bandwidth * factor, latency) <= slack
    if time is not f.nvls_all_reduce_time:  # its factor (N + 1) / N falls
        assert time(message, n + 1, bandwidth, latency) * (1 + 1e-12) + TINY >= here


@given(message=sizes, n=counts, bandwidth=rates, latency=delays)
def test_relations_between_collectives(message, n, bandwidth, latency) -> None:
    args = (message, n, bandwidth, latency)
    ring, half = f.ring_all_reduce_time(*args), f.ring_reduce_scatter_time(*args)
    assert half + f.ring_all_gather_time(*args) == pytest.approx(ring)
    assert f.halving_doubling_time(*args) <= ring * (1 + 1e-12) + 1e-300
    wire = f.ring_traffic_per_rank(message, n)
    assert f.ring_all_reduce_time(message, n, bandwidth) == pytest.approx(wire / bandwidth)
    assert wire <= 2 * message
    assert f.ring_total_traffic(message, n) == pytest.approx(n * wire)


@given(n=st.integers(3, 4096), bandwidth=rates, latency=st.floats(1e-9, 1e-3))
def test_ring_meets_tree_at_the_crossover(n: int, bandwidth: float, latency: float) -> None:
    message = f.ring_tree_crossover(n, bandwidth, latency)
    args = (message, n, bandwidth, latency)
    assert f.ring_all_reduce_time(*args) == pytest.approx(f.tree_all_reduce_time(*args))


@given(n=st.integers(2, 200))
def test_ring_distance_equals_counting(n: int) -> None:
    hops = [min(k, n - k) for k in range(1, n)]
    assert f.ring_mean_distance(n) == pytest.approx(sum(hops) / len(hops))
    assert f.all_to_all_ring_bandwidth(n, 50e9) == pytest.approx(n * 50e9 / np.mean(hops))
    if n % 2 == 0:
        assert f.all_to_all_ring_bandwidth(n, 50e9) == pytest.approx(4 * 50e9 * (n - 1) / n)


@given(share=st.floats(0, 0.9999), n=counts)
def test_amdahl_stays_below_its_limits(share: float, n: int) -> None:
    speedup = f.amdahl_speedup(share, n)
    assert 1 - 1e-9 <= speedup <= min(n, 1 / (1 - share)) * (1 + 1e-9)


@given(compute=st.floats(0, 1e3), communication=st.floats(0, 1e3))
def test_overlap_never_costs(compute: float, communication: float) -> None:
    hidden, summed = f.step_time(compute, communication), f.step_time(compute, communication, False)
    assert max(compute, communication) == hidden <= summed <= 2 * hidden
    assert 0 <= f.exposed_share(compute, communication, overlap=True) <= 1
    exposed = f.exposed_share(compute, communication)
    assert f.exposed_share(compute, communication, True) <= exposed * (1 + 1e-9) + 1e-12 <= 1 + 1e-8


@given(b0=st.floats(1, 1e6), b1=st.floats(1, 1e6), t=st.integers(1, 50))
def test_growth_and_rate_undo_each_other(b0: float, b1: float, t: int) -> None:
    assert f.growth(b0, f.compound_rate(b0, b1, t), t) == pytest.approx(b1)


@given(st.integers(2, 1000), rates, st.sampled_from(["all_reduce", "alltoall", "reduce"]))
def test_busbw_and_algbw_undo_each_other(n: int, rate: float, collective: str) -> None:
    bus = f.busbw_from_algbw(rate, n, collective)
    assert f.algbw_from_busbw(bus, n, collective) == pytest.approx(rate)


@given(n=st.integers(1, 64), each=st.floats(0, 1), backward=st.floats(0, 10))
def test_exposed_buckets_follow_the_two_cases(n: int, each: float, backward: float) -> None:
    exact = each if each <= backward / n else n * each + backward / n - backward
    assert f.bucket_exposed_time(n, each, backward) == pytest.approx(exact, abs=1e-12)


def test_busbw_factors() -> None:
    assert f.busbw_factor(8) == 1.75
    assert f.busbw_factor(8, "all_gather") == f.busbw_factor(8, "alltoall") == 0.875
    assert f.busbw_factor(8, "broadcast") == f.busbw_factor(1, "sendrecv") == 1
    assert f.algbw(14e9, 0.07) == pytest.approx(200e9)


def sample(name: str, i: int) -> object:
    """Return a fitting value of an argument."""
    fixed = {
        "collective": "all_reduce", "overlap": True, "no_sync": False, "directions": 1 + i % 2,
        "parallel_share": 0.9 - i / 10, "coding": 0.9 - i / 10, "stage": i % 4, "rate": 0.3 + i,
    }  # fmt: skip
    return fixed.get(name, float(2 + i))


@pytest.mark.parametrize("name", f.FORMULAS)
def test_numbers_give_floats_and_arrays_give_the_same(name: str) -> None:
    function = f.FORMULAS[name]
    plain = ("collective", "overlap", "no_sync")
    names = list(inspect.signature(function).parameters)
    rows = [{a: sample(a, 0 if a in plain else i) for a in names} for i in range(4)]
    columns = {a: rows[0][a] if a in plain else np.array([row[a] for row in rows]) for a in names}
    scalars = [function(**row) for row in rows]
    whole = function(**columns)
    parts = zip(whole, *scalars, strict=True) if isinstance(whole, tuple) else [(whole, *scalars)]
    for part, *ones in parts:
        assert all(type(one) is float for one in ones)
        assert isinstance(part, np.ndarray)
        assert part == pytest.approx(np.array(ones), rel=1e-12)


def test_arrays_broadcast_and_integers_do_not_overflow() -> None:
    n, m = np.array([2, 8, 72]), np.array([[10**9], [10**18]])
    assert f.ring_all_reduce_time(m, n, 450 * 10**9).shape == (2, 3)
    assert f.ring_total_traffic(m, n)[1, 2] == pytest.approx(142e18)
    assert type(f.ring_total_traffic(np.float32(2), np.int64(8))) is float
    assert f.ring_total_traffic(np.array([]), 8).shape == (0,)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"ranks": 0}, r"ranks \(GPUs\) is 0; expected a whole number, at least 1"),
        ({"ranks": 2.5}, "is 2.5; expected a whole number"),
        ({"ranks": [8, 0]}, "is 0; expected a whole number"),
        ({"ranks": True}, "is True; expected"),
        ({"message": -1}, r"message \(bytes\) is -1; expected a number, at least 0"),
        ({"message": "14 GB"}, "is '14 GB'; expected a number"),
        ({"message": math.nan}, "is nan; expected"),
        ({"message": 10**400}, "is 1000"),
        ({"bandwidth": 0}, r"bandwidth \(bytes/s\) is 0; expected a number above 0.*one way"),
        ({"bandwidth": np.array([1.0, np.inf])}, "is inf; expected a number above 0"),
        ({"latency": None}, r"latency \(s\) is None; expected a number, at least 0"),
    ],
)
def test_wrong_arguments_get_one_clear_sentence(arguments: dict, sentence: str) -> None:
    good = {"message": 14e9, "ranks": 8, "bandwidth": 450e9, "latency": 0.0}
    with pytest.raises(ValueError, match=sentence) as caught:
        f.ring_all_reduce_time(**good | arguments)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: f.link_bandwidth(2, 100e9, 18, directions=3), "directions .* expected 1 or 2"),
        (lambda: f.amdahl_speedup(1.2, 8), "from 0 to 1"),
        (lambda: f.zero_memory(7e9, 8, 4), "expected 0, 1, 2 or 3"),
        (lambda: f.growth(160, -1, 2), "above -1"),
        (lambda: f.busbw_factor(8, "allreduce"), "no collective 'allreduce'; there is all_reduce"),
        (lambda: f.algbw_from_busbw(1e9, 1), "ranks is 1: nothing moves"),
        (lambda: f.ring_nvls_crossover(400e9, 200e9), "a ring always wins"),
        (lambda: f.compound_rate(160, 1800, 0), "t is 0; expected"),
    ],
)
def test_other_wrong_arguments(call, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        call()
