"""Collectives: right sums on every rank, and times that agree with closed forms and with limits."""

import time as clock

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from nvlearn import formulas
from nvlearn.collectives import (
    double_tree_all_reduce,
    halving_doubling_all_reduce,
    hierarchical_all_reduce,
    in_switch_all_reduce,
    pairwise_all_to_all,
    recursive_doubling_all_reduce,
    ring_all_gather,
    ring_all_reduce,
    ring_broadcast,
    ring_reduce_scatter,
    run,
    schedule,
    send,
    time,
    timing,
)
from nvlearn.topology import cluster, full_mesh, mesh, pcie_tree, ring, switched, system, with_pcie

ALL_REDUCES = [
    ring_all_reduce, double_tree_all_reduce, recursive_doubling_all_reduce,
    halving_doubling_all_reduce, in_switch_all_reduce,
]
OTHERS = [ring_reduce_scatter, ring_all_gather, ring_broadcast, pairwise_all_to_all]
RANKS = [2, 3, 4, 5, 7, 8, 12, 16, 33, 64]


def expected(plan, given):
    """What each rank must hold; NaN where it does not matter."""
    n, blocks = plan.ranks, np.array_split(np.arange(given.shape[1]), plan.ranks)
    want = np.full(given.shape, np.nan)
    for rank in range(n):
        for other, block in enumerate(blocks):
            if plan.collective == "all_reduce" or (
                plan.collective == "reduce_scatter" and rank == other
            ):
                want[rank, block] = given[:, block].sum(0)
            elif plan.collective == "all_gather":
                want[rank, block] = given[other, block]
            elif plan.collective == "broadcast":
                want[rank, block] = given[0, block]
            elif plan.collective == "all_to_all":
                want[rank, block] = given[other, blocks[rank]]
    return want


def assert_right(plan, length):
    given = np.random.default_rng(plan.ranks).integers(-1000, 1000, (plan.ranks, length))
    before = given.copy()
    want = expected(plan, given.astype(float))
    held = np.array(run(plan, given), dtype=float)
    np.testing.assert_array_equal(np.where(np.isnan(want), held, want), held)
    np.testing.assert_array_equal(given, before)  # the learner's arrays stay as they were


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("build", ALL_REDUCES + OTHERS)
def test_every_rank_ends_with_the_right_array(build, ranks):
    plan = build(ranks)
    assert_right(plan, 3 * plan.chunks)
    if plan.collective == "all_reduce":
        assert_right(plan, 1)
        assert_right(plan, 2 * plan.chunks + 1)


@pytest.mark.parametrize(("ranks", "domain"), [(4, 2), (6, 3), (8, 2), (24, 8), (64, 8)])
def test_the_hierarchy_sums_over_all_domains(ranks, domain):
    assert_right(hierarchical_all_reduce(ranks, domain), 5 * ranks + 3)


def test_rings_of_a_mesh_share_the_message():
    orders = [(0, 1, 3, 7, 5, 4, 6, 2), (0, 3, 2, 1, 5, 6, 7, 4), (0, 3, 2, 1, 5, 6, 7, 4)]
    plan = ring_all_reduce(8, orders)
    assert_right(plan, 100)
    dgx = system("DGX-1 V100")
    # Each of the three rings runs at one link's 25 GB/s, so together 75 one way.
    assert time(plan, dgx, 24e6).seconds == pytest.approx(2 * 7 / 8 * 24e6 / 75e9, rel=1e-9)
    # One ring over links that are all doubled has 50.
    assert time(ring_all_reduce(8, orders[1:2]), dgx, 24e6).seconds == pytest.approx(
        2 * 7 / 8 * 24e6 / 50e9, rel=1e-9
    )


# ---- agreement with closed forms ---------------------------------------------------------------


