"""Measure the core against its budgets: ``python tests/bench/bench_core.py [--strict]``.

Every figure is the best of several runs, beside its bound and beside a reference that was measured
in the same run, so that a slow machine is told apart from slow code. ``--strict`` makes a missed
bound an error; without it the table is only printed.
"""

from __future__ import annotations

import heapq
import subprocess
import sys
from collections.abc import Callable
from time import perf_counter

import numpy as np

from nvlearn import formulas
from nvlearn.collectives import ring_all_reduce, time
from nvlearn.topology import all_to_all_pattern, loads, ring, system


def best(work: Callable[[], object], runs: int = 7) -> float:
    """Return the shortest of some runs, in milliseconds."""
    spent = []
    for _ in range(runs):
        begin = perf_counter()
        work()
        spent.append(perf_counter() - begin)
    return 1e3 * min(spent)


def ring_by_events(ranks: int, message: float, rate: float, alpha: float) -> float:
    """The same ring as single events on a heap: what the array version is compared with."""
    events = [(0.0, rank, 0) for rank in range(ranks)]
    free = [0.0] * ranks
    last = 0.0
    while events:
        now, rank, step = heapq.heappop(events)
        free[rank] = max(now, free[rank]) + message / ranks / rate
        last = max(last, free[rank] + alpha)
        if step < 2 * ranks - 3:
            heapq.heappush(events, (free[rank] + alpha, (rank + 1) % ranks, step + 1))
    return last


def importing(module: str) -> float:
    """Return the time of importing a module in a new interpreter, less the interpreter's own."""

    def start(code: str) -> float:
        return best(lambda: subprocess.run([sys.executable, "-c", code], check=True), runs=9)

    return start(f"import {module}") - start("pass")


def measurements() -> list[tuple[str, float, float, float]]:
    """Return what was measured: name, milliseconds, bound, milliseconds of the reference."""
    plan, uneven = ring_all_reduce(576), ring(576, 450e9).with_slow_link(3, 4, 0.5)
    time(plan, uneven, 14e9, 1e-6)  # routes are found once for a topology
    events = best(lambda: ring_by_events(576, 14e9, 450e9, 1e-6), runs=1)
    rng = np.random.default_rng(0)
    ranks, sizes = rng.integers(2, 1000, 10**6), rng.uniform(1, 1e10, 10**6)
    rack, pattern = system("GB200 NVL72"), all_to_all_pattern(72)
    loads(rack, pattern)
    numpy = importing("numpy")
    return [
        ("time of a ring all-reduce, 576 GPUs, 662,400 transfers, uneven links",
         best(lambda: time(plan, uneven, 14e9, 1e-6), runs=15), 15.0, events),
        ("closed form of the ring, 1e6 points",
         best(lambda: formulas.ring_all_reduce_time(sizes, ranks, 450e9, 1e-6)), 20.0,
         best(lambda: 2 * (ranks - 1) * (1e-6 + sizes / (ranks * 450e9)))),
        ("max-min shares of an all-to-all on an NVL72, 5,112 flows",
         best(lambda: loads(rack, pattern)), 100.0, 0.0),
        ("import nvlearn, beside import numpy", importing("nvlearn"), 1.5 * numpy, numpy),
    ]


def main() -> int:
    """Print the table; with --strict return 1 where a bound was missed."""
    missed = 0
    print(f"{'measured':70}{'ms':>9}{'bound ms':>10}{'reference ms':>14}")
    for name, spent, bound, reference in measurements():
        missed += spent > bound
        print(f"{name:70}{spent:9.2f}{bound:10.2f}{reference:14.2f}"
              f"{'  MISSED' if spent > bound else ''}")
    return int("--strict" in sys.argv and missed > 0)


if __name__ == "__main__":
    sys.exit(main())
