"""The tables that the package reads: figures, words, legends, errata, exercises."""

import tomllib
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any


@cache
def read_table(name: str) -> dict[str, Any]:
    """Return a TOML table of this folder, such as "legends" or "catalog/gpus"."""
    return tomllib.loads(read_text(f"{name}.toml"))


def read_text(name: str) -> str:
    """Return a text of this folder, such as "published/tartan_dgx1_p100.csv"."""
    path = files("nvlearn").joinpath("data", *name.split("/"))
    return path.read_text(encoding="utf-8")


def small_file(path: Path) -> bytes:
    """Return the bytes of a file from elsewhere; ValueError if no honest one is as large."""
    with path.open("rb") as source:
        raw = source.read((1 << 24) + 1)
    if len(raw) > 1 << 24:
        raise ValueError(f"{path} is larger than 16 MB and was not read; hand in a smaller file.")
    return raw


def write_whole(path: Path, text: str, *ends: str) -> Path:
    """Write a text so that a full disk leaves what was there; refuse a name with another end."""
    if path.suffix.lower() not in ends:
        raise ValueError(f"{path} does not end in {' or '.join(ends)}; nothing was written.")
    half = path.with_name(f".{path.name}.part")
    try:
        half.write_text(text, encoding="utf-8", newline="\n")
        return half.replace(path)
    finally:
        half.unlink(missing_ok=True)


def course_folder(name: str) -> Path:
    """Return a folder of the course, such as "quizzes": that of the running notebook, else ours."""
    package = Path(__file__).resolve().parents[1]
    for base in (Path.cwd(), *Path.cwd().parents, package.parent, package / "course"):
        if (base / name).is_dir() and (base / "quizzes" / "schema.json").is_file():
            return base / name
    raise FileNotFoundError(f"There is no folder {name} of the course, neither above {Path.cwd()} "
                            "nor beside the package; open the course's own notebooks folder.")


def printout(id: str) -> str:
    """Return a printout that ships with the course, by its id in printouts.toml."""
    return read_text(f"printouts/{printout_row(id)['file']}")


def printout_row(id: str) -> dict[str, str]:
    """Return what printouts.toml says of a printout or of a mystery machine."""
    rows = {row["id"]: row for kind in read_table("printouts").values() for row in kind}
    if id not in rows:
        raise KeyError(f"There is no printout {id!r}; the ids are: {', '.join(rows)}.")
    return dict(rows[id])
