"""Measure the cost model against its budgets: ``python tests/bench/bench_nccl.py [--strict]``.

Every figure is the median of several runs; ``--strict`` makes a missed bound an error.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from statistics import median
from time import perf_counter

import numpy as np

from nvlearn.nccl import fit, fit_line, machine, predict, tables


def middle(work: Callable[[], object], runs: int = 15) -> float:
    """Return the median of some runs, in milliseconds."""
    spent = []
    for _ in range(runs):
        begin = perf_counter()
        work()
        spent.append(perf_counter() - begin)
    return 1e3 * median(spent)


def measurements() -> list[tuple[str, float, float]]:
    """Return what was measured: name, milliseconds, bound."""
    rack = machine("DGX H100", domains=72)
    sizes, ranks = np.geomspace(1e3, 1e10, 60), np.linspace(2, 576, 60).round()[:, None]
    full = [t for t in tables() if t.machine and t.sizes.size > 1]
    longest = max(full, key=lambda t: t.sizes.size)

    def lines() -> None:
        for t in full:
            fit_line(t.sizes, t.times, t.collective, t.ranks)

    return [
        ("winner map, 60 x 60", middle(lambda: predict(rack, "all_reduce", sizes, ranks)), 20.0),
        ("one prediction", middle(lambda: predict(rack, "all_reduce", 1e6)), 5.0),
        (f"fit of a table, {longest.sizes.size} sizes",
         middle(lambda: fit(longest.machine, longest.sizes, longest.times)), 20.0),
        (f"lines of all {len(full)} tables", middle(lines, 3), 1000.0),
    ]  # fmt: skip


def main() -> int:
    """Print the table; with --strict return 1 where a bound was missed."""
    missed = 0
    for name, spent, bound in measurements():
        missed += spent > bound
        print(f"{name:<40}{spent:9.2f} ms   bound {bound:7.1f} ms{'  MISSED' * (spent > bound)}")
    print()
    print(f"{'table':<46}{'offset':>8}{'eff.':>6}{'median':>8}{'p90':>6}{'worst':>7}")
    for t in tables():
        if t.machine and t.sizes.size > 9 and t.collective == "all_reduce":
            found = fit(t.machine, t.sizes, t.times)
            left = [100 * x for x in found.left[1:4]]
            print(f"{t.name:<46}{1e6 * found.machine.offset:6.0f}us{found.machine.efficiency:6.2f}"
                  f"{left[0]:7.1f}%{left[1]:5.0f}%{left[2]:6.0f}%")
    return int(missed and "--strict" in sys.argv)


if __name__ == "__main__":
    sys.exit(main())
