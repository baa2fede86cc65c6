"""The explorers of machines: printouts, a fit by hand, the map of winners, plans of a run."""

import numpy as np

from nvlearn import field, nccl, training
from nvlearn.data import printout, read_table
from nvlearn.explorers.explorer import Control, Explorer, controls, tell, text_field

# isort: off
from nvlearn.figures import (
    Picture, Series, drawable, reading, size_curves, split_bars, unpictured, winner_map)
# isort: on
from nvlearn.i18n import words
from nvlearn.units import GB, KIB, US, format_size, format_time

DOMAINS, SIZES = (1, 2, 4, 8, 16, 32, 64), KIB * 2.0 ** np.arange(25)


# --- the paste box ------------------------------------------------------------


def paste_box(text: str = "") -> Explorer:
    """Return a box for printouts of a machine; it opens on a real one with a fault."""
    samples = {
        words(f"paste.sample.{row['id']}"): {"text": printout(row["id"]), "gpu": row["gpu"]}
        for row in read_table("printouts")["printout"]}
    start = {"text": text, "gpu": ""} if text else next(iter(samples.values()))
    fields = [
        Control("text", text_field(words("paste.text"), start["text"], "220px")),
        Control("gpu", text_field(words("paste.gpu"), start["gpu"]))]
    return Explorer(explain, fields, reading_code, samples, words("paste.samples"))


def reading_code(text: str, gpu: str) -> str:
    """Return the line that reads a printout: one of the course's, or a file of the learner's."""
    ids = (row["id"] for row in read_table("printouts")["printout"])
    sample = next((f"nvlearn.data.printout({id!r})" for id in ids if printout(id) == text), "")
    return f"""nvlearn.field.read({sample or 'open("FILE")'}, {gpu or None!r})"""


def explain(text: str, gpu: str) -> Picture:
    """Return the picture of the first printout that has one, and what all of them mean."""
    try:
        documents = field.read(text, gpu or None)
    except ValueError as error:  # the machine of before must not stay in sight
        return unpictured(str(error))
    told = "\n\n".join(each.in_words() for each in documents)
    return reading(next(filter(drawable, documents), documents[0])).telling(told)


# --- a fit by hand ------------------------------------------------------------


def fit_explorer() -> Explorer:
    """Return a line to be laid through a measured table by hand, and what a fit makes of it."""
    return Explorer(fitted, controls("fit_explorer"))


def fitted(table: str, latency: float, bandwidth: float, curve: str, quantity: str) -> Picture:
    """Draw a measured all-reduce (latency in us, bandwidth in GB/s) under a line or a model."""
    found = next(t for t in nccl.tables() if (t.name, t.collective) == (table, "all_reduce"))
    assert found.machine is not None
    smooth = np.geomspace(found.sizes[0], found.sizes[-1], 300)
    places = np.concatenate([smooth, found.sizes])
    if curve == "nccl":
        model = nccl.fit(found.machine, found.sizes, found.times).machine
        times, start, rate = nccl.predict(model, "all_reduce", places).time, model.offset, 0.0
    else:
        line = nccl.fit_line(found.sizes, found.times, ranks=found.ranks)
        start, rate = (latency * US, bandwidth * GB) if curve == "mine" else line[:2]
        times = start + places * found.factor / rate
    miss = np.abs(times[len(smooth):] / found.times - 1)
    name = words(f"fit_explorer.name_{curve}", latency=format_time(start, 3),
                 bandwidth=f"{rate / GB:.3g}")
    values, real = times[: len(smooth)], found.times
    if quantity == "busbw":
        values, real = smooth * found.factor / values, found.busbw
    picture = size_curves([Series(name, smooth, values)], [
        Series(words("reading.measured"), found.sizes, real, "infiniband",
               source=read_table("published")["sources"][found.about["file"]])], quantity)
    return tell(picture, "fit_explorer", table=table, median=f"{np.median(miss):.0%}",
                worst=f"{miss.max():.0%}")


# --- the winner map -----------------------------------------------------------


def winner_explorer() -> Explorer:
    """Return what NCCL picks for an all-reduce by size and ranks, on four generations."""
    return Explorer(winners, controls("winner_explorer"))


def winners(machine: str, nvls: bool) -> Picture:
    """Draw the map of a machine: 2 GPUs to 64 domains, 1 KiB to 16 GiB."""
    made = nccl.machine(machine, domains=DOMAINS[-1], **({} if nvls else {"reduces": False}))
    ranks = [2, 4, *(made.gpus * k for k in DOMAINS)]
    found = nccl.predict(made, "all_reduce", SIZES[None, :], np.array(ranks)[:, None])
    names = np.char.add(np.char.add(found.algorithm, " "), found.protocol)
    return winner_map(names, ranks, SIZES.tolist())


# --- the planner --------------------------------------------------------------


def planner_explorer() -> Explorer:
    """Return the best splits of a model over a cluster; it opens on 175B on 1,024 H100."""
    return Explorer(planned, controls("planner_explorer"))


def planned(model: str, gpus: int, domain: int, inside: int, outside: int, memory: int) -> Picture:
    """Draw the best splits for 1,024 sequences a step; rates in GB/s one way, memory in GB."""
    found = training.splits(
        **training.MODELS[model], gpus=gpus, sequences=1024, memory=memory * GB, domain=domain,
        inside=inside * GB, outside=outside * GB)
    told = {"tried": f"{found.tried:,}", "fit": f"{found.tried - found.too_large:,}",
            "memory": memory}
    if not found.total.size:
        return split_bars(found, words("planner_explorer.none", **told))
    told |= {name: cut[0] for name, cut in found.cuts.items()} | {
        f"{kind}_sent": [format_size(sent[0], digits=3) for sent in ways]
        for kind, ways in found.sent.items()}
    share, times = found.parts["compute"][0] / found.total[0], found.worst / found.total[0]
    told |= {"total": format_time(found.total[0]), "share": f"{share:.0%}", "times": f"{times:.3g}"}
    return tell(split_bars(found, words("planner_explorer.title", **told)), "planner_explorer",
                **told)
