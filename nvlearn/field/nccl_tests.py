"""Read logs of nccl-tests and its kin, and judge them: normal, suspicious or broken."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from statistics import median
from typing import Any

import numpy as np

from nvlearn import catalog, nccl
from nvlearn.field.findings import Document, Finding, found, in_words
from nvlearn.field.nccl_rows import LOGS, Floats, Run, Table, average, scan
from nvlearn.formulas import PASSES
from nvlearn.i18n import Told, words
from nvlearn.units import GB, GIB, MIB, US, format_rate, format_size, format_time

BYTES, ROUNDING = LOGS["bytes"], LOGS["rounding"]
NEAR = 0.002  # how near a factor must come to that of a number of ranks
NVIDIA = re.compile(r"NVIDIA|Tesla|GeForce|Quadro|TITAN|[GR]TX|GRID|\b[ABGHLPTV]{1,2}\d{1,3}\b")
#: Generations whose switches add up (NVLS).
ADDING = ("NVLink 4.0", "NVLink 5.0", "NVLink 6.0")
#: Collectives that keep every link of eight GPUs busy.
SPREAD = ("all_reduce", "all_gather", "reduce_scatter")


def read(lines: Sequence[str], stated: catalog.Gpu | None = None) -> list[tuple[int, Document]]:
    """Read every table of sizes, type and operator, each with the line its run begins at."""
    return [(run.start, Log(run, table, len(tables), stated))
            for run in scan(lines) for tables in [run.tables()] for table in tables]


class Log(Document):
    """One table: what was run, over which sizes, and what follows from it.

    Bytes, us, GB/s and GB/s of the rows with a size, a time and a bandwidth out of place stand in
    size, time, algbw and busbw, by size.
    """

    def __init__(self, run: Run, table: Table, tables: int, stated: catalog.Gpu | None) -> None:
        """Take a table, how many the run has, and the GPU as stated."""
        self.run, self.table, self.tables, self.rows = run, table, tables, len(table.size)
        points = np.array([table.size, *table.out[:3]])
        points = points[:, (points[:3] > 1e-6).all(axis=0) & (points[3] >= 0)]
        self.size, self.time, self.algbw, self.busbw = points[:, np.lexsort(points[1::-1])]
        pace = median(self.pace[self.algbw >= 0.5].tolist() or [1.0])
        if pace > 300:  # the first versions printed ms
            self.time, pace = self.time * 1e3, pace / 1e3
        self.old = 1.03 < pace < 2.1 and table.redop in ("", "none")
        if self.old:  # an all_gather before June 2020
            self.algbw = self.algbw * pace
        names = Counter(name for _, _, name in run.devices.values() if name)
        self.device = names.most_common(1)[0][0] if names else ""
        self.gpu = None if self.device == "CPU" else stated or catalog.gpu.find(self.device or "?")
        rccl = "kin" in run.said or "AMD" in self.device or "Radeon" in self.device
        self.tool = "rccl-tests" if rccl else "nccl-tests"
        rates = zip(table.out.busbw.tolist(), table.size.tolist(), strict=True)
        peak: tuple[float, float] = max(rates, key=lambda pair: pair[0], default=(0.0, 0.0))
        self.peak, self.peak_size = peak
        self.spread = self._spread()
        self.told = self._told()
        self.collective = self._collective()
        guess = int((self.spread or (1.0, 1.0))[1] < 1 - NEAR)
        self.passes = PASSES.get(self.collective or "", guess)
        fitting = [n for n in self.told if self.agrees(self.passes, n)]
        solved = self.solve(self.passes)
        solved = [n for n in solved if not n % 8] if len(solved) > 1 else solved
        self.ranks = fitting[0] if fitting else solved[0] if len(solved) == 1 else None
        self.wrong, self.fit = self._wrong(), self._fit()
        self.findings = judge(self)

    @property
    def pace(self) -> Floats:
        """Size / time over the printed algbw: 1 unless a column means something else."""
        pace: Floats = self.size / 1e3 / self.time / self.algbw
        return pace

    def _spread(self) -> tuple[float, float] | None:
        """Between what busbw/algbw lies, by the digits of the rows that say it best."""
        best = self.algbw.argsort()[-8:]
        algbw, busbw = self.algbw[best], self.busbw[best]
        if not best.size:
            return None
        off = np.where(busbw >= 1000, 0.05, 0.005)  # half of the last digit
        low = float(((busbw - off).clip(0) / (algbw + off)).max())
        high = float(((busbw + off) / np.maximum(algbw - off, algbw / 9)).min())
        last = float(busbw[-1] / algbw[-1])
        slack = 0.01 if self.old else 0.0
        return (low - slack, high + slack) if low <= high else (last - NEAR, last + NEAR)

    def _told(self) -> list[int]:
        """Numbers of ranks that the lines around the table name, the surest first."""
        numbers, ranks, table = self.run.numbers, self.run.said.get("ranks"), self.table
        rows = zip(table.size[::-1], table.elements[::-1], strict=True)
        size, count = next((row for row in rows if row[1]), (0, 1))
        self.share = max(round(size / count / BYTES.get(table.dtype, math.inf)), 1)
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
        factor, table = sum(self.spread) / 2, self.table
        reduces, rooted = table.redop not in ("", "none"), table.root >= 0
        out, back = (not np.isnan(half.wrong).all() for half in (table.out, table.back))
        if factor > 1 + NEAR:
            return "all_reduce"
        if factor > 1 - NEAR and self.share == 1:
            if rooted:
                return "reduce" if reduces else "broadcast"
            alone = out and not back and not np.isnan(table.back.time[-1])
            return "sendrecv" if alone or max(self.told, default=2) > 2 else "all_reduce"
        if reduces or rooted or not table.dtype or not (out or not table.redop):
            return "reduce_scatter" if reduces else None
        return "all_gather" if back or not table.redop else "alltoall"

    @property
    def factor(self) -> float | None:
        """Bus bandwidth over size/time: what a ring sends per byte of the message."""
        if self.ranks and self.spread and self.collective in PASSES:
            return self.passes * (self.ranks - 1) / self.ranks if self.passes else 1.0
        return round(sum(self.spread) / 2, 4) if self.spread else None

    def _wrong(self) -> int | None:
        """Wrong values, 0, or None if nothing was checked."""
        wrong = np.concatenate([self.table.out.wrong, self.table.back.wrong])
        wrong = wrong[~np.isnan(wrong)]
        bounds = self.run.said.get("bounds")
        failed, verdict = (int(bounds[1][:18]), bounds[2]) if bounds else (0, "")
        if ((wrong > 0) & (wrong < 1)).any():  # the old column: the largest error, not a count
            wrong = (wrong > ROUNDING.get(self.table.dtype, 0)) * float(verdict != "OK")
        if verdict == "FAILED" and not wrong.any():
            return failed or None
        half = np.isnan(self.table.back.time).all()  # a column of results was taken away
        unsaid = 0 if verdict == "OK" and self.run.numbers.get("validation") and half else None
        return round(float(wrong.sum())) if wrong.size else unsaid

    @property
    def nodes(self) -> int | None:
        """Hosts of the ranks, or None if their lines do not say."""
        devices = self.run.devices.values()
        hosts = {host for host, _, _ in devices}
        if not devices or len(devices) != self.ranks:
            return None
        return max(Counter(i for _, i, _ in devices).values()) if hosts == {""} else len(hosts)

    def _fit(self) -> dict[str, Any] | None:
        """The line T = L + wire/B through the times out of place, or None."""
        if not self.factor or self.ranks == 1 or self.size[0] == self.size[-1]:
            return None
        with np.errstate(all="ignore"):
            return fit_line(self.size * self.factor, self.time * US)

    def as_json(self) -> dict[str, Any]:
        """Return the document in the form of `nvlearn read --json`."""
        computed = average(np.array([self.table.out.busbw, self.table.back.busbw]))
        return {
            "kind": "nccl-tests", "tool": self.tool, "collective": self.collective,
            "ranks": self.ranks, "nodes": self.nodes, "gpu": self.gpu.name if self.gpu else None,
            "dtype": self.table.dtype or None, "redop": self.table.redop or None,
            "rows": self.rows, "factor": self.factor,
            "peak_busbw": self.peak if self.rows else None,
            "peak_bytes": round(self.peak_size) if self.rows else None,
            "avg_busbw_reported": self.run.average,
            "avg_busbw_computed": None if computed is None else round(computed, 4),
            "wrong": self.wrong, "fit": self.fit, "findings": [vars(f) for f in self.findings]}

    def in_words(self) -> str:
        """Return what the log says in sentences, then the findings with their advice."""
        say = {"what": {"tool": self.tool, "ranks": self.ranks or "?", "rows": self.rows,
                        "name": self.collective or words("nccl_log.some_collective")}}
        if self.rows and self.ranks != 1 and not self.factor:
            say["unclear"] = {}
        elif self.rows and self.ranks != 1:
            say["peak"] = {"rate": format_rate(self.peak * GB, digits=5),
                           "size": format_size(self.peak_size, binary=True)}
            say["meaning"] = {"factor": f"{self.factor:.4g}"}
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
        return Told("\n".join([*lines, *in_words(self.findings)]))


def fit_line(wire: Floats, time: Floats) -> dict[str, Any] | None:
    """Return start-up and bandwidth of T = L + wire/B; None where the times do not grow."""
    with suppress(ValueError):
        line = nccl.fit_line(wire, time, "broadcast")  # whose factor is 1: bytes are the wire's
        numbers = {"latency_us": line.latency / US, "bandwidth_gb_per_s": line.bandwidth / GB,
                   "median_error": line.left.median, "worst_error": line.left.worst}
        if all(map(math.isfinite, numbers.values())):
            return {key: round(v, 4) for key, v in numbers.items()} | {"points": len(time)}
    return None


# --- what is normal, suspicious or broken ----------------------------------------


def size(number: float) -> str:
    """Write a message size with binary units, as nccl-tests counts."""
    return format_size(number, binary=True)


def judge(log: Log) -> tuple[Finding, ...]:
    """Return every finding about a log."""
    checks = [results, paste, mean]
    checks += [shape, links, network, line] if log.size.size and log.ranks != 1 else []
    return tuple(finding for check in checks for finding in check(log))


def results(log: Log) -> Iterator[Finding]:
    """Say whether the run ended well, was checked, and on what it ran."""
    if failed := log.run.said.get("failed"):
        code = "log_failed" if log.run.average is None else "log_complaint"
        yield found(code, line=" ".join(failed.string.split())[:200])
    if log.wrong:
        yield found("log_wrong", count=f"{log.wrong:,}")
    elif log.wrong is None and log.rows:
        yield found("log_unchecked")
    if log.device == "CPU":
        yield found("log_cpu")
    elif log.tool != "nccl-tests" or (log.device and not NVIDIA.search(log.device)):
        yield found("log_foreign", tool=log.tool, device=log.device or "?")
    if log.old:
        yield found("log_old_algbw")
    if log.ranks == 1 and log.rows:
        yield found("log_one_rank")


def paste(log: Log) -> Iterator[Finding]:
    """Say what of the printout is missing, out of order or edited."""
    numbers, sizes = log.run.numbers, log.table.size[log.table.size > 0]
    if not log.rows:
        yield found("log_no_rows")
        return
    if log.run.torn:
        yield found("log_torn", count=log.run.torn)
    steps = sizes[1:] / sizes[:-1]
    step = numbers.get("step", 0) if numbers.get("step", 0) < 100 else 0
    if "elided" in log.run.said or (step > 1 and (steps > 1.1 * step).any()):
        yield found("log_elided")
    last, end = float(log.table.size[-1]), numbers.get("maxBytes", 0)
    if step > 1 and 0 < last * step <= end and log.tables == 1:
        yield found("log_cut", last=size(last), end=size(end))
    if (steps < 1).any():
        yield found("log_unordered")
    odd = log.size[(abs(log.pace - 1) > 0.1) & (log.algbw >= 1)]
    if odd.size:
        yield found("log_inconsistent", count=odd.size, first=size(odd[0]))


def mean(log: Log) -> Iterator[Finding]:
    """Compare the printed average with the rows, which it may not belong to."""
    printed, own = log.run.average, log.run.mean
    if printed is None or own is None:
        return
    if abs(printed - own) > 0.006 + 0.004 * own:
        yield found("log_average", printed=format_rate(printed * GB), own=format_rate(own * GB))
    if log.tables > 1:
        yield found("log_shared_average", tables=log.tables)


def shape(log: Log) -> Iterator[Finding]:
    """Look for sizes that are slower than smaller ones, and for a curve that ends too early."""
    best, busbw = np.maximum.accumulate(log.busbw), log.busbw
    low = log.size[(log.size >= MIB) & (busbw < 0.8 * best) & (best > 0.2 * log.peak)]
    if low.size:
        more = ", ..." if low.size > 4 else ""
        code = "log_dip_cpu" if log.device == "CPU" else "log_dip"
        yield found(code, sizes=", ".join(map(size, low[:4])) + more)
    if log.size[-1] < GIB and busbw[-1] > 1.1 * busbw[-2:][0]:
        yield found("log_rising", last=size(log.size[-1]))


def links(log: Log) -> Iterator[Finding]:
    """Compare the peak with what the GPU's NVLink, or else its PCIe, could do, one way."""
    gpu, peak, ranks, largest = log.gpu, log.peak * GB, log.ranks or 0, log.size[-1]
    total, pcie = (gpu.get(name) if gpu else None for name in ("nvlink_total", "pcie_raw"))
    joined = total and total.value
    if not gpu or largest < 16 * MIB or not (total := total if joined else pcie):
        return
    rate = total.one_way
    bridged = "bridge" in gpu.note or "RTX" in gpu.name
    adds = gpu.nvlink in ADDING and not bridged and log.collective == "all_reduce"
    known: dict[str, Any] = {"gpu": gpu.name, "peak": format_rate(peak), "line": format_rate(rate)}
    if peak > 1.01 * rate:
        group = ranks // (log.nodes or 1) or 8
        wire = log.algbw.max() * GB * (group + 1) / group
        code = "log_above_line" if adds and wire < 1.01 * rate else "log_above_all"
        yield found(code, wire=format_rate(wire), group=group, **known)
    if not joined or (log.nodes != 1 and not (log.nodes is None and 1 < ranks <= 8)):
        return
    if peak < min(0.4 * rate, pcie.one_way if pcie else rate):
        yield found("log_pcie_speed_bridge" if bridged else "log_pcie_speed", **known)
    elif peak < 0.6 * rate and ranks > 7 and largest >= GIB and log.collective in SPREAD:
        yield found("log_slow", share=f"{peak / rate:.0%}", **known)
    elif adds and ranks > 5 and largest >= GIB and 0.6 * rate < peak < 0.9 * rate:
        yield found("log_no_nvls", **known)


