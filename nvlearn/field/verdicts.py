"""Judge a log of nccl-tests: what is normal, suspicious or broken in a table of bandwidths."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from nvlearn.field.findings import Finding, found
from nvlearn.i18n import words
from nvlearn.units import GB, GIB, MIB, format_rate, format_size

if TYPE_CHECKING:
    from nvlearn.field.nccl_tests import Log

NVIDIA = re.compile(r"NVIDIA|Tesla|GeForce|Quadro|TITAN|[GR]TX|GRID|\b[ABGHLPTV]{1,2}\d{1,3}\b")
#: Generations whose switches add up (NVLS).
ADDING = ("NVLink 4.0", "NVLink 5.0", "NVLink 6.0")


def say(code: str, **values: Any) -> Finding:
    """Return a finding about a log."""
    return found(code, section="nccl_log", **values)


def size(number: float) -> str:
    """Write a message size with binary units, as nccl-tests counts."""
    return format_size(number, binary=True)


def judge(log: Log) -> tuple[Finding, ...]:
    """Return every finding about a log."""
    checks = [results, paste, mean]
    checks += [shape, links, network, line] if log.points and log.ranks != 1 else []
    return tuple(finding for check in checks for finding in check(log))


def results(log: Log) -> Iterator[Finding]:
    """Say whether the run ended well, was checked, and on what it ran."""
    if log.run.failure:
        code = "log_failed" if log.run.average is None else "log_complaint"
        yield say(code, line=log.run.failure)
    if log.wrong:
        yield say("log_wrong", count=f"{log.wrong:,}")
    elif log.wrong is None and log.rows:
        yield say("log_unchecked")
    if log.tool != "nccl-tests" or (log.device and not NVIDIA.search(log.device)):
        yield say("log_foreign", tool=log.tool, device=log.device or "?")
    if log.old:
        yield say("log_old_algbw")
    if log.ranks == 1 and log.rows:
        yield say("log_one_rank")


def paste(log: Log) -> Iterator[Finding]:
    """Say what of the printout is missing, out of order or edited."""
    sizes, numbers, torn = [row.size for row in log.rows], log.run.numbers, log.run.torn
    if not sizes:
        yield say("log_no_rows")
        return
    if torn:
        yield say("log_torn", count=torn)
    pairs = [(a, b) for a, b in pairwise(sizes) if a and b]
    step = numbers.get("step", 0) if numbers.get("step", 0) < 100 else 0
    if "elided" in log.run.said or (step > 1 and any(b > a * step * 1.1 for a, b in pairs)):
        yield say("log_elided")
    if step > 1 and 0 < sizes[-1] * step <= numbers.get("maxBytes", 0) and log.tables == 1:
        yield say("log_cut", last=size(sizes[-1]), end=size(numbers["maxBytes"]))
    if any(b < a for a, b in pairs):
        yield say("log_unordered")
    odd = [p for p in log.points if abs(p.pace - 1) > 0.1 and p.algbw >= 1]
    if odd:
        yield say("log_inconsistent", count=len(odd), first=size(odd[0].size))


def mean(log: Log) -> Iterator[Finding]:
    """Compare the printed average with the rows, which it may not belong to."""
    printed, own = log.run.average, log.run.mean
    if printed is None or own is None:
        return
    if abs(printed - own) > 0.006 + own * (0.002 if log.run.both else 0.01):
        yield say("log_average", printed=format_rate(printed * GB), own=format_rate(own * GB))
    if log.tables > 1:
        yield say("log_shared_average", tables=log.tables)


def shape(log: Log) -> Iterator[Finding]:
    """Look for sizes that are slower than smaller ones, and for a curve that ends too early."""
    best, low = 0.0, []
    for point in log.points:
        if point.size >= MIB and point.busbw < 0.8 * best and best * GB > 0.2 * log.peak_rate:
            low.append(size(point.size))
        best = max(best, point.busbw)
    if low:
        yield say("log_dip", sizes=", ".join(low[:4]) + (", ..." if len(low) > 4 else ""))
    before, last = log.points[-2:][0], log.points[-1]
    if last.size < GIB and last.busbw > 1.1 * before.busbw:
        yield say("log_rising", last=size(last.size))


def links(log: Log) -> Iterator[Finding]:
    """Compare the peak with what the GPU's NVLink could do, one way."""
    gpu, peak, ranks, largest = log.gpu, log.peak_rate, log.ranks or 0, log.points[-1].size
    total = gpu.get("nvlink_total") if gpu else None
    if not gpu or not total or not total.value or largest < 16 * MIB:
        return
    rate, pcie = total.one_way, gpu.get("pcie_raw")
    bridged = "bridge" in gpu.note or "RTX" in gpu.name
    adds = gpu.nvlink in ADDING and not bridged and log.collective == "all_reduce"
    known = {"gpu": gpu.name, "peak": format_rate(peak), "line": format_rate(rate)}
    if peak > 1.01 * rate:
        group = ranks // (log.nodes or 1) or 8
        wire = max(p.algbw for p in log.points) * GB * (group + 1) / group
        code = "log_above_line" if adds else "log_above_all"
        yield say(code, wire=format_rate(wire), group=group, **known)
    if log.nodes != 1 and not (log.nodes is None and 1 < ranks <= 8):
        return
    if peak < min(0.4 * rate, pcie.one_way if pcie else rate):
        yield say("log_pcie_speed_bridge" if bridged else "log_pcie_speed", **known)
    elif adds and ranks > 5 and largest >= GIB and 0.6 * rate < peak < 0.9 * rate:
        yield say("log_no_nvls", **known)


def network(log: Log) -> Iterator[Finding]:
    """Say that the ranks of several hosts measure the network."""
    nodes, ranks, out = log.nodes or 0, log.ranks or 0, log.peak_rate
    total = log.gpu.get("nvlink_total") if log.gpu else None
    if nodes < 2 or (log.gpu and log.gpu.c2c) or (total and out > 0.9 * total.one_way > 0):
        return
    if (log.collective or "").startswith("alltoall"):
        out = max(p.algbw for p in log.points) * GB * (ranks / nodes) * (1 - 1 / nodes)
    code = "log_few_nodes" if nodes < 5 and log.collective == "all_reduce" else "log_network"
    yield say(code, nodes=nodes, rate=format_rate(out), bits=format_rate(out, bits=True, digits=3))


def line(log: Log) -> Iterator[Finding]:
    """Say why a line through the times says little, if it does."""
    fit, times = log.fit, [p.time for p in log.points]
    if fit is None:
        yield say("log_no_fit")
        return
    start = fit["latency_us"]
    doubts = {"few": len({p.size for p in log.points}) < 5, "no_start": min(times) > 4 * start,
              "no_rate": max(times) < 3 * start, "far": fit["median_error"] > 0.2}
    if named := [words(f"nccl_log.doubt.{name}") for name, is_so in doubts.items() if is_so]:
        yield say("log_fit_weak", why="; ".join(named))
