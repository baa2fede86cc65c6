"""A training step under a slow or a fast link: the demo of lesson 11, repaired and as printed."""

from collections.abc import Iterator
from dataclasses import dataclass

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
