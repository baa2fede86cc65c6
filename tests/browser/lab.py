"""A JupyterLab of its own and a Chromium to look at it, for tests in a real browser."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import notebook_form as form
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

INSTALL = "On Debian or Ubuntu: apt-get install chromium. Elsewhere set CHROMIUM to its program."
PATIENCE = 60_000  # milliseconds
PROMPTS = "[...document.querySelectorAll('.jp-CodeCell .jp-InputArea-prompt')]"
# A cell that waits or runs shows a star; one that was not reached shows nothing.
FINISHED = f"() => {{ const said = {PROMPTS}.map(p => p.textContent);"
FINISHED += " return said.some(t => /\\d/.test(t)) && !said.some(t => t.includes('*')); }"
FAILED = (
    '[data-mime-type="application/vnd.jupyter.error"], '
    '[data-mime-type="application/vnd.jupyter.stderr"], .jp-RenderedText[data-mime-type*="error"]'
)


def chromium() -> str:
    """Return the path of this machine's Chromium, or say how to get one."""
    for name in (os.environ.get("CHROMIUM"), "chromium", "chromium-browser", "google-chrome"):
        if name and (found := shutil.which(name)):
            return found
    raise RuntimeError(f"The browser tests need Chromium, and none was found. {INSTALL}")


@contextlib.contextmanager
def browser() -> Iterator[Browser]:
    """Start Chromium without a window."""
    switches = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    path = chromium()
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=switches)
        try:
            yield running
        finally:
            running.close()


# --- the server -------------------------------------------------------------


@dataclass(frozen=True)
class Lab:
    """A running JupyterLab: its address, its token and the folder that it shows."""

    address: str
    token: str
    folder: Path

    def url(self, path: str) -> str:
        """Return an address for the browser, with the token in it."""
        return f"{self.address}/{path}?token={self.token}"

    def ask(self, path: str, method: str = "GET") -> Any:
        """Return what the Jupyter API answers."""
        headers = {"Authorization": f"token {self.token}"}
        request = urllib.request.Request(f"{self.address}/{path}", None, headers, method=method)
        with urllib.request.urlopen(request, timeout=10) as reply:
            return json.loads(reply.read() or b"null")


def free_port() -> int:
    """Return a port of this machine that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def own_environment(home: Path) -> dict[str, str]:
    """Return an environment in which JupyterLab keeps everything in one folder."""
    names = ("CONFIG", "DATA", "RUNTIME")
    own = {f"JUPYTER_{name}_DIR": str(home / name.lower()) for name in names}
    own |= {
        "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"),
    }
    news = home / "settings" / "@jupyterlab" / "apputils-extension"
    news.mkdir(parents=True)
    quiet = json.dumps({"fetchNews": "false", "checkForUpdates": False})
    (news / "notification.jupyterlab-settings").write_text(quiet, encoding="utf-8")
    return {**form.kernel_environment(home), **own}


@contextlib.contextmanager
def lab(folder: Path, home: Path) -> Iterator[Lab]:
    """Serve a folder with JupyterLab; everything that it writes goes to another one."""
    home.mkdir(parents=True, exist_ok=True)
    port, token = free_port(), secrets.token_hex(16)
    command = [
        *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"),
        *(f"--ServerApp.port={port}", "--ServerApp.port_retries=0", "--ServerApp.ip=127.0.0.1"),
        *(f"--IdentityProvider.token={token}", f"--ServerApp.root_dir={folder}"),
    ]
    served = Lab(f"http://127.0.0.1:{port}", token, folder)
    with running(command, own_environment(home), folder, home / "server.log") as process:
        wait_until_up(served, process, home / "server.log")
        yield served


@contextlib.contextmanager
def running(
    command: list[str], env: dict[str, str], cwd: Path, log: Path
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a server in the background, and end it and what it has started."""
    with log.open("wb") as out:
        process = subprocess.Popen(
            command,
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,  # a group of its own, for a shell does not pass signals on
        )
    try:
        yield process
    finally:
        end(process)


