"""The command line: `nvlearn lab`, `demo`, `why`, `read`, `measure`."""

from __future__ import annotations

import argparse
import io
import json
import math
import os
import re
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from nvlearn.i18n import words
from nvlearn.units import GB

if TYPE_CHECKING:
    from nvlearn.training import DemoRow

WIDTH = 88
WRONG_INPUT, INTERRUPTED, BROKEN_PIPE = 2, 130, 141
RANGES = {
    "parameters": (1, 1e15), "bytes_per_gradient": (0.1, 64), "gpus": (2, 1e6),
    "compute": (1e-6, 1e6)}
COUNTS = {"": 1.0, "K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}


class Parser(argparse.ArgumentParser):
    """An argument parser that tells what is wrong in one sentence."""

    def error(self, message: str) -> NoReturn:
        """Print the sentence on stderr and leave with exit code 2."""
        text = message.rstrip(".")
        self.exit(WRONG_INPUT, words("cli.usage_error", prog=self.prog, message=text) + "\n")


class Version(argparse.Action):
    """Print the version; looking it up costs nothing unless it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        """Print and leave."""
        from importlib.metadata import PackageNotFoundError, version

        try:
            found = version("nvlearn")
        except PackageNotFoundError:
            found = words("cli.not_installed")
        sys.stdout.write(f"nvlearn {found}\n")
        parser.exit()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    plain_streams()
    try:
        options = parser().parse_args(arguments)
        code: int = options.run(options)
        sys.stdout.flush()
    except BrokenPipeError:
        # Python flushes once more at exit; give it somewhere to write
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except KeyboardInterrupt:
        return INTERRUPTED
    except (ValueError, LookupError, OSError) as error:
        told = error.args[0] if isinstance(error, KeyError) and error.args else error
        sys.stderr.write(f"nvlearn: {told}\n")
        return WRONG_INPUT
    return code


def plain_streams() -> None:
    """Make the output UTF-8 with newlines as they are, on every platform and in every pipe."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the caller, as in `nvlearn demo >&-`
            setattr(sys, name, io.StringIO())
    for stream, newline in ((sys.stdout, "\n"), (sys.stderr, None)):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace", newline=newline)


def parser() -> Parser:
    """Return the parser of all commands."""
    top = Parser("nvlearn", description=words("cli.help.nvlearn"), allow_abbrev=False)
    top.add_argument("--version", action=Version, nargs=0, help=words("cli.help.version"))
    commands = top.add_subparsers(metavar="COMMAND", required=True, dest="command")
    lab_options(command(commands, "lab", lab))
    demo_options(command(commands, "demo", demo))
    why_options(command(commands, "why", why))
    read_options(command(commands, "read", read))
    measure_options(command(commands, "measure", measure))
    return top


def command(commands: Any, name: str, run: Any) -> Parser:
    """Add a command with its description and an example."""
    told = words(f"cli.help.{name}")
    made: Parser = commands.add_parser(
        name, help=told, description=told, epilog=words(f"cli.example.{name}"),
        formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    made.set_defaults(run=run)
    return made


def lab_options(made: Parser) -> None:
    """Add the options of `nvlearn lab`."""
    made.add_argument("--no-browser", action="store_true", help=words("cli.help.no_browser"))
    made.add_argument("folder", nargs="?", metavar="FOLDER", help=words("cli.help.folder"))


def demo_options(made: Parser) -> None:
    """Add the options of `nvlearn demo`."""
    from nvlearn import training

    add = made.add_argument
    add("--as-printed", action="store_true", help=words("cli.help.as_printed"))
    add("--parameters", type=count, default=training.PARAMETERS, metavar="7B",
        help=words("cli.help.parameters"))
    add("--bytes-per-gradient", type=gradient_bytes, default=training.BYTES_PER_GRADIENT,
        metavar="2", help=words("cli.help.bytes_per_gradient"))
    add("--gpus", type=gpus, default=training.GPUS, metavar="8", help=words("cli.help.gpus"))
    add("--compute", type=duration, default=training.COMPUTE, metavar='"0.8 s"',
        help=words("cli.help.compute"))


def why_options(made: Parser) -> None:
    """Add the options of `nvlearn why`."""
    made.add_argument("text", nargs="+", metavar="TEXT", help=words("cli.help.text"))


def read_options(made: Parser) -> None:
    """Add the options of `nvlearn read`."""
    made.add_argument("file", metavar="FILE", help=words("cli.help.file"))
    made.add_argument("--gpu", metavar='"RTX 3090"', help=words("cli.help.gpu"))
    made.add_argument("--plot", metavar="FILE.svg", help=words("cli.help.plot"))
    made.add_argument("--json", action="store_true", help=words("cli.help.json"))


def measure_options(made: Parser) -> None:
    """Add the options of `nvlearn measure`."""
    add = made.add_argument
    add("--engine", choices=("mpi", "torch"), help=words("cli.help.engine"))
    add("--ranks", type=int, default=2, metavar="2", help=words("cli.help.ranks"))
    add("--from", dest="least", type=size, default=8, metavar="8B", help=words("cli.help.least"))
    add("--to", dest="most", type=size, default=1 << 26, metavar="64MiB",
        help=words("cli.help.most"))
    add("--repeat", type=int, default=20, metavar="20", help=words("cli.help.repeat"))
    add("--warmup", type=int, default=5, metavar="5", help=words("cli.help.warmup"))
    add("--save", metavar="FILE", help=words("cli.help.save"))
    add("--json", action="store_true", help=words("cli.help.json"))


def refuse(kind: str, text: str) -> argparse.ArgumentTypeError:
    """Return the error that says what was expected in place of a text."""
    return argparse.ArgumentTypeError(words(f"cli.expected.{kind}", text=repr(text)))


def within(text: str, kind: str, shown: str | None = None) -> float:
    """Read a number that lies in the range of its kind."""
    least, most = RANGES[kind]
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not least <= value <= most:
        raise refuse(kind, shown or text)
    return value


def gradient_bytes(text: str) -> float:
    """Read the bytes of one gradient."""
    return within(text, "bytes_per_gradient")


def count(text: str) -> float:
    """Read a count of parameters: 7e9, 7B, 350M."""
    found = re.fullmatch(r"(.*?)\s*([KMBT]?)", text.strip(), re.IGNORECASE)
    number, suffix = found.groups() if found else (text, "")
    try:
        value = float(number) * COUNTS[suffix.upper()]
    except ValueError:
        value = math.nan
    return within(str(value), "parameters", text)


def gpus(text: str) -> int:
    """Read a count of GPUs."""
    whole = re.fullmatch(r"\d{1,9}", text.strip(), re.ASCII)
    return int(within(text if whole else "", "gpus", text))


def duration(text: str) -> float:
    """Read a time; a bare number is seconds."""
    from nvlearn.units import UnitError, parse_time

    bare = re.fullmatch(r"\s*[\d.]+(e[+-]?\d+)?\s*", text, re.IGNORECASE)
    try:
        value = parse_time(f"{text} s" if bare else text)
    except UnitError:
        value = math.nan
    return within(str(value), "compute", text)


def size(text: str) -> int:
    """Read a size in bytes: 8, 64 KiB, 1GB."""
    from nvlearn.units import UnitError, parse_size

    try:
        return int(text) if text.isdecimal() else round(parse_size(text))
    except UnitError:
        raise refuse("size", text) from None


def demo(options: argparse.Namespace) -> int:
    """Print the demo: repaired, or as the source document prints it."""
    from nvlearn import training

    given = (options.parameters, options.bytes_per_gradient, options.gpus, options.compute)
    if options.as_printed:
        lines = printed_table(training.as_printed_rows(*given))
    else:
        rows = training.demo_rows(*given)
        lines = [*repaired_table(rows), "", what_to_see(rows)]
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


def printed_table(rows: Sequence[DemoRow]) -> list[str]:
    """Return the source document's table, padded as it pads."""
    name, *heads = words("demo.printed.header").split("|")
    lines = [f"{name:<18}" + "".join(f"{head:>10}" for head in heads)]
    for row in rows:
        times = f"{row.communication:9.3f}s{row.overlapped:9.3f}s"
        lines.append(f"{row.name:<18}{times}{row.communication / row.overlapped:9.1%}")
    return lines


def repaired_table(rows: Sequence[DemoRow]) -> list[str]:
    """Return the repaired table with aligned columns."""
    heads = words("demo.header").split("|")
    cells = [
        (row.name, f"{row.rate / GB:.2f}", f"{row.communication:.3f}",
         f"{row.overlapped:.3f}", f"{row.in_turn:.3f}", f"{row.exposed:.1%}")
        for row in rows]
    columns = list(zip(heads, *cells, strict=True))
    widths = [max(map(len, column)) for column in columns]
    lines = []
    for name, *numbers in [tuple(heads), *cells]:
        padded = [text.rjust(width) for text, width in zip(numbers, widths[1:], strict=True)]
        lines.append("  ".join([name.ljust(widths[0]), *padded]))
    return lines


def what_to_see(rows: Sequence[DemoRow]) -> str:
    """Return the sentence under the repaired table."""
    slow = max(rows, key=lambda row: row.communication)
    seen = sum(row.communication > row.compute for row in rows)
    return textwrap.fill(words(
        "demo.seen" if seen else "demo.hidden",
        compute=f"{slow.compute:.3f} s", step=f"{slow.overlapped:.3f} s", seen=seen,
        rows=len(rows), slow=slow.name, needed=f"{slow.communication:.3f} s",
    ), WIDTH)


def why(options: argparse.Namespace) -> int:
    """Print where a number comes from."""
    from nvlearn import provenance

    sys.stdout.write("\n".join(provenance.why(" ".join(options.text))) + "\n")
    return 0


def read(options: argparse.Namespace) -> int:
    """Explain the printouts in a file or in what is piped in."""
    from nvlearn import field

    with sys.stdin.buffer if options.file == "-" else open(options.file, "rb") as source:
        lines = (line.decode("utf-8", "replace") for line in source)
        documents = field.read(lines, options.gpu)
    if options.plot:
        from nvlearn import figures

        figures.reading(documents[0]).save(options.plot)
    if options.json:
        told = json.dumps({"documents": [each.as_json() for each in documents]}, indent=1)
    else:
        told = "\n\n".join(each.in_words() for each in documents)
    sys.stdout.write(told + "\n")
    only_strange = all(isinstance(each, field.Unsupported) for each in documents)
    return WRONG_INPUT if only_strange else 0


def measure(options: argparse.Namespace) -> int:
    """Run a real all-reduce on this machine; keep its log, and explain it."""
    from datetime import datetime

    from nvlearn import field, measure

    plan = measure.Plan(options.least, options.most, options.repeat, options.warmup)
    target = Path(options.save or f"nvlearn-measure-{datetime.now():%Y%m%d-%H%M%S}.txt")
    shown = None if options.json else sys.stdout
    done = measure.run(options.engine, options.ranks, plan, target, shown)
    if options.json:
        documents = field.read(target.read_text(encoding="utf-8"))
        told = json.dumps({"documents": [each.as_json() for each in documents]}, indent=1)
    else:
        told = words("measure.kept", file=target, done=done, of=len(plan.sizes))
    sys.stdout.write(told + "\n")
    return 0 if done == len(plan.sizes) else INTERRUPTED


def lab(options: argparse.Namespace) -> int:
    """Open the course in JupyterLab."""
    from importlib.util import find_spec

    folder = course_folder(options.folder)
    if find_spec("jupyterlab") is None:
        raise FileNotFoundError(words("cli.no_jupyterlab"))
    sys.stdout.write(words("cli.opening", folder=folder) + "\n")
    sys.stdout.flush()
    return start(lab_command(folder, options.no_browser))


def course_folder(asked: str | None) -> Path:
    """Return the folder to open: the one asked for, or the lessons of this checkout."""
    if asked is not None:
        if not asked.strip() or not Path(asked).is_dir():
            raise FileNotFoundError(words("cli.no_folder", folder=repr(asked)))
        return Path(asked).resolve()
    own = Path(__file__).resolve().parent.parent / "notebooks"
    if not any(own.glob("*.ipynb")):
        raise FileNotFoundError(words("cli.no_lessons"))
    return own


def lab_command(folder: Path, no_browser: bool) -> list[str]:
    """Return the command that opens the first lesson of a folder."""
    from urllib.parse import quote

    made = [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={folder}"]
    lessons = sorted(path.name for path in folder.glob("[0-9][0-9]_*.ipynb"))
    if lessons:
        made.append(f"--LabApp.default_url=/lab/tree/{quote(lessons[0])}")
    if getattr(os, "geteuid", lambda: 1)() == 0:  # in a container root is the usual user
        made.append("--allow-root")
    return [*made, "--no-browser"] if no_browser else made


def start(made: list[str]) -> int:
    """Become the command; on Windows, where that is not possible, wait for it."""
    if os.name == "posix":
        os.execv(made[0], made)
    import subprocess

    with subprocess.Popen(made) as running:
        while True:
            try:
                return running.wait()
            except KeyboardInterrupt:  # the server has got it too, and asks or stops
                continue


if __name__ == "__main__":
    sys.exit(main())
