"""Read logs of nccl-tests and its kin: the time and the bandwidth of a collective over sizes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nvlearn import catalog
from nvlearn.field.findings import Finding, in_words
from nvlearn.field.nccl_rows import Row, Run, mean, scan
from nvlearn.field.verdicts import judge
from nvlearn.formulas import PASSES
from nvlearn.i18n import words
from nvlearn.units import GB, US, format_rate, format_size, format_time

BYTES = {"char": 1, "half": 2, "float": 4, "double": 8, "bfloat16": 2, "int": 4}
BYTES |= {f"{sign}int{bits}": bits // 8 for sign in ("", "u") for bits in (8, 16, 32, 64)}
#: How large an error the old column `error` may show; of whole numbers none.
ROUNDING = {"float": 1e-5, "double": 1e-12, "half": 1e-2, "bfloat16": 1e-1}
NEAR = 0.002  # how near a factor must come to that of a number of ranks


class Point(NamedTuple):
    """A row with a size, a time and a bandwidth out of place: bytes, us, GB/s."""

    size: float
    time: float
    algbw: float
    busbw: float

    @property
    def pace(self) -> float:
        """Size / time over the printed algbw: 1 unless a column means something else."""
        return self.size / 1e3 / self.time / self.algbw


def sniff(lines: Sequence[str]) -> list[range]:
    """Return where the printouts of nccl-tests stand."""
    return [range(run.start, run.stop) for run in scan(lines)]


def read(lines: Sequence[str], gpu: str | None = None) -> list[Log]:
    """Return a document for each table of sizes, type and operator; `gpu` states the GPU."""
    found = ((run, run.tables() or [[]]) for run in scan(lines))
    return [Log(run, rows, len(tables), gpu) for run, tables in found for rows in tables]


class Log:
    """One table: what was run, over which sizes, and what follows from it."""

    def __init__(self, run: Run, rows: list[Row], tables: int, gpu: str | None) -> None:
        """Take a table, how many the run has, and the GPU as stated."""
        self.run, self.rows, self.tables = run, rows, tables
        points = [Point(r.size, *(cell or 0.0 for cell in r.out[:3])) for r in rows]
        points = sorted(p for p in points if min(p[:3]) > 1e-6 and p.busbw >= 0)
        paces = [p.pace for p in points if p.algbw >= 0.5] or [1.0]
        self.unit = 1000.0 if median(paces) > 300 else 1.0  # the first versions printed ms
        old, self.old = median(paces) / self.unit, False
        if 1.03 < old < 2.1 and rows[-1].redop in ("", "none"):  # an all_gather before June 2020
            self.old, points = True, [p._replace(algbw=p.algbw * old) for p in points]
        self.points = [p._replace(time=p.time * self.unit) for p in points]
        names = Counter(name for _, _, name in run.devices.values() if name)
        self.device = names.most_common(1)[0][0] if names else ""
        self.gpu = catalog.gpu.find(gpu or self.device or "?")
        rccl = "kin" in run.said or "AMD" in self.device or "Radeon" in self.device
        self.tool = "rccl-tests" if rccl else "nccl-tests"
        self.peak = max(rows, key=lambda r: r.out.busbw or 0, default=None)
        self.peak_rate = (self.peak.out.busbw or 0.0) * GB if self.peak else 0.0
        self.spread = self._spread()
        self.told = self._told()
        self.collective = self._collective()
        guess = int((self.spread or (1.0, 1.0))[1] < 1 - NEAR)
        self.passes = PASSES.get(self.collective or "", guess)
        fitting = [n for n in self.told if self.agrees(self.passes, n)]
        solved = self.solve(self.passes)
        solved = [n for n in solved if not n % 8] if len(solved) > 1 else solved
        self.ranks = fitting[0] if fitting else solved[0] if len(solved) == 1 else None

    def _spread(self) -> tuple[float, float] | None:
        """Between what busbw/algbw lies, by the digits of the rows that say it best."""
        best = sorted(self.points, key=lambda p: p.algbw)[-8:]
        if not best:
            return None
        ends = [(max(p.busbw - off, 0.0) / (p.algbw + off),
                 (p.busbw + off) / max(p.algbw - off, p.algbw / 9))
                for p in best for off in [0.05 if p.busbw >= 1000 else 0.005]]
        low, high = max(low for low, _ in ends), min(high for _, high in ends)
        last = best[-1].busbw / best[-1].algbw
        slack = 0.01 if self.old else 0.0
        return (low - slack, high + slack) if low <= high else (last - NEAR, last + NEAR)

    def _told(self) -> list[int]:
        """Numbers of ranks that the lines around the table name, the surest first."""
        numbers, ranks = self.run.numbers, self.run.said.get("ranks")
        row = next((r for r in reversed(self.rows) if r.elements and r.dtype in BYTES), None)
        self.share = round(row.size / row.elements / BYTES[row.dtype]) if row else 1
        found = [max(self.run.devices, default=-1) + 1, int(ranks[1][:9]) if ranks else 0]
        gpus = [numbers.get("g", 1) * numbers.get("p", 1), self.share,
                numbers.get("nGpus", 0) * numbers.get("nThread", 1)]
        return [n for n in found if n > 0] + [n for n in gpus if n > 1]

    def agrees(self, passes: int, ranks: int) -> bool:
        """Tell whether the factor of some ranks, passes (n-1)/n, is that of the rows."""
        low, high = self.spread or (0.0, 2.0)
        target = passes * (ranks - 1) / ranks if passes else float(ranks > 1)
        return low - NEAR <= target <= high + NEAR

    def solve(self, passes: int) -> list[int]:
        """Return the numbers of ranks that the factor of the rows allows."""
        if not self.spread or not passes or self.spread[0] >= passes:
            return []
        low, high = (passes / (passes - min(f, passes * 0.9998)) for f in self.spread)
        return list(range(max(1, math.ceil(low - 0.01)), math.floor(high + 0.01) + 1))

    def _collective(self) -> str | None:
        """Return the collective by its name, if that fits the rows, or by what they show."""
        name = self.run.name
        passes = PASSES.get(name)
        fits = passes is None or not self.spread or self.solve(passes) or any(
            self.agrees(passes, n) for n in self.told or [2])
        return name if name and fits else self._inferred() or name or None

    def _inferred(self) -> str | None:
        """Return the collective that factor, operator, root and checks leave, or None."""
        if not self.spread or self.spread[1] < NEAR:
            return None
        factor, row = sum(self.spread) / 2, self.rows[-1]
        reduces, rooted = row.redop not in ("", "none"), row.root >= 0
        out = any(r.out.wrong is not None for r in self.rows)
        back = any(r.back.wrong is not None for r in self.rows)
        if factor > 1 + NEAR:
            return "all_reduce"
        if factor > 1 - NEAR and self.share == 1:
            if rooted:
                return "reduce" if reduces else "broadcast"
            alone = out and not back and row.back.time is not None
            return "sendrecv" if alone or max(self.told, default=2) > 2 else "all_reduce"
        if reduces or rooted or not row.dtype or not (out or not row.redop):
            return "reduce_scatter" if reduces else None
        return "all_gather" if back or not row.redop else "alltoall"

    @property
    def factor(self) -> float | None:
        """Bus bandwidth over size/time: what a ring sends per byte of the message."""
        if self.ranks and self.spread and self.collective in PASSES:
            return self.passes * (self.ranks - 1) / self.ranks if self.passes else 1.0
        return round(sum(self.spread) / 2, 4) if self.spread else None

    @cached_property
    def wrong(self) -> int | None:
        """Wrong values, 0, or None if nothing was checked."""
        cells = [(h.wrong, r.dtype) for r in self.rows for h in (r.out, r.back)
                 if h.wrong is not None]
        bounds = self.run.said.get("bounds")
        failed, verdict = (int(bounds[1][:18]), bounds[2]) if bounds else (0, "")
        if any(0 < w < 1 for w, _ in cells):  # the old column: the largest error, not a count
            cells = [(float(w > ROUNDING.get(t, 0) and verdict != "OK"), t) for w, t in cells]
        bad = [w for w, _ in cells]
        if verdict == "FAILED" and not any(bad):
            return failed or None
        bare = verdict == "OK" and self.run.numbers.get("validation") and not any(
            r.back.time is not None for r in self.rows)
        return round(sum(bad)) if bad else 0 if bare else None

    @property
    def nodes(self) -> int | None:
        """Hosts of the ranks, or None if their lines do not say."""
        devices = self.run.devices.values()
        hosts = {host for host, _, _ in devices}
        if not devices or len(devices) != self.ranks:
            return None
        return max(Counter(i for _, i, _ in devices).values()) if hosts == {""} else len(hosts)

    @cached_property
    def fit(self) -> dict[str, Any] | None:
        """The line T = L + wire/B through the times out of place, or None."""
        if not self.factor or self.ranks == 1 or len({p.size for p in self.points}) < 2:
            return None
        wire, time = np.array([(p.size * self.factor, p.time * US) for p in self.points]).T
        with np.errstate(all="ignore"):
            return fit_line(wire, time)

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """What is normal, suspicious or broken."""
        return judge(self)

    def as_json(self) -> dict[str, Any]:
        """Return the document in the form of `nvlearn read --json`."""
        first, average = self.rows[0] if self.rows else None, mean(self.rows)
        return {
            "kind": "nccl-tests", "tool": self.tool, "collective": self.collective,
            "ranks": self.ranks, "nodes": self.nodes, "gpu": self.gpu.name if self.gpu else None,
            "dtype": (first and first.dtype) or None, "redop": (first and first.redop) or None,
            "rows": len(self.rows), "factor": self.factor,
            "peak_busbw": self.peak.out.busbw if self.peak else None,
            "peak_bytes": round(self.peak.size) if self.peak else None,
            "avg_busbw_reported": self.run.average,
            "avg_busbw_computed": None if average is None else round(average, 4),
            "wrong": self.wrong, "fit": self.fit, "findings": [f.as_json() for f in self.findings]}

    def in_words(self) -> str:
        """Return what the log says in sentences, then the findings with their advice."""
        say = {"what": {"tool": self.tool, "ranks": self.ranks or "?", "rows": len(self.rows),
                        "name": self.collective or words("nccl_log.some_collective")}}
        if self.peak and self.ranks != 1:
            say["peak"] = {"rate": format_rate(self.peak_rate, digits=5),
                           "size": format_size(self.peak.size, binary=True)}
            say["meaning"] = {"factor": f"{self.factor or 1:.4g}"}
        if self.fit:
            say["fit"] = {"latency": format_time(self.fit["latency_us"] * US, digits=3),
                          "rate": format_rate(self.fit["bandwidth_gb_per_s"] * GB),
                          "median": f"{self.fit['median_error']:.1%}",
                          "worst": f"{self.fit['worst_error']:.0%}"}
        if self.run.average is not None and self.ranks != 1:
            say["average"] = {"rate": format_rate(self.run.average * GB, digits=5)}
        if self.wrong == 0:
            say["checked"] = {}
        lines = [words(f"nccl_log.{key}", **values) for key, values in say.items()]
        return "\n".join([*lines, *in_words(self.findings)])


def fit_line(wire: NDArray[Any], time: NDArray[Any]) -> dict[str, Any] | None:
    """Return start-up and bandwidth of T = L + wire/B, both at least 0, by relative errors.

    A few rounds give less weight to rows that the line misses (nccl changes its protocol there).
    """
    error = np.zeros_like(time)
    for _ in range(6):
        weight = 1 / (time * time * np.maximum(error, 0.02))
        total, across, up = weight.sum(), (weight * wire).sum(), (weight * time).sum()
        both, square = (weight * wire * time).sum(), (weight * wire * wire).sum()
        slope = max((total * both - across * up) / (total * square - across * across), 0.0)
        start = (up - slope * across) / total
        start, slope = (start, slope) if start >= 0 else (0.0, both / square)
        error = abs(start + slope * wire - time) / time
    if not slope > 0 or not math.isfinite(start + 1 / slope + error.max()):
        return None
    numbers = {"latency_us": start / US, "bandwidth_gb_per_s": 1 / slope / GB,
               "median_error": np.median(error), "worst_error": error.max()}
    return {key: round(float(v), 4) for key, v in numbers.items()} | {"points": len(time)}
