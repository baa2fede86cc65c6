"""The command line: bytes that come out, and one clear sentence for every wrong input."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import types
from pathlib import Path

import pytest
from field_cases import HERE, numbered

from nvlearn import cli, data
from nvlearn.quiz import bank

AS_PRINTED = "093bda21863d6a1473b77078b55e938bbb34aeffe5ee59d4750c2e1f81eb995b"
COMMAND = [sys.executable, "-m", "nvlearn"]


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*COMMAND, *arguments], capture_output=True, timeout=60,
        env={**os.environ, **environment}, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("environment", [
    {}, {"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    {"PYTHONIOENCODING": "ascii"}, {"PYTHONIOENCODING": "cp1252"},
])  # fmt: skip
def test_as_printed_is_the_sources_table_byte_for_byte(environment: dict[str, str]) -> None:
    done = run("demo", "--as-printed", **environment)
    assert hashlib.sha256(done.stdout).hexdigest() == AS_PRINTED
    assert (done.returncode, done.stderr) == (0, b"")


def the_sources_demo(parameters: float, width: float, gpus: int, compute: float) -> str:
    """Return what the source document's program would print for other values."""
    lines = [f"{'互连方式':<18}{'通信耗时':>10}{'迭代耗时':>10}{'通信占比':>10}"]
    rates = (("PCIe Gen5 x16", 64e9), ("NVLink 3.0(A100)", 600e9), ("NVLink 4.0(H100)", 900e9))
    for name, rate in rates:
        talk = 2 * (gpus - 1) * (parameters * width / gpus) / rate
        total = max(compute, talk)
        lines.append(f"{name:<18}{talk:9.3f}s{total:9.3f}s{talk / total:9.1%}")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(("parameters", "width", "gpus", "compute"), [
    ("7e9", 2, 8, 0.8), ("70B", 4, 16, 0.25), ("350M", 2, 2, 3), ("1T", 1, 72, 10),
])  # fmt: skip
def test_as_printed_is_computed(
    parameters: str, width: float, gpus: int, compute: float, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--parameters", parameters, "--bytes-per-gradient", str(width)]
    given += ["--gpus", str(gpus), "--compute", f"{compute} s"]
    assert cli.main(["demo", "--as-printed", *given]) == 0
    wanted = the_sources_demo(cli.count(parameters), width, gpus, compute)
    assert capsys.readouterr().out == wanted


def test_the_repaired_demo_is_aligned_and_says_what_to_see(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.main(["demo"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "one way, GB/s" in lines[0]
    assert len({len(line) for line in lines[:9]}) == 1
    row = lines[4].split("  ")
    assert row[0] == "NVLink 4.0 (H100)"
    assert [part.strip() for part in row if part][1:] == [
        "450.00", "0.054", "0.800", "0.854", "6.4%",
    ]  # fmt: skip
    assert lines[10].startswith("What to see")
    assert max(map(len, lines)) <= 100
    assert "0.766 s" in lines[-1]
    assert cli.main(["demo", "--compute", "50 ms"]) == 0
    assert "7 of 8 links" in capsys.readouterr().out


@pytest.mark.parametrize(("text", "value"), [
    ("7e9", 7e9), ("7B", 7e9), ("7 b", 7e9), ("350M", 350e6), ("1.5T", 1.5e12),
    ("2k", 2e3), ("12", 12),
])  # fmt: skip
def test_counts_of_parameters(text: str, value: float) -> None:
    assert cli.count(text) == value


@pytest.mark.parametrize("arguments", [
    [], ["fly"], ["demo", "--gpus", "0"], ["demo", "--gpus", "1"], ["demo", "--compute", "1,000"],
    ["demo", "--parameters", "1e308"], ["demo", "--bytes-per-gradient", "1e-320"], ["lab", ""],
    ["why", ""], ["why", "-5"], ["demo", "--gpus", "8.5"], ["demo", "--compute", "0.8"],
    ["demo", "--gpus", "-1"], ["demo", "--gpus"], ["demo", "--parameters", "7X"],
    ["demo", "--parameters", "0"], ["demo", "--parameters", "nan"], ["demo", "--parameters", "inf"],
    ["demo", "--parameters", ""], ["demo", "--parameters", "1e999"],
    ["demo", "--bytes-per-gradient", "two"], ["demo", "--compute", "0.8 GB"],
    ["demo", "--compute", "0 s"], ["demo", "--compute", "0"], ["demo", "--compute", "soon"],
    ["demo", "--compute", "-1 s"], ["demo", "--compute", ""], ["demo", "--as"], ["demo", "extra"],
    ["why"], ["why", "no such thing"], ["lab", "no/such/folder"], ["--nonsense"],
])  # fmt: skip
def test_a_wrong_input_gets_one_sentence_and_exit_code_2(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code = cli.main(arguments)
    except SystemExit as leave:
        code = int(leave.code or 0)
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert err.startswith("nvlearn")
    assert err.count("\n") == 1
    assert err.endswith(".\n")


@pytest.mark.parametrize("command", [[], ["lab"], ["demo"], ["why"]])
def test_help_has_an_example(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as leave:
        cli.main([*command, "--help"])
    assert leave.value.code == 0
    assert f"nvlearn {' '.join(command)}".strip() in capsys.readouterr().out.split("example:")[-1]


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as leave:
        cli.main(["--version"])
    assert leave.value.code == 0
    assert capsys.readouterr().out.startswith("nvlearn ")


def test_why_prints_the_chain(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["why", "900", "GB/s"]) == 0
    assert "both ways" in capsys.readouterr().out


def test_a_reader_that_leaves_early_is_no_error() -> None:
    with subprocess.Popen(
        [*COMMAND, "demo"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as running:
        assert running.stdout
        assert running.stderr
        running.stdout.close()
        assert running.stderr.read() == b""
    assert running.returncode == cli.BROKEN_PIPE


def test_an_interrupt_ends_quietly(monkeypatch: pytest.MonkeyPatch) -> None:
    def demo() -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "demo", demo)
    assert cli.main(["demo"]) == cli.INTERRUPTED == 128 + signal.SIGINT


def test_lab_opens_the_first_lesson_of_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "02_b c.ipynb").touch()
    (tmp_path / "11_z.ipynb").touch()
    (tmp_path / "notes.ipynb").touch()
    started: list[list[str]] = []
    fake = types.SimpleNamespace(main=started.append)
    monkeypatch.setitem(sys.modules, "jupyterlab.labapp", fake)
    assert cli.main(["lab", "--no-browser", str(tmp_path)]) == 0
    assert [[part for part in made if part != "--allow-root"] for made in started] == [[
        f"--ServerApp.root_dir={tmp_path}", "--no-browser",
        "--LabApp.default_url=/lab/tree/02_b%20c.ipynb",
    ]]  # fmt: skip
    assert str(tmp_path) in capsys.readouterr().out
    assert not any("token" in part for part in started[0])


def test_lab_without_lessons_or_without_jupyterlab_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(data, "__file__", str(tmp_path / "site" / "nvlearn" / "data" / "it.py"))
    assert cli.main(["lab"]) == 2
    assert "There is no folder notebooks of the course" in capsys.readouterr().err
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "jupyterlab.labapp", None)  # as if it were not installed
    assert cli.main(["lab", str(tmp_path)]) == 2
    assert "holds no lessons" in capsys.readouterr().err
    (tmp_path / "01_a.ipynb").touch()
    assert cli.main(["lab", str(tmp_path)]) == 2
    assert "pip install jupyterlab" in capsys.readouterr().err


def test_lab_copies_the_packaged_lessons_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package, older = tmp_path / "site" / "nvlearn", tmp_path / "nvlearn-course-0.0.1"
    for name in ("notebooks/01_a.ipynb", "quizzes/schema.json"):
        (package / "course" / name).parent.mkdir(parents=True)
        (package / "course" / name).write_text("as packed", encoding="utf-8")
    older.mkdir()
    for path in (package / "course", *(package / "course").rglob("*")):
        path.chmod(path.stat().st_mode & ~0o222)  # as in an installation shared by many
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(data, "__file__", str(package / "data" / "__init__.py"))
    made = cli.lessons_folder(package)
    assert made == Path(f"nvlearn-course-{cli.__version__}", "notebooks")
    assert all(path.stat().st_mode & stat.S_IWUSR for path in (made, *made.rglob("*")))
    (made / "01_a.ipynb").write_text("as the learner left it", encoding="utf-8")
    assert cli.lessons_folder(package) == made
    assert (made / "01_a.ipynb").read_text(encoding="utf-8") == "as the learner left it"
    assert {path.name for path in tmp_path.iterdir()} == {"site", older.name, made.parts[0]}
    monkeypatch.chdir(made)  # in the copy itself no second one is made
    assert cli.lessons_folder(package) == Path.cwd()


def test_lessons_that_cannot_be_copied_are_told_in_one_sentence_and_leave_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "site" / "nvlearn"
    for name in ("notebooks", "quizzes"):
        (package / "course" / name).mkdir(parents=True)
    (package / "course" / "quizzes" / "schema.json").touch()

    def full(_source: Path, target: str) -> None:
        Path(target).mkdir()
        raise shutil.Error([("a", "b", "No space left on device"), ("c", "d", "the same again")])

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(data, "__file__", str(package / "data" / "__init__.py"))
    monkeypatch.setattr(shutil, "copytree", full)
    with pytest.raises(OSError, match=r"nvlearn-course-.*: No space left on device; start"):
        cli.lessons_folder(package)
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


def test_the_demo_needs_no_heavy_library() -> None:
    code = (
        "import sys; from nvlearn import cli; cli.main(['demo'])\n"
        "heavy = {'networkx', 'yaml', 'jsonschema', 'matplotlib', 'ipywidgets', 'IPython'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


def test_closed_streams_and_the_module_form() -> None:
    base = [sys.executable, "-m", "nvlearn"]
    for line in (["demo"], ["why", "nothing of the kind"]):
        quoted = " ".join(f'"{part}"' for part in [*base, *line])
        done = subprocess.run(["bash", "-c", f"{quoted} >&- 2>&-"], check=False)
        assert done.returncode == (0 if line == ["demo"] else 2)
    done = subprocess.run([*base, "--version"], check=True, capture_output=True, text=True)
    assert done.stdout.startswith("nvlearn ")


def cases(kind: str, number: str) -> str:
    return str(numbered(kind, number))


def test_read_explains_a_printout_and_answers_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    file = cases("topo", "47")
    assert cli.main(["read", file, "--gpu", "RTX 3090"]) == 0
    assert "Warning" in capsys.readouterr().out
    assert cli.main(["read", file, "--json"]) == 0
    (document,) = json.loads(capsys.readouterr().out)["documents"]
    assert document["kind"] == "topo"
    assert document["nvlinks_per_gpu"] == [3, 3]


def test_read_takes_what_is_piped_in() -> None:
    text = numbered("topo", "22").read_bytes()
    line = [sys.executable, "-m", "nvlearn", "read", "-"]
    done = subprocess.run(line, input=text, capture_output=True, check=True)
    assert b"two by two, NV4 in a pair" in done.stdout


@pytest.mark.parametrize("wrong", [
    ["read"], ["read", "no such file"], ["read", str(HERE)], ["read", __file__],
    ["read", str(HERE / "SOURCES.md"), "--gpu", "RTX 9999"],
    ["read", cases("topo", "34")],
])  # fmt: skip
def test_read_refuses_in_one_sentence(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with contextlib.suppress(SystemExit):
        assert cli.main(wrong) == 2
    assert "Traceback" not in "".join(capsys.readouterr())


@pytest.mark.parametrize(("kind", "number", "shown"), [
    ("topo", "22", "2 x GPU"), ("nccl", "30", "Marks are measured"),
])  # fmt: skip
def test_read_draws_a_map_or_a_curve(
    kind: str, number: str, shown: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["read", cases(kind, number), "--plot", str(tmp_path / "drawn.svg")]) == 0
    assert shown in (tmp_path / "drawn.svg").read_text(encoding="utf-8")
    assert capsys.readouterr().out


def test_read_draws_the_first_printout_that_can_be_drawn(tmp_path: Path) -> None:
    both = tmp_path / "both.txt"
    files = cases("nvlink-status", "06"), cases("topo", "22")
    both.write_text("\n".join(Path(file).read_text(encoding="utf-8") for file in files), "utf-8")
    for file, drawn in ((both, "one.svg"), (files[1], "other.svg")):
        assert cli.main(["read", str(file), "--plot", str(tmp_path / drawn)]) == 0
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "other.svg").read_bytes()


@pytest.mark.parametrize(("kind", "number", "target", "said"), [
    ("nvlink-status", "06", "drawn.svg", "A map is drawn of"),
    ("topo", "22", "no/such/folder/drawn.svg", "drawn.svg"),
    ("topo", "22", "", "does not end in .svg"),
])  # fmt: skip
def test_read_says_why_it_draws_nothing(
    kind: str,
    number: str,
    target: str,
    said: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.main(["read", cases(kind, number), "--plot", str(tmp_path / target)]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert said in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("what", ["moodle", "progress"])
def test_a_file_that_a_command_does_not_take_is_refused(
    what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["quiz", what, "own.yaml"]) == 2
    assert "takes no file" in capsys.readouterr().err


def test_a_closed_input_is_an_empty_one() -> None:
    line = f"{shlex.quote(sys.executable)} -m nvlearn read - <&-"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)


@pytest.mark.parametrize("command", ["moodle", "grade"])
def test_a_bank_of_ones_own_that_would_fail_is_refused_in_one_sentence(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (bank.folder() / "02.yaml").read_text(encoding="utf-8")
    own, folder = tmp_path / "own.yaml", [str(tmp_path)] if command == "grade" else []
    own.write_text(text.replace("args: {", "args: {nonsense: 1, ", 1), encoding="utf-8")
    assert cli.main(["quiz", command, *folder, "--bank", str(own)]) == 2
    said = capsys.readouterr().err
    assert said.startswith("nvlearn: ")
    assert said.count("\n") == 1