@pytest.mark.parametrize("ranks", [2, 3, 8, 72])
@pytest.mark.parametrize("message", [0, 72 * 8, 504 * 10**6])
def test_uniform_rings_equal_the_closed_form(ranks, message):
    where = ring(ranks, 450e9)
    closed = formulas.ring_all_reduce_time(message, ranks, 450e9, 1e-6)
    assert time(ring_all_reduce(ranks), where, message, 1e-6).seconds == pytest.approx(
        closed, rel=1e-9
    )
    half = formulas.ring_reduce_scatter_time(message, ranks, 450e9, 1e-6)
    for build in (ring_reduce_scatter, ring_all_gather):
        assert time(build(ranks), where, message, 1e-6).seconds == pytest.approx(half, rel=1e-9)


@pytest.mark.parametrize(("ranks", "ms"), [(8, 54.4584), (72, 61.5000), (576, 63.2642)])
def test_the_worked_numbers_of_the_ring(ranks, ms):
    found = time(ring_all_reduce(ranks), ring(ranks, 450e9), 14e9, 1e-6)
    assert round(found.seconds * 1e3, 4) == ms
    largest = -(-14_000_000_000 // ranks)
    assert found.seconds == pytest.approx(
        2 * (ranks - 1) * (1e-6 + largest / 450e9), rel=1e-12
    )


def test_a_switch_does_not_double_the_time():
    direct = time(ring_all_reduce(8), ring(8, 450e9), 8e6, 1e-6).seconds
    through = time(ring_all_reduce(8), system("DGX H100"), 8e6, 1e-6).seconds
    assert through == pytest.approx(direct, rel=1e-12)


def test_the_other_algorithms_come_near_their_formulas():
    where, rate = system("DGX H100"), 450e9
    small, large, a = 1024, 2**30, 1e-6
    closed = (large, 8, rate, a)
    assert time(recursive_doubling_all_reduce(8), where, small, a).seconds == pytest.approx(
        formulas.recursive_doubling_time(small, 8, rate, a), rel=1e-9
    )
    cases = [
        (halving_doubling_all_reduce(8), formulas.halving_doubling_time(*closed), 0.01),
        (double_tree_all_reduce(8, pieces=64), formulas.tree_all_reduce_time(*closed), 0.06),
        (in_switch_all_reduce(8, pieces=64), formulas.nvls_all_reduce_time(*closed), 0.06),
        (pairwise_all_to_all(8), formulas.all_to_all_time(large, 8, rate, 0.0) + a, 1e-9),
    ]
    for plan, seconds, near in cases:
        assert time(plan, where, large, a).seconds == pytest.approx(seconds, rel=near), plan.name
    four = cluster(where, 4, 50e9)
    acts = formulas.hierarchical_all_reduce_time(4 * large, 8, 4, rate, 50e9).serial
    assert time(hierarchical_all_reduce(32, 8), four, 4 * large).seconds == pytest.approx(
        acts, rel=1e-6
    )


def test_small_messages_want_few_steps_and_large_ones_few_bytes():
    where = system("DGX H100")
    quick = {size: min((time(build(8), where, size, 1e-6).seconds, build.__name__)
                       for build in ALL_REDUCES[:4])[1] for size in (1024, 2**30)}
    assert quick == {1024: "recursive_doubling_all_reduce", 2**30: quick[2**30]}
    assert quick[2**30] in ("ring_all_reduce", "halving_doubling_all_reduce")


# ---- limits that nothing may beat --------------------------------------------------------------

MACHINES = [ring(6, 25e9), full_mesh(6, 25e9), pcie_tree(6, 32e9),
            switched(6, 25e9, (2, 2), reduces=True)]


@settings(max_examples=80)
@given(
    st.sampled_from(MACHINES), st.sampled_from(ALL_REDUCES[:4] + OTHERS), st.integers(2, 6),
    st.integers(0, 10**7), st.floats(0, 1e-4),
)
def test_no_collective_beats_its_bytes_or_its_cuts(machine, build, ranks, message, alpha):
    assume(build is not in_switch_all_reduce)
    plan = build(ranks)
    trace = time(plan, machine, message, alpha)
    busy = trace.link_bytes / machine.capacities
    assert trace.seconds >= busy.max() * (1 - 1e-12)
    leaves = max(machine.cut([rank]) for rank in range(ranks))
    if plan.collective == "all_reduce":
        assert trace.seconds >= 2 * message * (ranks - 1) / ranks / leaves * (1 - 1e-9) - 1e-12
    if plan.collective == "all_to_all":
        sizes = trace.bytes
        for rank in range(ranks):
            out = sizes[plan.source == rank].sum()
            assert trace.seconds >= out / machine.cut([rank]) * (1 - 1e-9)
    assert (trace.end >= trace.start + alpha).all()


@settings(max_examples=30)
@given(st.integers(2, 6), st.integers(0, 10**8), st.floats(0, 1e-5), st.integers(1, 20))
def test_in_switch_reduction_sends_each_byte_up_at_least_once(ranks, message, alpha, pieces):
    machine = MACHINES[3]
    trace = time(in_switch_all_reduce(ranks, pieces), machine, message, alpha)
    assert trace.seconds >= message / 100e9
    up = [i for i, bundle in enumerate(machine.bundles) if bundle.target.startswith("NVSwitch")]
    sent = trace.link_bytes[up][:ranks].sum() / ranks
    assert sent == pytest.approx(message * (ranks + 1) / ranks)


@settings(max_examples=50)
@given(st.sampled_from(MACHINES), st.sampled_from(ALL_REDUCES[:4] + OTHERS), st.integers(2, 6),
       st.integers(0, 10**7))
def test_bytes_are_conserved(machine, build, ranks, message):
    trace = time(build(ranks), machine, message)
    flow = dict.fromkeys(machine.fabric, 0.0)
    for bundle, amount in zip(machine.bundles, trace.link_bytes, strict=True):
        flow[bundle.source] -= amount
        flow[bundle.target] += amount
    plan = trace.schedule
    for node, net in flow.items():
        rank = machine.gpus.index(node) if node in machine.gpus else None
        own = (0 if rank is None else trace.bytes[plan.target == rank].sum()
               - trace.bytes[plan.source == rank].sum())
        assert net == own  # a switch gives out what it takes in


# ---- both engines, stragglers, broken links ----------------------------------------------------


@settings(max_examples=60)
@given(
    st.sampled_from([ring_all_reduce, ring_reduce_scatter, ring_all_gather]), st.integers(2, 9),
    st.integers(0, 10**7), st.floats(0, 1e-4), st.booleans(), st.data(),
)
def test_whole_steps_and_single_events_agree_to_the_bit(build, n, message, alpha, direct, data):
    machine = ring(n, 25e9) if direct else switched(n, 25e9, (3, 1))
    if direct and n > 2:
        slow = data.draw(st.integers(0, n - 1))
        machine = machine.with_slow_link(slow, (slow + 1) % n, data.draw(st.floats(0.01, 1)))
    plan = build(n)
    waves = time(plan, machine, message, alpha)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timing, "_waves", lambda *_: None)
        events = time(plan, machine, message, alpha)
    np.testing.assert_array_equal(waves.start, events.start)
    np.testing.assert_array_equal(waves.end, events.end)