def end(process: subprocess.Popen[bytes]) -> None:
    """End a server and what it has started: first ask (it then ends its kernels), then force."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(20)
            return


def wait_until_up(
    served: Lab, process: subprocess.Popen[bytes], log: Path, seconds: float = PATIENCE / 1000
) -> None:
    """Wait until a server answers; if it has ended, show what it said."""
    last = time.monotonic() + seconds
    while time.monotonic() < last and process.poll() is None:
        with contextlib.suppress(OSError):
            served.ask("api/status")
            return
        time.sleep(0.2)
    said = log.read_text(encoding="utf-8", errors="replace")
    raise AssertionError(f"JupyterLab did not answer at {served.address}.\n{said[-4000:]}")


# --- what a learner does ------------------------------------------------------


def unrun_copy(path: Path, folder: Path) -> None:
    """Copy a lesson with its outputs, but with no cell marked as run."""
    notebook = form.read(path)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.execution_count = None
    form.write(folder / path.name, notebook)


def open_lesson(page: Page, served: Lab, name: str) -> None:
    """Open a lesson, and wait until its last cell is there and its kernel is ready."""
    page.goto(served.url(f"lab/tree/{name}") + "&reset", timeout=PATIENCE)  # no old tabs
    expect(page.locator(".jp-Notebook .jp-Cell").first).to_be_visible(timeout=PATIENCE)
    # Run All asks for a kernel if it comes before the kernel does.
    expect(page.locator("#jp-main-statusbar").get_by_text("| Idle")).to_be_visible(timeout=PATIENCE)
    wait_for_kernel(served, name)


def wait_for_kernel(served: Lab, name: str) -> None:
    """Wait until the kernel of a notebook is idle and a page is connected to it."""
    last = time.monotonic() + PATIENCE / 1000
    while time.monotonic() < last:
        for session in served.ask("api/sessions"):
            kernel = session["kernel"]
            ready = kernel["execution_state"] == "idle" and kernel["connections"]
            if session["path"] == name and ready:
                return
        time.sleep(0.1)
    raise AssertionError(f"The kernel of {name} was not ready in time.")


def close_kernels(served: Lab) -> None:
    """End the kernels of a server, so that each lesson meets a new one."""
    for session in served.ask("api/sessions"):
        served.ask(f"api/sessions/{session['id']}", "DELETE")


def run_all(page: Page) -> None:
    """Choose Run All Cells from the menu and wait until the last cell has run or one has failed."""
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    page.wait_for_function(FINISHED, timeout=PATIENCE)


def failures(page: Page) -> list[str]:
    """Return what the outputs show of errors and warnings, and the cells that did not run."""
    shown = [text.strip() for text in page.locator(FAILED).all_inner_texts()]
    body = page.locator(".jp-Notebook").inner_text()
    shown += re.findall(r"Error displaying widget.*|Loading widget\.\.\.", body)
    prompts = page.locator(".jp-CodeCell .jp-InputArea-prompt").all_inner_texts()
    shown += [f"code cell {n} has not run" for n, text in enumerate(prompts, 1) if "[ ]" in text]
    return shown


def press(explorer: Locator) -> None:
    """Move the explorer's first control with the keyboard."""
    handle = explorer.locator(".noUi-handle")
    if handle.count():
        at_end = handle.first.get_attribute("aria-valuenow") == handle.first.get_attribute(
            "aria-valuemax"
        )
        handle.first.focus()
        handle.first.press("ArrowLeft" if at_end else "ArrowRight")
    else:
        button = explorer.locator(".widget-toggle-button:not(.mod-active)").first
        button.focus()
        button.press("Space")


def seen(explorer: Locator) -> tuple[str, str]:
    """Return the picture and the sentence of an explorer as they are now."""
    picture = explorer.locator(".nv-picture")
    drawn = picture.locator("svg, img")
    expect(drawn.first).to_be_visible(timeout=PATIENCE)
    whole = "\n".join(item.inner_html() for item in picture.all())
    return whole, explorer.locator(".nv-sentence").inner_text().strip()


# --- what an explorer must not do -------------------------------------------------

OVERLAPS = """() => {
  const found = [];
  // One element may hold words that are spread over the picture, each in a span of its own.
  const boxes = text => (text.querySelector('tspan') ? [...text.querySelectorAll('tspan')] : [text])
    .map(part => ({word: part.textContent, box: part.getBoundingClientRect()}));
  for (const picture of document.querySelectorAll('.nv-picture')) {
    const words = [...picture.querySelectorAll('svg text')].filter(t => t.textContent.trim());
    const all = words.flatMap(boxes);
    for (let i = 0; i < all.length; i++) for (let j = i + 1; j < all.length; j++) {
      const [a, b] = [all[i].box, all[j].box];
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      // Boxes of lines of text are higher than their letters.
      if (wide > 1 && high > 0.35 * Math.min(a.height, b.height))
        found.push(`${all[i].word} / ${all[j].word}`);
    }
  }
  return found;
}"""
# What ipywidgets' own markup lacks; no code of ours can mend it.
KNOWN_FAULTS = {
    "aria-input-field-name": "the handle of noUiSlider has no name; the box beside it has one",
    "label": "ToggleButtons put their label beside the buttons, not around them",
}


def overlaps(page: Page) -> list[str]:
    """Return the pairs of words that lie on one another in the pictures of explorers."""
    return list(page.evaluate(OVERLAPS))


def faults_for_readers(page: Page) -> list[str]:
    """Return what axe finds serious in our widgets, known faults of others left out."""
    found = []
    for place in (".nv-explorer", ".nv-prediction", ".nv-quiz"):
        if page.locator(place).count():
            for fault in Axe().run(page, context=place).response["violations"]:
                serious = fault["impact"] in ("serious", "critical")
                if serious and fault["id"] not in KNOWN_FAULTS:
                    nodes = [node["html"][:160] for node in fault["nodes"][:3]]
                    found.append(f"{place}: {fault['id']}: {fault['help']} {nodes}")
    return found
