"""Bytes and time of a training step: the demo of lesson 11, buckets and overlap, whole plans."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from nvlearn import catalog, formulas
from nvlearn.data import read_table
from nvlearn.formulas.checks import Num, Out
from nvlearn.i18n import words

#: The demo's step.
PARAMETERS, BYTES_PER_GRADIENT, GPUS, COMPUTE = 7e9, 2.0, 8, 0.8


@dataclass(frozen=True, slots=True)
class DemoRow:
    """One interconnect of the demo; the rate is one way in bytes per second, times in seconds."""

    name: str
    way: str
    rate: float
    measured: bool
    compute: float
    communication: float

    @property
    def overlapped(self) -> float:
        """Time of a step that hides communication behind the computation."""
        return float(formulas.step_time(self.compute, self.communication))

    @property
    def in_turn(self) -> float:
        """Time of a step that computes first and communicates afterwards."""
        return float(formulas.step_time(self.compute, self.communication, overlap=False))

    @property
    def exposed(self) -> float:
        """Share of the step that waits for the link if nothing is overlapped."""
        return float(formulas.exposed_share(self.compute, self.communication))


def demo_rows(parameters: float = PARAMETERS, bytes_per_gradient: float = BYTES_PER_GRADIENT,
              gpus: int = GPUS, compute: float = COMPUTE,
              as_printed: bool = False) -> list[DemoRow]:
    """Return the repaired demo: every rate one way, advertised and then measured ones.

    `as_printed` gives it as the source document runs it: PCIe one way, NVLink both ways added.
    """
    message = formulas.parameter_bytes(parameters, bytes_per_gradient)
    links = _printed() if as_printed else _repaired()
    return [_row(*link, message, gpus, compute) for link in links]


def _row(name: str, way: str, rate: float, message: float, gpus: int, compute: float) -> DemoRow:
    time = formulas.ring_all_reduce_time(message, gpus, rate)
    if way == "nvls":  # a bus bandwidth holds for its own number of GPUs; the wire's rate for all
        wire = rate / formulas.ring_nvls_ratio(GPUS)
        time = formulas.nvls_all_reduce_time(message, gpus, wire)
    drawn = "pcie" if way == "pcie" else "nvlink"
    return DemoRow(name, drawn, rate, way in ("ring", "nvls"), compute, float(time))


def _printed() -> Iterator[tuple[str, str, float]]:
    """Yield name, way and rate as the source document mixes them."""
    yield words("demo.printed.pcie_5"), "pcie", catalog.pcie("Gen5").raw.one_way
    yield words("demo.printed.nvlink_3"), "nvlink", catalog.nvlink("3.0").per_gpu.both_ways
    yield words("demo.printed.nvlink_4"), "nvlink", catalog.nvlink("4.0").per_gpu.both_ways


def _repaired() -> Iterator[tuple[str, str, float]]:
    """Yield name, way and rate: as advertised, then as measured by a ring or in the switch."""
    for generation in ("Gen4", "Gen5"):
        link = catalog.pcie(generation)
        yield words("demo.row.pcie", name=link.name), "pcie", link.raw.one_way
    for generation, gpu in (("3.0", "A100"), ("4.0", "H100"), ("5.0", "B200")):
        made = catalog.nvlink(generation)
        yield words("demo.row.nvlink", name=made.name, gpu=gpu), "nvlink", made.per_gpu.one_way
    for system, how in (("DGX A100", "ring"), ("HGX H200", "ring"), ("HGX H200", "nvls")):
        rate = getattr(catalog.system(system), f"{how}_busbw").one_way
        yield words(f"demo.row.measured_{how}", gpu=system.partition(" ")[2]), how, rate


def seconds(value: float) -> str:
    """Return a time as the demo prints it: seconds, three decimals, for all rows alike."""
    return f"{value:.3f} s"


def findings(rows: Sequence[DemoRow]) -> dict[str, object]:
    """Return what there is to say of a step on several interconnects."""
    fast, slow = (pick(rows, key=lambda row: row.in_turn) for pick in (min, max))
    return {"compute": seconds(rows[0].compute), "count": len(rows), "fast": fast.name,
            "visible": sum(row.communication > row.compute for row in rows),
            "fast_time": seconds(fast.in_turn), "slow": slow.name,
            "slow_time": seconds(slow.in_turn), "worst": seconds(slow.overlapped),
            "needed": seconds(slow.communication), "ratio": f"{slow.in_turn / fast.in_turn:.2f}"}


@dataclass(frozen=True, slots=True)
class TunedRow(DemoRow):
    """A step that overlaps bucket by bucket, so that `waits` seconds of the exchange stick out."""

    waits: float = 0.0

    @property
    def overlapped(self) -> float:
        """Time of a step that hides what it can."""
        return self.compute + self.waits


def tuned(name: str, message: float, ranks: int, rate: float, compute: float, way: str = "nvlink",
          bucket: float = 25.0 * 2**20, latency: float = 32e-6, backward: float = 2 / 3,
          micro_steps: int = 1, no_sync: bool = True) -> TunedRow:
    """Return a step of DDP: each bucket is a ring all-reduce, hidden behind the backward pass.

    Seconds, bytes, bytes/s one way. `latency` is paid once a bucket (32 us: NCCL and its launch),
    `backward` is the share of computing that backward passes take. Of `micro_steps` that share the
    computing each exchanges all gradients or, with `no_sync`, only the last.
    """
    exchanges = 1 if no_sync else micro_steps
    count = formulas.bucket_count(message, bucket)
    each = latency + formulas.ring_all_reduce_time(min(message, bucket), ranks, rate)
    waits = formulas.bucket_exposed_time(count, each, backward * compute / micro_steps)
    return TunedRow(name, way, rate, False, compute, exchanges * count * each, exchanges * waits)


#: Shapes of models by their names: arguments of `splits`.
MODELS: dict[str, dict[str, Any]] = {
    row["name"]: row["shape"] for row in read_table("models")["model"]}


class Step(NamedTuple):
    """Parts of a planned step, s: computing, what waits, the sum; bytes of state on each GPU.

    `sent` are bytes that each GPU sends, by kind: inside its NVLink domain, and outside.
    """

    compute: Out
    tensor: Out
    bubble: Out
    data: Out
    total: Out
    memory: Out
    sent: dict[str, tuple[Out, Out]]


def plan_step(parameters: Num, layers: Num, hidden: Num, sequence: Num = 4096, *, batch: Num = 1,
              microbatches: Num = 1, tensor: Num = 1, pipeline: Num = 1, data: Any = 1,
              interleave: Num = 1, stage: Num = 0, value_bytes: Num = 2.0, flops: Num = 400e12,
              domain: Num = 8, inside: Num = 450e9, outside: Num = 50e9,
              tensor_first: bool = True) -> Step:
    """Return the step of a model that is cut over tensor x pipeline x data GPUs; or of many cuts.

    Each replica takes `microbatches` of `batch` sequences. `flops` is what a GPU reaches, `domain`
    how many NVLink joins, `inside` and `outside` what a GPU sends at, bytes/s one way. Tensor
    groups fill a domain first, unless `tensor_first` is False: then data groups do. All that waits
    waits in full, but for the exchange of gradients, which hides bucket by bucket, and the
    activations that a stage hands on, which are in `sent` and in no time.
    """
    share = tensor * pipeline
    near = np.gcd(data, np.maximum(1, domain // (tensor if tensor_first else 1)))
    work = 6 * parameters * batch * sequence * microbatches / share / flops
    close = tensor * (1 if tensor_first else near) <= domain
    activation, depth = formulas.activation_bytes(batch, sequence, hidden), layers / pipeline
    waits = microbatches * formulas.tensor_parallel_time(
        activation, tensor, np.where(close, inside, outside), layers=depth)
    bubble = formulas.pipeline_bubble_overhead(pipeline, microbatches, interleave) * (work + waits)
    gradients = formulas.parameter_bytes(parameters / share, value_bytes)
    once = formulas.hierarchical_all_reduce_time(gradients, near, data // near, inside, outside)
    # Stage 3 gathers weights twice and scatters gradients, in each micro-batch.
    whole = stage == 3
    times, window = np.where(whole, 1.5 * microbatches, 1), np.where(whole, 1, 2 / 3 / microbatches)
    count = formulas.bucket_count(gradients)
    exposed = formulas.bucket_exposed_time(count, once.serial * times / count, window * work)
    summed = microbatches * formulas.tensor_parallel_bytes(activation, tensor, depth)
    handed = 2 * microbatches * interleave * activation / tensor * (pipeline > 1)
    sent = {"tensor": (np.where(close, summed, 0), np.where(close, 0, summed)),
            "data": (once.inside * inside * times, once.across * outside * times)}
    close = share * data <= domain
    sent["pipeline"] = np.where(close, handed, 0), np.where(close, 0, handed)
    memory = formulas.zero_memory(parameters / share, data, stage)
    return Step(work, waits, bubble, exposed, work + waits + bubble + exposed, memory, sent)


class Splits(NamedTuple):
    """The best ways to split a model, fastest first, an array of each; and how many there were.

    `cuts` are arguments of `plan_step`, `parts` seconds, `memory` bytes on each GPU, `sent` bytes
    that each GPU sends a step by kind: inside its NVLink domain, and outside. `worst` is the step
    of the slowest that fits.
    """

    tried: int
    too_large: int
    worst: float
    cuts: dict[str, Out]
    parts: dict[str, Out]
    total: Out
    memory: Out
    sent: dict[str, tuple[Out, Out]]


def splits(parameters: float, layers: int, hidden: int, heads: int, gpus: int, sequences: int,
           sequence: int = 4096, memory: float = 80e9, best: int = 5, inside: float = 450e9,
           outside: float = 50e9, **machine: Any) -> Splits:
    """Return the fastest splits of a model over GPUs that fit into `memory` bytes on each.

    A step takes `sequences` in all. Every split is tried whose numbers divide evenly: tensor x
    pipeline x data GPUs, micro-batches, interleaving, ZeRO stage (2 is 1 where gradients of
    micro-batches add up). Of those with the same three groups the fastest is kept. `plan_step` has
    the parts; what stages hand on is added in full. Memory is state and what the backward pass
    needs of the forward one, none of it computed again: 34 s b h bytes a layer, shared by the
    tensor group (Korthikanti et al. 2022).
    """
    groups, deep, all_ = (np.flatnonzero(n % np.arange(1, n + 1) == 0) + 1
                          for n in (gpus, layers, sequences))
    tensor, pipeline, interleave, microbatches, stage = np.meshgrid(
        groups, groups, deep, all_, [0, 1, 3], sparse=True)
    data = np.maximum(gpus // (tensor * pipeline), 1)
    batch = sequences // (data * microbatches)
    even = (
        (tensor * pipeline * data == gpus) & (heads % tensor == 0)
        & (layers % (pipeline * interleave) == 0) & (data * microbatches * batch == sequences)
        & ((interleave == 1) | ((pipeline > 1) & (microbatches % pipeline == 0)))
        & ((stage == 0) | (data > 1)))
    cuts = {name: np.broadcast_to(axis, even.shape)[even] for name, axis in {
        "tensor": tensor, "pipeline": pipeline, "data": data, "microbatches": microbatches,
        "batch": batch, "interleave": interleave, "stage": stage}.items()}
    tensor, pipeline, _, microbatches, batch, interleave, _ = cuts.values()
    step = plan_step(parameters, layers, hidden, sequence, inside=inside, outside=outside, **cuts,
                     **machine)
    near, far = step.sent["pipeline"]
    parts = {"compute": step.compute, "tensor": step.tensor, "bubble": step.bubble,
             "pipeline": near / inside + far / outside, "data": step.data}
    ahead = 1 + (interleave > 1) * (pipeline - 1) / (pipeline * interleave)
    room = step.memory + 17 * formulas.activation_bytes(batch, sequence, hidden) / tensor * (
        layers * ahead * np.minimum(1, microbatches / pipeline))
    total, fits = step.total + parts["pipeline"], np.flatnonzero(room <= memory)
    order = fits[np.lexsort((room[fits], total[fits]))]
    _, first = np.unique(tensor[order] * gpus + pipeline[order], return_index=True)
    top = order[np.sort(first)[:best]]
    return Splits(
        room.size, room.size - fits.size, total[fits].max(initial=0),
        {name: cut[top] for name, cut in cuts.items()},
        {name: part[top] for name, part in parts.items()}, total[top], room[top],
        {kind: (near[top], far[top]) for kind, (near, far) in step.sent.items()})