def test_a_slow_link_rules_the_ring():
    plan, message = ring_all_reduce(8), 8e6
    one_slow, all_slow = ring(8, 25e9).with_slow_link(2, 3, 0.25), ring(8, 6.25e9)
    assert time(plan, one_slow, message).seconds == pytest.approx(
        time(plan, all_slow, message).seconds, rel=1e-9
    )
    # With a latency the slow link never rests, so that the latencies of the others are hidden.
    assert time(plan, one_slow, message, 1e-6).seconds == pytest.approx(
        time(plan, all_slow, message).seconds + 1e-6, rel=1e-9
    )


def ancestors(plan, late):
    """All transfers that wait for a late one, by data or by sharing a sender's link."""
    touched = set(late)
    order = range(len(plan))
    for t in order:
        for u in range(t):
            waits = plan.step[u] < plan.step[t] and (
                (plan.target[u], plan.into[u]) == (plan.source[t], plan.chunk[t]))
            shares = (plan.source[u], plan.target[u]) == (plan.source[t], plan.target[t])
            if u in touched and (waits or shares):
                touched.add(t)
    return touched


def test_what_does_not_wait_for_a_slow_link_is_unchanged_to_the_bit():
    plan = ring_all_reduce(5)
    fine = time(plan, ring(5, 25e9), 5e6, 1e-6)
    slow = time(plan, ring(5, 25e9).with_slow_link(1, 2, 0.5), 5e6, 1e-6)
    late = set(np.flatnonzero(plan.source == 1).tolist())
    delayed = ancestors(plan, late)
    changed = set(np.flatnonzero(slow.end != fine.end).tolist())
    assert changed <= delayed
    assert len(delayed) < len(plan)  # the first steps elsewhere are not touched
    first = min(changed, key=lambda t: slow.end[t])
    assert plan.source[first] == 1  # the slow link's own transfer is the first to be late


