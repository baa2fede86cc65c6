"""The demo's model: the repaired table of the errata, and the one the source prints."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from nvlearn import catalog
from nvlearn.training import (
    COMPUTE,
    MODELS,
    demo_rows,
    plan_step,
    splits,
    tuned,
)  # fmt: skip

# name, communication, overlapped, not overlapped, exposed share: errata G
REPAIRED = [
    ("PCIe Gen4 x16", "0.766", "0.800", "1.566", "48.9%"),
    ("PCIe Gen5 x16", "0.383", "0.800", "1.183", "32.4%"),
    ("NVLink 3.0 (A100)", "0.082", "0.800", "0.882", "9.3%"),
    ("NVLink 4.0 (H100)", "0.054", "0.800", "0.854", "6.4%"),
    ("NVLink 5.0 (B200)", "0.027", "0.800", "0.827", "3.3%"),
    ("A100 ring, measured on 8", "0.106", "0.800", "0.906", "11.7%"),
    ("H200 ring, measured on 8", "0.067", "0.800", "0.867", "7.7%"),
    ("H200 NVLS, measured on 8", "0.051", "0.800", "0.851", "6.0%"),
]


def test_the_repaired_table_is_that_of_the_errata() -> None:
    rows = [
        (row.name, f"{row.communication:.3f}", f"{row.overlapped:.3f}", f"{row.in_turn:.3f}",
         f"{row.exposed:.1%}")
        for row in demo_rows()
    ]  # fmt: skip
    assert rows == REPAIRED


def test_all_rates_are_one_way() -> None:
    rates = [row.rate / 1e9 for row in demo_rows()]
    assert rates == [32, 64, 300, 450, 900, 231.45, 367.61, 482.26]
    assert [row.measured for row in demo_rows()] == [False] * 5 + [True] * 3


def test_overlapped_no_link_shows_until_computing_is_short() -> None:
    assert {row.overlapped for row in demo_rows()} == {COMPUTE}
    short = demo_rows(compute=0.2)[1]
    assert short.overlapped == short.communication == pytest.approx(24.5 / 64)


def test_the_speedup_without_overlap() -> None:
    rows = {row.name: row for row in demo_rows()}
    gain = rows["PCIe Gen5 x16"].in_turn / rows["NVLink 4.0 (H100)"].in_turn
    assert round(gain, 2) == 1.38


def test_the_source_mixes_directions() -> None:
    rows = demo_rows(as_printed=True)
    assert [row.rate / 1e9 for row in rows] == [64, 600, 900]
    printed, repaired = rows[2], demo_rows()[3]
    assert printed.communication == pytest.approx(repaired.communication / 2)


def test_bytes_and_gpus_count() -> None:
    base, wide = demo_rows()[0], demo_rows(bytes_per_gradient=4)[0]
    assert wide.communication == pytest.approx(2 * base.communication)
    assert demo_rows(gpus=1)[0].communication == 0
    assert demo_rows(gpus=16)[0].communication == pytest.approx(15 / 14 * base.communication)


def test_a_wrong_argument_is_refused() -> None:
    with pytest.raises(ValueError, match="ranks"):
        demo_rows(gpus=0)


def test_what_the_switch_gains_depends_on_how_many_take_part() -> None:
    ring, nvls = demo_rows(gpus=2)[-2:]
    assert nvls.communication > ring.communication  # with two GPUs a switch that adds gains nothing
    assert round(nvls.communication, 3) == 0.068
    assert round(demo_rows(gpus=16)[-1].communication, 3) == 0.048


# 14 GB over 8 GPUs at 235 GB/s in buckets of 25 MiB, 32 us each: backward, waits
@pytest.mark.parametrize(("backward", "waits"), [(0.2, "0.2272"), (0.1, "21.7462")])
def test_buckets_hide_all_but_what_the_worked_numbers_say(backward: float, waits: str) -> None:
    row = tuned("", 14e9, 8, 235e9, 1.5 * backward)
    assert f"{row.waits * 1e3:.4f}" == waits
    assert row.overlapped == row.compute + row.waits <= row.in_turn
    assert round(row.communication, 4) == 0.1216


def test_accumulation_exchanges_once_or_after_each_micro_step() -> None:
    given = {"message": 12e9, "ranks": 8, "rate": 64e9, "compute": 0.36, "micro_steps": 4}
    often, once = (tuned("", **given, no_sync=no_sync) for no_sync in (False, True))
    assert often.communication == pytest.approx(4 * once.communication)
    assert often.waits == pytest.approx(4 * once.waits)


LARGE = {"parameters": 70e9, "layers": 80, "hidden": 8192, "inside": 370e9}


def test_a_plan_adds_up_the_worked_parts() -> None:
    step = plan_step(**LARGE, tensor=8)
    assert round(step.tensor * 1e3, 2) == 101.57  # 80 layers of 64 MiB activations
    assert step.compute == pytest.approx(6 * 70e9 * 4096 / 8 / 400e12)
    assert (step.bubble, step.data) == (0, 0)
    assert step.total == step.compute + step.tensor
    piped = plan_step(7.5e9, 32, 4096, pipeline=8, microbatches=32)
    assert round(piped.bubble / piped.compute, 5) == 0.21875
    assert round(piped.bubble / piped.total, 5) == 0.17949
    interleaved = plan_step(7.5e9, 32, 4096, pipeline=8, microbatches=32, interleave=4)
    assert round(interleaved.bubble / interleaved.compute, 6) == 0.054688
    memory = [plan_step(7.5e9, 32, 4096, data=64, stage=z).memory / 1e9 for z in range(4)]
    assert [round(part, 3) for part in memory] == [120, 31.406, 16.641, 1.875]


def test_where_groups_lie_decides_which_traffic_crosses() -> None:
    cut = {**LARGE, "tensor": 8, "data": 4}
    good, bad = plan_step(**cut), plan_step(**cut, tensor_first=False)
    assert bad.tensor == pytest.approx(7.4 * good.tensor)  # 370 over 50 GB/s
    assert bad.data < good.data
    assert bad.compute == good.compute
    assert plan_step(**LARGE, tensor=16).tensor > 7 * good.tensor


def test_stage_3_sends_half_as_much_again_and_in_every_micro_batch() -> None:
    # A backward pass that takes no time hides nothing: what is exposed is all that is sent.
    plain, whole = (
        plan_step(7.5e9, 32, 4096, data=8, microbatches=4, stage=z, flops=1e30, inside=450e9)
        for z in (0, 3)
    )
    assert plain.data == pytest.approx(26.25e9 / 450e9)
    assert whole.data == pytest.approx(4 * 39.375e9 / 450e9)


@pytest.mark.parametrize(
    ("run", "shape", "cut", "near"),
    [
        ("22B on 8", (22e9, 48, 6144), (4, 1, 1, 1), 0.25),
        ("175B on 64", (175e9, 96, 12288), (1, 64, 8, 3), 0.05),
        ("530B on 280", (530e9, 105, 20480), (1, 280, 35, 3), 0.10),
        ("1T on 512", (1e12, 128, 25600), (1, 512, 64, 1), 0.15),
    ],
)
def test_a_plan_comes_near_a_measured_step(run, shape, cut, near) -> None:
    names = ("batch", "microbatches", "pipeline", "interleave")
    step = plan_step(*shape, 2048, tensor=8, flops=183e12, inside=235e9, outside=25e9,
                     **dict(zip(names, cut, strict=True)))  # fmt: skip
    planned = step.total + step.sent["pipeline"][1] / 25e9
    assert planned == pytest.approx(catalog.fact(f"Training step of {run} A100").value.value, near)


def test_many_plans_at_once_are_the_plans_one_by_one() -> None:
    cuts = np.array(list(product((1, 8, 16), (1, 4), (1, 3, 16), (0, 1, 2, 3))))
    tensor, pipeline, data, stage = cuts.T
    rest = {"microbatches": 8, "domain": 8}
    many = plan_step(**LARGE, tensor=tensor, pipeline=pipeline, data=data, stage=stage, **rest)
    for place, (t, p, d, z) in enumerate(cuts.tolist()):
        one = plan_step(**LARGE, tensor=t, pipeline=p, data=d, stage=z, **rest)
        assert one[:6] == tuple(np.broadcast_to(part, len(cuts))[place] for part in many[:6])


def test_what_travels_inside_a_domain_and_outside() -> None:
    sent = plan_step(**LARGE, tensor=8, pipeline=4, data=2, microbatches=16).sent
    assert [round(way / 1e9, 2) for way in sent["tensor"]] == [150.32, 0]  # 16 x 37.58 over 4
    assert sent["pipeline"] == (0, 2 * 16 * 2**26 / 8)
    assert sent["data"] == (0, pytest.approx(70e9 * 2 / 32))  # two servers: once the gradients
    near = plan_step(7.5e9, 32, 4096, data=16).sent["data"]
    assert near == (pytest.approx(26.25e9), pytest.approx(15e9 / 8))
    assert plan_step(**LARGE, tensor=16).sent["tensor"][0] == 0


def plans(gpus: int, sequences: int) -> dict[tuple[int, ...], tuple[float, float]]:
    """Return time and memory of each split of the 70B model, found by plain loops."""
    found = {}
    powers, deep = [2**k for k in range(6)], [n for n in range(1, 81) if 80 % n == 0]
    for t, p, v, m, z in product(powers, powers, deep, powers, (0, 1, 3)):
        if gpus % (t * p) or 64 % t or 80 % (p * v):
            continue
        d, interleaved = gpus // (t * p), v > 1
        if sequences % (d * m) or (interleaved and (p == 1 or m % p)) or (z and d == 1):
            continue
        b = sequences // (d * m)
        step = plan_step(
            70e9,
            80,
            8192,
            tensor=t,
            pipeline=p,
            data=d,
            microbatches=m,
            batch=b,
            interleave=v,
            stage=z,
            inside=370e9,
        )
        near, far = step.sent["pipeline"]
        ahead = min(1, m / p) * (1 + interleaved * (p - 1) / (p * v))
        memory = step.memory + 34 * 4096 * b * 8192 * 80 / t * ahead
        found[t, p, d, m, b, v, z] = step.total + near / 370e9 + far / 50e9, memory
    return found


def test_the_best_splits_are_those_that_loops_find() -> None:
    found, loops = splits(**MODELS["70B"], gpus=32, sequences=32, inside=370e9), plans(32, 32)
    fit = {cut: time for cut, (time, room) in loops.items() if room <= 80e9}
    assert (found.tried, found.too_large) == (len(loops), len(loops) - len(fit))
    assert found.worst == pytest.approx(max(fit.values()))
    assert found.total[0] == pytest.approx(min(fit.values()))
    names = ("tensor", "pipeline", "data", "microbatches", "batch", "interleave", "stage")
    cuts = list(zip(*(found.cuts[name].tolist() for name in names), strict=True))
    assert found.total.tolist() == pytest.approx([fit[cut] for cut in cuts])
    assert found.memory.tolist() == pytest.approx([loops[cut][1] for cut in cuts])
    assert sum(found.parts.values()) == pytest.approx(found.total)
    best: dict[tuple[int, ...], float] = {}
    for cut, time in fit.items():
        best[cut[:3]] = min(time, best.get(cut[:3], time))
    assert found.total.tolist() == pytest.approx(sorted(best.values())[:5])


def test_a_model_that_fits_nowhere_has_no_best_split() -> None:
    found = splits(**MODELS["175B"], gpus=8, sequences=8)
    assert found.tried == found.too_large > 0
    assert found.total.size == found.worst == 0


@pytest.mark.parametrize("name", MODELS)
def test_a_shape_has_about_the_parameters_that_it_says(name: str) -> None:
    shape = MODELS[name]
    assert 12 * shape["layers"] * shape["hidden"] ** 2 == pytest.approx(shape["parameters"], 0.1)
    assert shape["hidden"] == 128 * shape["heads"]
