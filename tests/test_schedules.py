"""The check of a learner's schedule: right ones pass, wrong ones are told where and what."""

from __future__ import annotations

import pytest

from nvlearn import collectives
from nvlearn.collectives import schedule, send
from nvlearn.exercises import check_schedule

PLANS = [
    collectives.ring_all_reduce(5), collectives.ring_reduce_scatter(5),
    collectives.ring_all_gather(5), collectives.ring_broadcast(5, 3),
    collectives.pairwise_all_to_all(5), collectives.double_tree_all_reduce(5, 2),
    collectives.in_switch_all_reduce(4, 2), collectives.hierarchical_all_reduce(8, 4),
]


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.name)
def test_right_schedules_pass(plan: collectives.Schedule) -> None:
    result = check_schedule(plan)
    assert result.passed, result
    assert plan.name in result.text


def half_a_ring(n: int, steps: int, *, add: bool = True) -> collectives.Schedule:
    def sends():
        for step in range(steps):
            for rank in range(n):
                yield send(step, rank, (rank + 1) % n, (rank - step) % n, add=add)

    return schedule(sends(), n, n)


@pytest.mark.parametrize(
    ("plan", "sentence"),
    [
        (schedule([], 2, 1), "rank 0 holds in chunk 0 the parts of ranks 0; expected there was "
         "the parts of ranks 0, 1. (2 of 2 places are wrong.)"),
        (schedule([send(0, 0, 1, 0, add=True)], 2, 1), "(1 of 2 places are wrong.)"),
        (half_a_ring(3, 5), "more than once"),
        (half_a_ring(3, 2), "Not yet"),
        (schedule([send(0, 1, 0, 0), send(0, 0, 1, 0)], 2, 2, collective="all_to_all"), "Not yet"),
        (schedule([], 3, 2, collective="all_to_all"), "as many chunks as ranks"),
        (schedule([send(0, 1, 0, 0)], 2, 1, collective="broadcast"), "Not yet"),
    ],
)
def test_wrong_schedules_are_told_where(plan: collectives.Schedule, sentence: str) -> None:
    result = check_schedule(plan)
    assert result.passed is False
    assert sentence in result.text


@pytest.mark.parametrize("nothing", [None, ..., [], print])
def test_what_is_no_schedule_is_told_to_end_with_return(nothing: object) -> None:
    result = check_schedule(nothing)
    assert result.passed is False
    assert "does your function end with return" in result.text


def test_parts_that_all_came_twice_are_told() -> None:
    sends = [send(0, 0, 1, 0, add=True), send(0, 1, 0, 0, add=True), send(1, 0, 1, 0, add=True)]
    told = check_schedule(schedule(sends, 2, 1)).text
    assert "the parts of ranks 0, 1 (those of 0, 1 more than once); expected there was" in told


def test_a_copy_names_its_chunk() -> None:
    told = check_schedule(schedule([send(0, 0, 1, 1, into=0)], 2, 2, collective="broadcast")).text
    assert "holds in chunk 0 chunk 1 of rank 0; expected there was chunk 0 of rank 0" in told
