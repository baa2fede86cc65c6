"""The command line: `nvlearn lab`, `demo`, `why`, `read`, `measure`, `quiz`."""

import argparse
import io
import json as encoder
import math
import os
import shutil
import signal
import stat
import sys
import tempfile
import textwrap
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NoReturn

from nvlearn import __version__
from nvlearn.data import course_folder, read_table
from nvlearn.i18n import words
from nvlearn.units import GB, parse_size, parse_time

WRONG_INPUT, INTERRUPTED, BROKEN_PIPE = 2, 130, 141
COUNTS = {"K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}


class Parser(argparse.ArgumentParser):
    """An argument parser that tells what is wrong in one sentence."""

    def error(self, message: str) -> NoReturn:
        """Print the sentence on stderr and leave with exit code 2."""
        text = message.rstrip(".")
        self.exit(WRONG_INPUT, words("cli.usage_error", prog=self.prog, message=text) + "\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    plain_streams()
    try:
        options = vars(parser().parse_args(arguments))
        told, code = options.pop("run")(**options)
        sys.stdout.write(told + "\n" * bool(told))
        sys.stdout.flush()
    except BrokenPipeError:
        # Python flushes once more at exit; give it somewhere to write
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except KeyboardInterrupt:
        return INTERRUPTED
    except (ValueError, LookupError, OSError) as error:
        told = error.args[0] if isinstance(error, KeyError) and error.args else error
        if isinstance(error, OSError) and error.filename is not None:
            told = words("cli.file", file=error.filename, reason=error.strerror)
        sys.stderr.write(f"nvlearn: {told}\n")
        return WRONG_INPUT
    return int(code)


def plain_streams() -> None:
    """Make the output UTF-8 with newlines as they are, on every platform and in every pipe."""
    sys.stdin = sys.stdin or io.TextIOWrapper(io.BytesIO())  # closed by the caller
    for name, newline in (("stdout", "\n"), ("stderr", None)):
        stream = getattr(sys, name)
        if stream is None:  # closed by the caller, as in `nvlearn demo >&-`
            setattr(sys, name, io.StringIO())
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace", newline=newline)


# ---- options -------------------------------------------------------------------------------------


def within(kind: str, read: Callable[[str], float], least: float = 0,
           most: float = math.inf) -> Callable[[str], float]:
    """Return what reads a number of a kind, or says what was expected."""

    def reader(text: str) -> float:
        try:
            value = read(text)
        except ValueError:
            value = math.nan
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(words(f"cli.expected.{kind}", text=repr(text)))
        return value

    return reader


def count(text: str) -> float:
    """Read a count of parameters: 7e9, 7B, 350M."""
    number, suffix = text.strip()[:-1], text.strip()[-1:].upper()
    return float(number) * COUNTS[suffix] if suffix in COUNTS else float(text)


def size(text: str) -> float:
    """Read a size in bytes: 8, 64 KiB, 1GB."""
    return int(text) if text.isdecimal() else round(parse_size(text))


READERS = {
    "parameters": within("parameters", count, 1, 1e15), "gpus": within("gpus", int, 2, 1e6),
    "bytes_per_gradient": within("bytes_per_gradient", float, 0.1, 64), "whole": int,
    "compute": within("compute", parse_time, 1e-6, 1e6), "size": within("size", size)}


def parser() -> Parser:
    """Return the parser of all commands; each carries the function that runs it."""
    top = Parser("nvlearn", description=words("cli.help.nvlearn"), allow_abbrev=False)
    version = f"nvlearn {__version__}"
    top.add_argument("--version", action="version", version=version, help=words("cli.help.version"))
    commands = top.add_subparsers(metavar="COMMAND", required=True)
    for run in (lab, demo, why, read, measure, quiz):
        told = words(f"cli.help.{run.__name__}")
        made = commands.add_parser(
            run.__name__, help=told, description=told, epilog=words(f"cli.example.{run.__name__}"),
            formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False,
            argument_default=argparse.SUPPRESS)
        made.set_defaults(run=run)
        for name, told in read_table("options")[run.__name__].items():
            how = {"action": "store_true"} if told == "flag" else dict(told)
            key = how.get("dest", name.strip("-").replace("-", "_"))
            how |= {"type": READERS[how["type"]]} if "type" in how else {}
            made.add_argument(name, **how, help=words(f"cli.help.{key}"))
    return top


# ---- commands: each returns what is printed, and the exit code -----------------------------------


def demo(as_printed: bool = False, **given: Any) -> tuple[str, int]:
    """Return the demo: repaired, or as the source document prints it."""
    from nvlearn import training

    rows = training.demo_rows(as_printed=as_printed, **given)
    if as_printed:
        return "\n".join(printed_table(rows)), 0
    found = training.findings(rows)
    seen = words("demo.seen" if found["visible"] else "demo.hidden", **found)
    return "\n".join([*repaired_table(rows), "", textwrap.fill(seen, 88)]), 0


def printed_table(rows: Sequence[Any]) -> list[str]:
    """Return the source document's table, padded as it pads."""
    name, *heads = words("demo.printed.header").split("|")
    return [f"{name:<18}" + "".join(f"{head:>10}" for head in heads)] + [
        f"{row.name:<18}{row.communication:9.3f}s{row.overlapped:9.3f}s"
        f"{row.communication / row.overlapped:9.1%}" for row in rows]


def repaired_table(rows: Sequence[Any]) -> list[str]:
    """Return the repaired table with aligned columns."""
    cells = [words("demo.header").split("|")]
    cells += [[row.name, f"{row.rate / GB:.2f}", f"{row.communication:.3f}",
               f"{row.overlapped:.3f}", f"{row.in_turn:.3f}", f"{row.exposed:.1%}"] for row in rows]
    first, *widths = (max(map(len, column)) for column in zip(*cells, strict=True))
    return ["  ".join([name.ljust(first), *map(str.rjust, numbers, widths)])
            for name, *numbers in cells]


def why(text: list[str]) -> tuple[str, int]:
    """Tell where a number comes from."""
    from nvlearn import provenance

    return "\n".join(provenance.why(" ".join(text))), 0


def read(file: str, gpu: str | None = None, plot: str = "", json: bool = False) -> tuple[str, int]:
    """Explain the printouts in a file or in what is piped in; draw the first that can be drawn."""
    from nvlearn import field

    with sys.stdin.buffer if file == "-" else open(file, "rb") as source:
        lines = iter(partial(source.readline, 1 << 24), b"")  # a line may be as long as a disk
        documents = field.read((line.decode("utf-8", "replace") for line in lines), gpu)
    if plot:
        from nvlearn.figures.reading import drawable, reading

        if not (drawn := [*filter(drawable, documents)]):
            raise ValueError(words("reading.none_but"))
        reading(drawn[0]).save(plot)
    code = WRONG_INPUT * all(isinstance(each, field.Unsupported) for each in documents)
    if json:
        return encoder.dumps({"documents": [each.as_json() for each in documents]}, indent=1), code
    return "\n\n".join(each.in_words() for each in documents), code


def measure(engine: str | None = None, ranks: int = 2, save: str = "", json: bool = False,
            **asked: int) -> tuple[str, int]:
    """Run a real all-reduce on this machine; keep its log, and explain it."""
    from datetime import datetime

    from nvlearn import measure

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends the processes, as Ctrl-C does
    plan = measure.Plan(**asked)
    of = len(plan.sizes)  # refuses a wrong plan before anything is started
    target = Path(save or f"nvlearn-measure-{datetime.now():%Y%m%d-%H%M%S}.txt")
    done = measure.run(engine, ranks, plan, target, None if json else sys.stdout)
    told = words("measure.kept", file=target, done=done, of=of)
    if json:
        told, _ = read(str(target), json=True)
    return told, 0 if done == of else INTERRUPTED


def quiz(what: str, paths: Sequence[str] = (), bank: str = "",
         seed: int | None = None) -> tuple[str, int]:
    """Show or move the learner's results, grade a class, check or export questions."""
    from nvlearn.quiz import bank as questions
    from nvlearn.quiz import progress, session

    files = [Path(path) for path in paths]
    if what != "check" and len(files) != (what in ("export", "load", "grade")):
        raise ValueError(words(f"cli.quiz_wants.{what}"))
    faults: list[str] = []
    if what == "progress":
        told = str(progress())
    elif what in ("export", "load"):
        move = session.save if what == "export" else session.load
        told = words(f"cli.quiz_done.{what}", count=move(files[0]), file=files[0])
    elif what == "check":
        chosen = files or sorted(questions.folder().glob("[01]*.yaml"))
        counts, found = zip(*map(questions.check, chosen), strict=True)
        told, faults = words("cli.quiz_checked", count=sum(counts)), [*chain(*found)]
    else:
        own = questions.read(Path(bank)) if bank else list(questions.everything())
        if what == "moodle":
            told = session.moodle(own, seed or 0)
        else:
            told, faults = session.grade_folder(files[0], own, seed)
    sys.stderr.write("".join(f"{fault}\n" for fault in faults))
    return told.rstrip("\n"), WRONG_INPUT if faults else 0


def lab(folder: str | None = None, no_browser: bool = False) -> tuple[str, int]:
    """Open the course in JupyterLab: the first lesson of a folder, or of the course."""
    from urllib.parse import quote

    if folder is not None and not (folder.strip() and Path(folder).is_dir()):
        raise FileNotFoundError(words("cli.no_folder", folder=repr(folder)))
    root = Path(folder or lessons_folder(Path(__file__).parent)).resolve()
    lessons = sorted(path.name for path in root.glob("[0-9][0-9]_*.ipynb"))
    if not lessons:
        raise FileNotFoundError(words("cli.no_lessons", folder=root))
    try:
        from jupyterlab.labapp import main as start
    except ModuleNotFoundError:
        raise FileNotFoundError(words("cli.no_jupyterlab")) from None
    made = [f"--ServerApp.root_dir={root}", *["--no-browser"] * no_browser]
    made += [f"--LabApp.default_url=/lab/tree/{quote(lessons[0])}"]
    made += ["--allow-root"] * (getattr(os, "geteuid", lambda: 1)() == 0)  # as in a container
    print(words("cli.opening", folder=root), flush=True)
    start(made)
    return "", 0


def lessons_folder(package: Path) -> Path:
    """Return the lessons of this folder or checkout, or the learner's copy of the packaged ones."""
    if (found := course_folder("notebooks")).parent != package / "course":
        return found
    target = Path(f"nvlearn-course-{__version__}")
    if target.exists():  # a copy in which the learner works, or an older one, is not touched
        return target / "notebooks"
    try:
        with tempfile.TemporaryDirectory(prefix=".nvlearn-course-", dir=".") as half:
            made = Path(shutil.copytree(found.parent, f"{half}/course"))
            for path in (made, *made.rglob("*")):  # what was installed may be locked
                path.chmod(path.stat().st_mode | stat.S_IWUSR)
            made.rename(target)
    except OSError as error:  # shutil lists all files that could not be copied
        reason = error.args[0][0][2] if isinstance(error, shutil.Error) else error.strerror
        raise OSError(words("cli.not_copied", folder=target.absolute(), reason=reason)) from None
    print(words("cli.copied", folder=target))
    return target / "notebooks"
