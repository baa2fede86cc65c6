"""Bytes and time of a training step: the demo of lesson 11, buckets and overlap, whole plans."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from nvlearn import catalog, formulas
from nvlearn.i18n import words

PARAMETERS = 7e9
BYTES_PER_GRADIENT = 2.0
GPUS = 8
COMPUTE = 0.8


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
              gpus: int = GPUS, compute: float = COMPUTE) -> list[DemoRow]:
    """Return the repaired demo: every rate one way, advertised and then measured ones."""
    message = formulas.parameter_bytes(parameters, bytes_per_gradient)
    return [_row(*link, message, gpus, compute) for link in _repaired()]


def as_printed_rows(parameters: float = PARAMETERS, bytes_per_gradient: float = BYTES_PER_GRADIENT,
                    gpus: int = GPUS, compute: float = COMPUTE) -> list[DemoRow]:
    """Return the demo as the source document runs it: PCIe one way, NVLink both ways added."""
    message = formulas.parameter_bytes(parameters, bytes_per_gradient)
    mixed = {"pcie_5": catalog.pcie("Gen5").raw.one_way,
             "nvlink_3": catalog.nvlink("3.0").per_gpu.both_ways,
             "nvlink_4": catalog.nvlink("4.0").per_gpu.both_ways}
    return [_row(words(f"demo.printed.{key}"), key.partition("_")[0], rate, message, gpus, compute)
            for key, rate in mixed.items()]


def _row(name: str, way: str, rate: float, message: float, gpus: int, compute: float) -> DemoRow:
    time = formulas.ring_all_reduce_time(message, gpus, rate)
    if way == "nvls":  # a bus bandwidth holds for its own number of GPUs; the wire's rate for all
        wire = rate / formulas.ring_nvls_ratio(GPUS)
        time = formulas.nvls_all_reduce_time(message, gpus, wire)
    drawn = "pcie" if way == "pcie" else "nvlink"
    return DemoRow(name, drawn, rate, way in ("ring", "nvls"), compute, float(time))


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


class Step(NamedTuple):
    """Parts of a planned step, s: computing, what waits, the sum; bytes of state on each GPU."""

    compute: float
    tensor: float
    bubble: float
    data: float
    total: float
    memory: float


def plan_step(parameters: float, layers: int, hidden: int, sequence: int = 4096, *, batch: int = 1,
              microbatches: int = 1, tensor: int = 1, pipeline: int = 1, data: int = 1,
              interleave: int = 1, stage: int = 0, value_bytes: float = 2.0, flops: float = 400e12,
              domain: int = 8, inside: float = 450e9, outside: float = 50e9,
              tensor_first: bool = True) -> Step:
    """Return the step of a model that is cut over tensor x pipeline x data GPUs.

    Each replica takes `microbatches` of `batch` sequences. `flops` is what a GPU reaches, `domain`
    how many NVLink joins, `inside` and `outside` what a GPU sends at, bytes/s one way. Tensor
    groups fill a domain first, unless `tensor_first` is False: then data groups do. All that waits
    waits in full, but for the exchange of gradients, which hides bucket by bucket.
    """
    share, near = tensor * pipeline, math.gcd(data, max(1, domain // (tensor_first * tensor or 1)))
    work = 6 * parameters * batch * sequence * microbatches / share / flops
    reach = tensor * (1 if tensor_first else near)
    activation = formulas.activation_bytes(batch, sequence, hidden)
    waits = microbatches * formulas.tensor_parallel_time(
        activation, tensor, inside if reach <= domain else outside, layers=layers / pipeline)
    bubble = formulas.pipeline_bubble_overhead(pipeline, microbatches, interleave) * (work + waits)
    gradients = formulas.parameter_bytes(parameters / share, value_bytes)
    once = formulas.hierarchical_all_reduce_time(
        gradients, near, data // near, inside, outside).serial
    # Stage 3 gathers weights twice and scatters gradients, in each micro-batch.
    times, window = (1.5 * microbatches, 1.0) if stage == 3 else (1.0, 2 / 3 / microbatches)
    count = formulas.bucket_count(gradients)
    exposed = formulas.bucket_exposed_time(count, once * times / count, window * work)
    memory = formulas.zero_memory(parameters / share, data, stage)
    return Step(work, waits, bubble, exposed, work + waits + bubble + exposed, memory)
