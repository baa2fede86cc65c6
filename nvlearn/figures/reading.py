"""The picture of a printout that was read: the map of a machine, or a measured curve."""

import numpy as np

from nvlearn import catalog, nccl
from nvlearn.field import Document
from nvlearn.field.findings import gpu_names
from nvlearn.field.nccl_tests import Log
from nvlearn.field.topo import Topo
from nvlearn.figures.city import city_map
from nvlearn.figures.curves import Series, size_curves
from nvlearn.figures.drawing import Drawing, Picture
from nvlearn.i18n import words
from nvlearn.topology import printed
from nvlearn.units import GB, US, format_rate, format_time

ASSUMED = 25 * GB  # bytes/s one way of a link whose generation the printout does not tell
LINKS = {"asymmetric", "half_contact", "no_nvlink", "pair_apart", "uneven"}  # warnings about links
IMPOSSIBLE = 1.2  # share of a machine's bandwidth above which the log is not of that machine


def drawable(document: Document) -> bool:
    """Tell whether there is more to draw of a printout than its name."""
    return isinstance(document, Topo) or (isinstance(document, Log) and document.fit is not None)


def reading(document: Document) -> Picture:
    """Draw the map of a matrix of `topo -m`, or the curve of a log over a model of its machine.

    What has neither gets a sheet that says so.
    """
    if isinstance(document, Topo):
        return machine_map(document)
    if isinstance(document, Log) and document.fit:  # two sizes or more, over two ranks or more
        return measured(document)
    return unpictured(document.in_words())


def unpictured(told: str) -> Picture:
    """Draw a sheet that says that there is no picture, only words."""
    sheet = Drawing(960, 76)
    sheet.heading(words("reading.none"), words("reading.none_but"))
    return sheet.picture(told)


def machine_map(document: Topo) -> Picture:
    """Draw a machine as its matrix shows it; the title names GPUs with a fault or fewer links."""
    rates = [rate * GB / links for rate, links in zip(
        document.gb_per_s_one_way, document.nvlinks_per_gpu, strict=True) if rate and links]
    road = (document.pcie_gb_per_s_one_way or 0) * GB
    paved = any(cell and cell[:2] not in ("NV", "X") for row in document.links for cell in row)
    known = (rates or not any(document.nvlinks_per_gpu)) and (road or not paved)
    name = words(f"reading.machine_{'known' if known else 'assumed'}",
                 gpus=document.gpus, model=document.model or "GPU")
    machine = printed(document.links, rates[0] if rates else ASSUMED,
                      road or catalog.pcie("Gen4").raw.one_way, name=name,
                      switch=document.fabric == "switch")
    faults = {gpu for f in document.findings if f.severity == "fault" for gpu in f.gpus}
    doubts = {gpu for f in document.findings if f.code in LINKS for gpu in f.gpus}
    gpus = sorted(faults or doubts)
    who = words("reading.many", count=len(gpus)) if len(gpus) > 8 else gpu_names(gpus)
    parted = document.fabric == "switch" and document.fully_connected is False
    case = "fault" if faults else "doubt" if gpus else "parted"
    title = words(f"reading.{case}", gpus=who) if gpus or parted else ""
    return city_map(machine, title=title)


def measured(log: Log) -> Picture:
    """Draw the bus bandwidths of a log over the model of its machine, or else over a line."""
    sizes, times, factor = log.size, log.time * US, log.factor or 1.0
    smooth = np.geomspace(sizes.min(), sizes.max(), 200)
    collective, model = log.collective or "all_reduce", machine(log)
    best = nccl.fit(model, sizes, times, collective).machine if model else None
    if best and best.efficiency < IMPOSSIBLE:
        name = words("reading.model", name=best.name, offset=format_time(best.offset, digits=3),
                     efficiency=f"{best.efficiency:.0%}")
        values = nccl.predict(best, collective, smooth).busbw
    else:
        assert log.fit  # the line of which the words tell
        latency, rate = log.fit["latency_us"] * US, log.fit["bandwidth_gb_per_s"] * GB
        name = words("reading.line", latency=format_time(latency, digits=3),
                     rate=format_rate(rate, digits=3))
        values = smooth * factor / (latency + smooth * factor / rate)
    return size_curves([Series(name, smooth, values)], [own(log)])


def own(log: Log) -> Series:
    """Return the bus bandwidths of a log."""
    rates = log.size * (log.factor or 1.0) / (log.time * US)
    return Series(words("reading.measured"), log.size, rates, "infiniband")


def machine(log: Log) -> nccl.Machine | None:
    """Return the machine of the catalog that a log can come from."""
    each = (log.ranks or 0) // (log.nodes or 1)
    fits = [made for made in catalog.systems().values()
            if log.gpu and made.gpu == log.gpu.name and 1 < each <= made.gpus.count]
    if not fits or log.collective not in nccl.COLLECTIVES:
        return None
    nearest = min(fits, key=lambda made: made.gpus.count)
    return nccl.machine(nearest.name, gpus=each, domains=log.nodes or 1)