def test_a_broken_link_goes_round_or_is_named():
    message = 4e6
    # Both directions of the ring are in use, so that the way round must be shared.
    plan = ring_all_reduce(4, [[0, 1, 2, 3], [3, 2, 1, 0]])
    fine = time(plan, ring(4, 25e9), message).seconds
    around = time(plan, ring(4, 25e9).without_link(0, 1), message)
    assert around.seconds > 1.5 * fine
    assert sorted(map(len, around.routes)) == [1] * 6 + [3] * 2
    road = with_pcie(full_mesh(4, 25e9), 16e9).without_link(0, 1)
    assert time(plan, road, message).seconds > fine
    with pytest.raises(ValueError, match=r"no route from GPU0 to GPU1 .*GPU0-GPU1"):
        time(plan, full_mesh(4, 25e9).without_link(0, 1), message)


def test_first_come_first_served_where_senders_meet():
    # 0 and 1 both send to 3 through the switch; 1's cargo comes from 2 first and is later.
    plan = schedule([send(0, 2, 1, 0), send(1, 1, 3, 0), send(1, 0, 3, 1)], 4, 2,
                    collective="broadcast")
    trace = time(plan, switched(4, 10e9, (1,)), 20e9)
    assert trace.start.tolist() == [0.0, 1.0, 0.0]
    assert trace.end.tolist() == [1.0, 2.0, 1.0]
    both = time(schedule([send(0, 0, 3, 0), send(0, 1, 3, 1)], 4, 2, collective="broadcast"),
                switched(4, 10e9, (1,)), 20e9)
    assert both.end.tolist() == [1.0, 2.0]  # one waits in the switch
    meet = schedule([send(0, 0, 2, 0), send(0, 1, 2, 0), send(1, 2, 0, 0)], 3, 1)
    assert time(meet, mesh([[0, 1, 1], [1, 0, 2], [1, 2, 0]], 10e9), 10e9).start[2] == 1.0


def test_a_learner_writes_a_schedule_in_a_few_lines():
    def everyone_to_one(n):
        for rank in range(1, n):
            yield send(0, rank, 0, chunk=0, add=True)
        for rank in range(1, n):
            yield send(1, 0, rank, chunk=0)

    plan = schedule(everyone_to_one(4), ranks=4, chunks=1)
    assert "1->0 c0+  2->0 c0+  3->0 c0+" in str(plan)
    held = run(plan, [[1], [10], [100], [1000]])
    assert [array.tolist() for array in held] == [[1111]] * 4
    slower = time(plan, system("DGX H100"), 8e6).seconds
    assert slower > time(ring_all_reduce(4), system("DGX H100"), 8e6).seconds


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda: ring_all_reduce(1), "at least 2 ranks"),
        (lambda: ring_all_reduce(3, [[0, 1, 1]]), "passes each of the 3 ranks once"),
        (lambda: hierarchical_all_reduce(8, 3), "do not fill two or more domains"),
        (lambda: schedule([send(0, 0, 5, 0)], 2, 1), "does not fit 2 ranks and 1 chunks"),
        (lambda: schedule([send(0, 0, 0, 0)], 2, 1), "no rank sends to itself"),
        (lambda: schedule([send(0, 0.5, 1, 0)], 2, 1), "whole numbers"),
        (lambda: ring_broadcast(-1), "at least 1 rank"),
        (lambda: in_switch_all_reduce(-1), "at least 1 rank"),
        (lambda: time(ring_all_reduce(4), ring(4, 1e9), float("nan")), "0 or more"),
        (lambda: time(ring_all_reduce(4), ring(4, 1e9), 1, float("inf")), "0 or more"),
        (lambda: schedule([], 2, 1, collective="all_reduct"), "no collective here"),
        (lambda: run(ring_all_reduce(3), [np.ones(3)] * 2), "one for each rank"),
        (lambda: run(ring_all_reduce(2), [np.ones(3), np.ones(4)]), "of one length"),
        (lambda: run(pairwise_all_to_all(2), np.ones((2, 3))), "divide by 2"),
        (lambda: time(ring_all_reduce(8), ring(4, 1e9), 1), "needs 8 GPUs"),
        (lambda: time(ring_all_reduce(4), ring(4, 1e9), -1), "0 or more"),
        (lambda: time(in_switch_all_reduce(8), system("DGX A100"), 1), "no single NVSwitch board"),
        (lambda: time(in_switch_all_reduce(4), ring(4, 1e9), 1), "no single NVSwitch board"),
    ],
)
def test_wrong_input_gets_one_sentence(wrong, sentence):
    with pytest.raises(ValueError, match=sentence):
        wrong()


