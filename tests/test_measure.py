"""Measuring: real processes add real arrays, and what they print is read back."""

import errno
import io
import signal
import subprocess
import sys
import tempfile
import time

import pytest

from nvlearn import cli, field, measure
from nvlearn.measure import Plan

mpi = pytest.mark.skipif(sys.platform == "win32", reason="PyPI has no MPI for Windows")
SHORT = ["--to", "64KiB", "--repeat", "3", "--warmup", "1"]


class Alone:
    """An engine of one process that claims to be two of the same kind."""

    rank, ranks, name, device = 0, 2, "two of a kind", "CPU"

    def __init__(self, error=0.0):
        self.error, self.calls = error, 0

    def place(self, values):
        return values

    fetch = place

    def all_reduce(self, buffer):
        buffer *= 2
        buffer += 1 + self.error  # as if the other rank had brought 1 more
        self.calls += 1

    def meet(self):
        pass

    def gather(self, value):
        return [value, value]


def cells(text):
    return [line.split() for line in text.splitlines() if line.strip()[:1].isdecimal()]


def measured(arguments, target):
    """Run the command and return its code and the one document that its log holds."""
    code = cli.main(["measure", *arguments, "--save", str(target)])
    (document,) = field.read(target.read_text(encoding="utf-8"))
    return code, document.as_json()


def test_sizes_double_and_are_whole_elements():
    assert Plan(8, 100).sizes == [8, 16, 32, 64]
    assert Plan(6, 30).sizes == [4, 12, 24]


def test_a_right_sum_is_called_right_and_each_call_counted():
    engine = Alone()
    samples = list(measure.measure(engine, Plan(8, 64, repeat=4, warmup=2)))
    assert [size for size, _, _ in samples] == [8, 16, 32, 64]
    assert [wrong for *_, wrong in samples] == [0] * 4
    assert engine.calls == 4 * (1 + 4 + 2)


def test_wrong_values_are_counted_and_the_log_says_so():
    text = "\n".join(measure.report(Alone(error=1.0), Plan(8, 32, 2, 0)))
    (document,) = field.read(text)
    assert document.as_json()["wrong"] == 2 * (2 + 4 + 8)
    assert [f.severity for f in document.findings].count("fault") == 1
    assert "FAILED" in text


def test_the_log_carries_bandwidths_of_the_time_printed():
    text = "\n".join(measure.report(Alone(), Plan(1 << 20, 1 << 22, 3, 1)))
    for size, count, *_, microseconds, algbw, busbw, wrong in cells(text):
        assert int(count) * 4 == int(size)
        assert float(algbw) == pytest.approx(int(size) / float(microseconds) / 1e3, abs=2e-3)
        assert (busbw, wrong) == (algbw, "0")  # the factor of two ranks is 1
    (document,) = field.read(text)
    read = document.as_json()
    assert read["avg_busbw_reported"] == pytest.approx(read["avg_busbw_computed"], abs=1e-3)


@mpi
def test_two_processes_under_mpi_measure_what_is_read_back(tmp_path, capsys):
    target = tmp_path / "log of two.txt"
    code, document = measured(SHORT, target)
    assert code == 0
    assert (document["collective"], document["ranks"], document["nodes"]) == ("all_reduce", 2, 1)
    assert (document["rows"], document["wrong"], document["dtype"]) == (14, 0, "float")
    assert document["factor"] == 1.0
    out = capsys.readouterr().out
    assert target.read_text() in out
    assert out.endswith(f"14 of 14 sizes measured. The log is in {target}; "
                        f"'nvlearn read {target}' explains it.\n")
    times = [float(row[5]) for row in cells(target.read_text())]
    assert all(0 < t < 1e6 for t in times)


def test_progress_is_shown_on_a_terminal_and_nowhere_else(monkeypatch):
    shown = io.StringIO()
    monkeypatch.setattr(sys, "stderr", shown)
    measure.progress(1, 2)
    assert shown.getvalue() == ""
    shown.isatty = lambda: True
    measure.progress(1, 2)
    measure.progress(2, 2)
    assert shown.getvalue() == f"[{'#' * 15:30}] 1/2\r[{'#' * 30}] 2/2\n"


@mpi
def test_three_processes_have_the_factor_of_three(tmp_path):
    _, document = measured(["--ranks", "3", *SHORT], tmp_path / "log")
    assert (document["ranks"], document["wrong"]) == (3, 0)
    assert document["factor"] == pytest.approx(4 / 3, abs=1e-4)


@mpi
def test_json_is_what_read_gives(tmp_path, capsys):
    target = tmp_path / "log"
    assert cli.main(["measure", *SHORT, "--save", str(target), "--json"]) == 0
    measured_json = capsys.readouterr().out
    assert cli.main(["read", str(target), "--json"]) == 0
    assert measured_json == capsys.readouterr().out


