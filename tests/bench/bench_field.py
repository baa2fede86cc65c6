"""Measure the reader of printouts: ``python tests/bench/bench_field.py [--strict]``.

One megabyte of anything is read and told as JSON in less than 0.2 s of CPU. Every figure is the
least of several runs, beside the time of splitting the same text into words, so that a slow machine
is told apart from slow code. The memory is the most that a process of its own took for 100 MB.
``--strict`` makes a missed bound an error; without it the table is only printed.
"""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import process_time

sys.path.insert(0, str(Path(__file__).parents[1]))
import field_cases

from nvlearn import field

MB, BOUND, MEMORY = 1 << 20, 0.2, 400  # bytes, seconds, MB
HEAD = "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"
MEASURE = """
import resource
from nvlearn import field
lines = ("host:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/IPC %d\\n" % n + "x" * 940
         for n in range(100_000))
try:
    field.read(lines)
except field.ReadError:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


def texts() -> dict[str, str]:
    """Return a megabyte of each kind."""
    chance = random.Random(1)
    printed = {
        name.partition("/")[0] + Path(name).name[:2]: field_cases.text_of(name)
        for name in field_cases.CASES
    }
    row = "{0:12d} {1:12d}  float  sum  -1  {2:8.2f} 15.29 26.76 0  {2:8.2f} 15.29 26.76 0\n"
    info = "".join(
        f"host{i % 8}:{1000 + i}:{2000 + i} [{i % 8}] NCCL INFO Channel {i % 24:02d}/0 :"
        f" {i % 8}[{i % 8}] -> {(i + 1) % 8} via P2P/CUMEM/read\n"
        for i in range(9000)
    )
    letters = "abcdefghij klmnop GPUNVX0123456789.,:\t\n[]<>|-"
    return {
        "one long table": HEAD + "".join(row.format(i * 4096, i * 1024, i / 4)
                                         for i in range(1, 9000)),
        "logs one after another": printed["nccl08"],
        "old logs one after another": printed["nccl01"],
        "NCCL INFO": info,
        "NCCL INFO of many tasks": "".join(f"{i % 32}: {line}\n"
                                           for i, line in enumerate(info.splitlines())),
        "matrices": printed["topo25"],
        "lists of links": printed["nvlink-status06"],
        "random text": "".join(chance.choices(letters, k=MB)),
        "numbers": "".join(f"{chance.random():.4f} {chance.randrange(10**9)}\n"
                           for _ in range(9000)),
        "a line of labels": "GPU0 X " + "NV18 " * (MB // 5),
        "lines of ranks": "Rank 1 " * 800 + "\n",
        "lines of numbers": "8 2 float sum -1 " + "1 " * 2900 + "\n",
        "lines of brackets": "[" * 5900 + "\n",
        "lines of tags": "[1,0]<stdout>:" * 400 + "\n",
        "lines of escapes": "\x1b[0m" * 1400 + "\n",
        "lines of names": "all_reduce_perf -np 8 -g 1 " * 200 + "\n",
    }  # fmt: skip


def least(work: Callable[[], object], runs: int = 9) -> float:
    """Return the least CPU time of some runs, in seconds."""
    spent = []
    for _ in range(runs):
        begin = process_time()
        work()
        spent.append(process_time() - begin)
    return min(spent)


def told(text: str) -> int:
    """Read a text as the command line does; return how many printouts it holds."""
    try:
        return len([document.as_json() for document in field.read(text)])
    except field.ReadError:
        return 0


def main() -> int:
    """Print the table; with --strict return 1 where a bound was missed."""
    missed = 0
    for name, text in texts().items():
        whole = (text * (MB // len(text) + 1))[:MB]
        count, spent = told(whole), least(lambda text=whole: told(text))  # type: ignore[misc]
        words = least(lambda text=whole: [line.split() for line in text.split("\n")])  # type: ignore[misc]
        missed += spent > BOUND
        print(
            f"{name:<28}{count:5d} printouts{1e3 * spent:8.1f} ms   bound {1e3 * BOUND:.0f} ms"
            f"   words {1e3 * words:6.1f} ms{'  MISSED' * (spent > BOUND)}"
        )
    took = int(
        subprocess.run(
            [sys.executable, "-c", MEASURE], capture_output=True, text=True, check=True
        ).stdout
    )
    missed += took > MEMORY
    print(
        f"{'memory for 100 MB':<28}{took:23d} MB   bound {MEMORY} MB{'  MISSED' * (took > MEMORY)}"
    )
    return int(bool(missed) and "--strict" in sys.argv)


if __name__ == "__main__":
    sys.exit(main())
