"""Judge a log of nccl-tests: what is normal, suspicious or broken in a table of bandwidths."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from nvlearn.field.findings import Finding, found
from nvlearn.i18n import words
from nvlearn.units import GB, GIB, MIB, format_rate, format_size

if TYPE_CHECKING:
    from nvlearn.field.nccl_tests import Log

NVIDIA = re.compile(r"NVIDIA|Tesla|GeForce|Quadro|TITAN|[GR]TX|GRID|\b[ABGHLPTV]{1,2}\d{1,3}\b")
#: Generations whose switches add up (NVLS).
ADDING = ("NVLink 4.0", "NVLink 5.0", "NVLink 6.0")
#: Collectives that keep every link of eight GPUs busy.
SPREAD = ("all_reduce", "all_gather", "reduce_scatter")


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