@mpi
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_ends_all_processes_and_keeps_what_was_measured(how, tmp_path):
    target = tmp_path / "log"
    made = [sys.executable, "-m", "nvlearn", "measure", "--to", "16GiB", "--repeat", "1000"]
    with subprocess.Popen(
            [*made, "--save", str(target)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as running:
        patience = time.monotonic() + 60
        while not (target.exists() and len(cells(target.read_text())) > 3):
            assert time.monotonic() < patience
            assert running.poll() is None
            time.sleep(0.05)
        running.send_signal(how)
        out, said = running.communicate(timeout=30)
    assert (running.returncode, said) == (130, "")
    rows = len(cells(target.read_text()))
    assert f"{rows} of 32 sizes measured" in out
    (document,) = field.read(target.read_text())
    assert document.as_json()["rows"] == rows
    assert document.as_json()["avg_busbw_reported"] is not None
    pids = [line.split()[4] for line in target.read_text().splitlines() if "Pid" in line]
    alive = subprocess.run(["ps", "-o", "stat=", "-p", ",".join(pids)], capture_output=True,
                           text=True, check=False).stdout.split()
    assert [state for state in alive if not state.startswith("Z")] == []


def test_a_file_that_exists_is_not_touched(tmp_path, capsys):
    target = tmp_path / "log"
    target.write_text("mine")
    assert cli.main(["measure", "--save", str(target)]) == 2
    assert target.read_text() == "mine"
    assert "stays as it is" in capsys.readouterr().err


def test_a_full_disk_is_told_with_the_file_and_leaves_no_empty_log(tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(measure, "command", lambda *_: [])
    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    with pytest.raises(OSError, match="No space left") as caught:
        measure.run("mpi", 2, Plan(8, 64), tmp_path / "log", None)
    assert caught.value.filename == str(tmp_path / "log")
    assert not (tmp_path / "log").exists()


def test_processes_that_fail_are_told_with_their_last_words(tmp_path, monkeypatch):
    script = "import sys; print('# begun'); sys.exit('no fabric here')"
    monkeypatch.setattr(measure, "command", lambda *_: [sys.executable, "-c", script])
    shown = io.StringIO()
    with pytest.raises(ValueError, match=r"code 1 after 0 sizes.*no fabric here") as caught:
        measure.run("mpi", 2, Plan(8, 64), tmp_path / "log", shown)
    assert "\n" not in str(caught.value)
    assert shown.getvalue() == (tmp_path / "log").read_text() == "# begun\n"


@pytest.mark.parametrize(("arguments", "said"), [
    (["--ranks", "1"], "1 processes were asked for"),
    (["--ranks", "1000000"], "are the most (4 for each core"),
    (["--from", "2"], "at least 4"),
    (["--from", "1GB", "--to", "1MB"], "not below it"),
    (["--repeat", "0"], "0 timed calls"),
])
def test_odd_wishes_get_one_sentence(arguments, said, tmp_path, capsys):
    assert cli.main(["measure", *arguments, "--save", str(tmp_path / "log")]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert told.count("\n") == 1
    assert not (tmp_path / "log").exists()


@pytest.mark.parametrize(("engine", "platform", "said"), [
    (None, "linux", r"pip install .nvlearn\[measure\]"), ("mpi", "linux", "mpi4py is not"),
    (None, "win32", "PyPI has no MPI for Windows"), ("torch", "win32", "PyTorch is not installed"),
])
def test_a_missing_engine_is_named(engine, platform, said, monkeypatch):
    monkeypatch.setattr(measure, "find_spec", lambda _: None)
    monkeypatch.setattr(measure.shutil, "which", lambda _: None)
    monkeypatch.setattr(sys, "platform", platform)
    with pytest.raises(ValueError, match=said):
        measure.choose(engine)


def test_mpi_without_a_launcher_is_told(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr(measure.shutil, "which", lambda *_, **__: None)
    with pytest.raises(ValueError, match="no mpiexec"):
        measure.command("mpi", 2, Plan())


def test_torchrun_gets_the_plan_and_the_ranks():
    made = measure.command("torch", 4, Plan(8, 64, 3, 1))
    assert made[1:] == [
        "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=4",
        "-m", "nvlearn.measure", "torch", "--least=8", "--most=64", "--repeat=3", "--warmup=1"]


@pytest.mark.torch
def test_two_processes_of_torch_with_gloo(tmp_path):
    """What only GPUs can show (NCCL, one GPU for each process) is not run by the tests."""
    code, document = measured(["--engine", "torch", *SHORT], tmp_path / "log")
    assert (code, document["ranks"], document["rows"], document["wrong"]) == (0, 2, 14, 0)
    assert "gloo" in (tmp_path / "log").read_text()


@pytest.mark.torch
def test_the_engine_of_cpus_is_mpi_unless_asked_for_otherwise():
    assert measure.choose(None) == "mpi"
    assert measure.choose("torch") == "torch"