def network(log: Log) -> Iterator[Finding]:
    """Say that the ranks of several hosts measure the network."""
    nodes, ranks, out = log.nodes or 0, log.ranks or 0, log.peak * GB
    total = log.gpu.get("nvlink_total") if log.gpu else None
    if nodes < 2 or (log.gpu and log.gpu.c2c) or (total and out > 0.9 * total.one_way > 0):
        return
    if (log.collective or "").startswith("alltoall"):
        out = log.algbw.max() * GB * (ranks / nodes) * (1 - 1 / nodes)
    code = "log_few_nodes" if nodes < 5 and log.collective == "all_reduce" else "log_network"
    bits = format_rate(out, bits=True, digits=3)
    yield found(code, nodes=nodes, rate=format_rate(out), bits=bits)


def line(log: Log) -> Iterator[Finding]:
    """Say why a line through the times says little, if it does."""
    fit, times = log.fit, log.time
    if fit is None:
        yield found("log_no_fit")
        return
    start = fit["latency_us"]
    doubts = {"few": len({*log.size.tolist()}) < 5, "no_start": times.min() > 4 * start,
              "no_rate": times.max() < 3 * start, "far": fit["median_error"] > 0.2}
    if named := [words(f"nccl_log.doubt.{name}") for name, is_so in doubts.items() if is_so]:
        yield found("log_fit_weak", why="; ".join(named))
