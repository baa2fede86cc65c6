"""Run a real all-reduce on this machine with an existing engine, and print it as nccl-tests does.

The launcher (`run`) starts one process per rank through mpiexec or torchrun and keeps every line
as it comes; each process runs `python -m nvlearn.measure`, and the first one prints. What is saved
is a log that `nvlearn read` reads.
"""

import argparse
import os
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import numpy as np

from nvlearn import formulas
from nvlearn.i18n import words
from nvlearn.units import GB, US

VALUE = np.dtype(np.float32)
PERIOD = 5  # the values of an array repeat, so that each sum is a small whole number
HEADER = ("#       size         count      type   redop    root     time   algbw   busbw #wrong",
          "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)       ")
ROW = "{:12d}  {:12d}  {:>8}  {:>6}  {:6d} {:8.2f} {:7.3f} {:7.3f} {:6d}"
FOOT = "# Out of bounds values : {} {}\n# Avg bus bandwidth    : {:.6g}\n"


class Plan(NamedTuple):
    """Sizes from `least` to `most` bytes in powers of two; each timed `repeat` times."""

    least: int = 8
    most: int = 1 << 26
    repeat: int = 20
    warmup: int = 5

    @property
    def sizes(self) -> list[int]:
        """Sizes in bytes, whole elements of float32."""
        formulas.require(VALUE.itemsize <= self.least <= self.most <= 1 << 34, words(
            "measure.sizes", least=self.least, most=self.most))
        formulas.require(1 <= self.repeat <= 10_000 and 0 <= self.warmup <= 10_000, words(
            "measure.repeats", repeat=self.repeat, warmup=self.warmup))
        doubled = (self.least << i for i in range(35))
        return [size // VALUE.itemsize * VALUE.itemsize for size in doubled if size <= self.most]


# An engine adds arrays over processes: it has its rank, how many ranks there are, its name and the
# name of its device, and the methods of the two classes here.


class Mpi:
    """Processes on CPUs, under whatever MPI mpi4py was built for."""

    def __init__(self) -> None:
        """Join the others."""
        from mpi4py import MPI

        comm = MPI.COMM_WORLD
        self.rank, self.ranks = comm.Get_rank(), comm.Get_size()
        self.meet, self.gather = comm.Barrier, comm.allgather
        self.place = self.fetch = np.asarray  # MPI adds in host memory, where the values are
        self.all_reduce = partial(comm.Allreduce, MPI.IN_PLACE, op=MPI.SUM)
        self.name = " ".join(MPI.Get_library_version().split("\n")[0].split())
        self.device = "CPU"


class Torch:
    """Processes of torch.distributed: NCCL where each has a GPU of its own, else Gloo."""

    def __init__(self) -> None:
        """Join the others, as torchrun's variables tell."""
        import torch
        from torch import distributed

        local = int(os.environ["LOCAL_RANK"])
        self.gpu = torch.cuda.device_count() >= int(os.environ["LOCAL_WORLD_SIZE"])
        backend, where = ("nccl", f"cuda:{local}") if self.gpu else ("gloo", "cpu")
        if self.gpu:
            torch.cuda.set_device(local)
        distributed.init_process_group(backend)
        self.torch, self.distributed = torch, distributed
        self.rank, self.ranks = distributed.get_rank(), distributed.get_world_size()
        self.meet, self.place = distributed.barrier, partial(torch.as_tensor, device=where)
        self.name = f"PyTorch {torch.__version__} {backend}"
        self.device = torch.cuda.get_device_name(local) if self.gpu else "CPU"

    def fetch(self, buffer: Any) -> Any:
        """Copy from the GPU."""
        return buffer.cpu().numpy()

    def all_reduce(self, buffer: Any) -> None:
        """Add in place; a GPU only queues it, so wait."""
        self.distributed.all_reduce(buffer)
        if self.gpu:
            self.torch.cuda.synchronize()

    def gather(self, value: Any) -> list[Any]:
        """Return the values of all ranks."""
        found = [None] * self.ranks
        self.distributed.all_gather_object(found, value)
        return found


ENGINES = {"mpi": Mpi, "torch": Torch}


def measure(engine: Any, plan: Plan) -> Iterator[tuple[int, float, int]]:
    """Yield size in bytes, seconds and wrong values for each size; every rank must run it.

    Before a size is timed its sum is compared with the one known, value by value. A call takes as
    long as on its slowest rank; the median of all calls counts.
    """
    for size in plan.sizes:
        own = np.arange(size // VALUE.itemsize, dtype=VALUE) % PERIOD
        buffer = engine.place(own + np.float32(engine.rank))
        engine.all_reduce(buffer)
        total = own * engine.ranks + np.float32(sum(range(engine.ranks)))
        wrong = int(np.count_nonzero(engine.fetch(buffer) != total))
        buffer = engine.place(np.zeros_like(own))  # so that sums of sums stay small
        calls = []
        for _ in range(plan.warmup + plan.repeat):
            engine.meet()
            begin = time.perf_counter()
            engine.all_reduce(buffer)
            calls.append(time.perf_counter() - begin)
        slowest = np.max(engine.gather(calls[plan.warmup :]), axis=0)
        yield size, float(np.median(slowest)), sum(engine.gather(wrong))


def report(engine: Any, plan: Plan) -> Iterator[str]:
    """Yield the log of nccl-tests, line by line; only the first rank's is to be shown."""
    yield "# Collective test starting: all_reduce_perf"
    yield f"# nvlearn measure: {engine.name}"
    yield (f"# nThread 1 nGpus 1 minBytes {plan.least} maxBytes {plan.most} step: 2(factor) "
           f"warmup iters: {plan.warmup} iters: {plan.repeat} validation: 1")
    for rank, (pid, host, device) in enumerate(
            engine.gather((os.getpid(), socket.gethostname(), engine.device))):
        yield f"#  Rank {rank:2d} Pid {pid:6d} on {host} device {rank:2d} [--] {device}"
    yield from HEADER
    rows, factor = [], float(formulas.busbw_factor(engine.ranks, "all_reduce"))
    for size, seconds, wrong in measure(engine, plan):
        algbw = size / seconds / GB
        rows.append(ROW.format(size, size // VALUE.itemsize, "float", "sum", -1, seconds / US,
                               algbw, algbw * factor, wrong))
        yield rows[-1]
    yield footer(rows)


def footer(rows: Sequence[str]) -> str:
    """Return the last lines: how many values are wrong, and the mean of the bus bandwidths."""
    wrong = sum(int(line.split()[-1]) for line in rows)
    mean = np.mean([float(line.split()[-2]) for line in rows] or [0.0])
    return FOOT.format(wrong, "FAILED" if wrong else "OK", mean)


def work(arguments: Sequence[str]) -> None:
    """Be one of the processes: join the engine, measure, and print if this is the first rank."""
    read = argparse.ArgumentParser()
    read.add_argument("engine", choices=ENGINES)
    for name, value in Plan()._asdict().items():
        read.add_argument(f"--{name}", type=int, default=value)
    told = vars(read.parse_args(arguments))
    engine: Any = ENGINES[told.pop("engine")]()
    for line in report(engine, Plan(**told)):
        if engine.rank == 0:
            print(line, flush=True)
    if isinstance(engine, Torch):
        engine.distributed.destroy_process_group()


# ---- the launcher --------------------------------------------------------------------------------


def choose(engine: str | None) -> str:
    """Return the engine asked for, or one that this Python has; say what lacks."""
    modules = {"mpi": "mpi4py", "torch": "torch"}
    order = ["torch", "mpi"] if shutil.which("nvidia-smi") else ["mpi", "torch"]
    for name in [engine] if engine else order:
        if find_spec(modules[name]):
            return name
    wants = "torch" if engine == "torch" else "windows" if sys.platform == "win32" else "mpi"
    raise ValueError(words(f"measure.no_{wants}"))


def command(engine: str, ranks: int, plan: Plan) -> list[str]:
    """Return the command that starts the processes."""
    told = [f"--{name}={value}" for name, value in plan._asdict().items()]
    own = ["-m", "nvlearn.measure", engine, *told]
    if engine == "torch":
        return [sys.executable, "-m", "torch.distributed.run", "--standalone",
                f"--nproc-per-node={ranks}", *own]
    beside = Path(sys.executable).parent
    found = shutil.which("mpiexec", path=f"{beside}{os.pathsep}{os.environ.get('PATH', '')}")
    if found is None:
        raise ValueError(words("measure.no_mpiexec"))
    return [found, "-n", str(ranks), sys.executable, *own]


def run(engine: str | None, ranks: int, plan: Plan, target: Path, shown: TextIO | None) -> int:
    """Measure, keep every line in a file as it comes, and show it; return the number of sizes.

    Ctrl-C ends the processes and closes the file with what there is. A file that exists is not
    touched, and an empty one does not stay. ValueError or OSError says what lacks or what failed.
    """
    most = max(16, 4 * (os.cpu_count() or 1))
    formulas.require(2 <= ranks <= most, words("measure.ranks", ranks=ranks, most=most))
    made = command(choose(engine), ranks, plan)
    formulas.require(not target.exists(), words("measure.exists", file=target))
    rows: list[str] = []

    def keep(line: str) -> None:
        for stream in filter(None, (kept, shown)):
            print(line, end="", file=stream, flush=True)

    try:
        with (target.open("x", encoding="utf-8", newline="\n") as kept,
              tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as said,
              subprocess.Popen(  # a session of its own, so that Ctrl-C comes to the launcher alone
                made, stdout=subprocess.PIPE, stderr=said, encoding="utf-8", start_new_session=True,
                env={"OMP_NUM_THREADS": "1", **os.environ}) as child):
            try:
                for line in child.stdout or ():
                    keep(line)
                    rows += [line] * line.lstrip()[:1].isdecimal()
                    progress(len(rows), len(plan.sizes))
            except KeyboardInterrupt:
                child.terminate()  # the launcher of the processes, which ends them
                keep(footer(rows))
                return len(rows)
            if child.wait():
                said.seek(0)
                last = " / ".join(said.read().split("\n")[-4:])
                raise ValueError(words("measure.failed", command=shlex.join(made), done=len(rows),
                                       code=child.returncode, file=target, said=last))
    except OSError as error:
        raise OSError(error.errno, error.strerror, error.filename or str(target)) from None
    finally:
        if target.exists() and not target.stat().st_size:
            target.unlink()
    return len(rows)


def progress(done: int, of: int) -> None:
    """Show on a terminal how far it has come, below the rows."""
    if sys.stderr.isatty():
        bar = "#" * (30 * done // of)
        sys.stderr.write(f"[{bar:30}] {done}/{of}" + ("\n" if done == of else "\r"))


if __name__ == "__main__":
    work(sys.argv[1:])