def test_trace_rows_and_columns_say_the_same():
    trace = time(ring_all_reduce(3), ring(3, 10e9), 30, 1e-6)
    assert trace.rows()[0] == (0, 0, 1, 2, 10, 0.0, pytest.approx(1.001e-6))
    assert len(trace.rows()) == len(trace.schedule) == 12
    assert trace.topology.bundles[trace.link[0]].source == "GPU0"
    assert trace.utilisation.max() <= 1


def test_an_empty_schedule_takes_no_time():
    assert time(schedule([], 2, 1), ring(2, 1e9), 8).seconds == 0.0
    assert clock.perf_counter() > 0


SLOW_RELAY = ring(6, 25e9).with_slow_link(0, 1, 0.5)
CROSSED = [SLOW_RELAY, pcie_tree(8, 64e9, socket_rate=40e9), pcie_tree(6, 16e9, socket_rate=64e9),
           with_pcie(full_mesh(4, 25e9), 16e9).without_link(0, 1), switched(6, 25e9, (2, 2))]


@settings(max_examples=120)
@given(st.sampled_from(CROSSED), st.data())
def test_no_link_ever_carries_more_than_it_can(machine, data):
    ends = st.integers(0, machine.ranks - 1)
    moves = data.draw(st.lists(
        st.tuples(st.integers(0, 3), ends, ends, st.integers(0, 3)).filter(lambda m: m[1] != m[2]),
        min_size=1, max_size=25,
    ))
    plan = schedule([send(*move) for move in moves], machine.ranks, 4, collective="broadcast")
    trace = time(plan, machine, 4e9)
    route = [trace.routes[p] for p in trace.pair]
    for link, cap in enumerate(machine.capacities):
        over = [t for t in range(len(plan)) if link in route[t]]
        moments = sorted({trace.start[t] for t in over} | {trace.end[t] for t in over})
        for a in moments:
            for b in (moment for moment in moments if moment > a):
                inside = sum(trace.bytes[t] for t in over
                             if trace.start[t] >= a and trace.end[t] <= b)
                assert inside <= cap * (b - a) * (1 + 1e-9) + 1e-6
    least = trace.bytes / machine.capacities[trace.link]
    assert (trace.end - trace.start >= least * (1 - 1e-9)).all()


def test_a_wide_link_after_a_narrow_one_is_shared_without_waste():
    # From the far side of the city 1 GB/s at most; from the same side 2 GB/s: 3 GB/s into GPU 0.
    tree = pcie_tree(8, 3e9, socket_rate=1e9)
    plan = schedule([send(0, 4, 0, 0), send(0, 2, 0, 1)], 8, 8, collective="broadcast")
    assert time(plan, tree, 8 * 3e9).end.tolist() == [3.0, 1.0]
