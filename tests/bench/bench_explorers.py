"""Measure the explorers: ``python tests/bench/bench_explorers.py [--browser] [--strict]``.

In the kernel: from the message that a control moved to the message that replaces the picture. In
the browser: from the key that moves a slider to the painted picture. Beside each explorer stand a
text-only slider and the same figure under `interact` and pyplot, measured in the same run.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from statistics import quantiles
from time import perf_counter, sleep
from typing import Any

import nbformat
from jupyter_client.manager import start_new_kernel

sys.path[:0] = [str(Path(__file__).parents[1])]
ROOT = Path(__file__).parents[2]
MOVES = 60
MEDIAN, NINETIETH, AXES = 10.0, 25.0, 50.0  # ms in the kernel
ABOVE_TEXT, TIMES_FASTER = 25.0, 2.5  # in the browser
# An explorer, and the control whose slider is moved.
EXPLORERS = {
    "bandwidth_explorer": "links", "demo_explorer": "gpus", "city_explorer": "wish",
    "all_reduce_explorer": "step", "planner_explorer": "inside",
}
# How many times the bounds an explorer may take that searches through thousands of plans.
SLOWER = {"planner_explorer": 2.4}
# Explorers without a slider; a button changes their axes, which may take longer.
AXES_EXPLORERS = {"generations_explorer": "log"}
START = """
import json
import ipywidgets as widgets
from nvlearn import explorers

source = explorers.{name}()
control = source.controls["{control}"]
slides = hasattr(control, "slider")
most = control.slider.max if slides else len(control.holder.options) - 1
"""
OURS = START + """
made, moved, key = source, control.slider if slides else control.holder, (
    "value" if slides else "index")
pictures = [box.model_id for box in source.picture_box.children]
"""
TEXT = """
import json
import ipywidgets as widgets

most, key = 60, "value"
moved, said = widgets.IntSlider(max=most, readout=False), widgets.HTML()
moved.observe(lambda change: said.set_trait("value", f"value {change['new']}"), "value")
pictures = [said.model_id]
made = widgets.VBox([moved, said])
"""
# The same marks, drawn again with pyplot at every change.
NAIVE = START + """
%matplotlib inline
from xml.etree import ElementTree
import matplotlib.pyplot as plt

def show(count):
    (control.slider if slides else control.holder).set_trait("value" if slides else "index", count)
    root = ElementTree.fromstring(source.picture.svg)
    figure, axes = plt.subplots(figsize=(9.6, 5.6))
    axes.set(xlim=(0, source.picture.width), ylim=(source.picture.height, 0))
    for mark in root.iter():
        at, tag = mark.attrib, mark.tag.rpartition("}}")[2]
        if tag == "rect" and "x" in at and "fill" in at:
            xy, size = (float(at["x"]), float(at["y"])), (float(at["width"]), float(at["height"]))
            axes.add_patch(plt.Rectangle(xy, *size, color=at["fill"]))
        elif tag == "line" and "stroke" in at:
            ends = [[float(at["x1"]), float(at["x2"])], [float(at["y1"]), float(at["y2"])]]
            axes.plot(*ends, color=at["stroke"], lw=1)
        elif tag == "text" and "x" in at and " " not in at["x"]:
            axes.text(float(at["x"]), float(at["y"]), mark.text or "", fontsize=8)
    plt.show()

moved, key, pictures = widgets.IntSlider(max=most, value=most // 2, readout=False), "value", []
made = widgets.interactive(show, count=moved)
"""
TELL = """
print(json.dumps({"moved": moved.model_id, "pictures": pictures, "most": most, "key": key}))
"""


def sources() -> dict[str, str]:
    """Return what is measured: a name and the code that makes `made`, `moved`, `pictures`."""
    made = {"text-only slider": TEXT}
    for name, control in {**EXPLORERS, **AXES_EXPLORERS}.items():
        made[name] = OURS.format(name=name, control=control)
        made[f"{name}, interact + pyplot"] = NAIVE.format(name=name, control=control)
    return made


# --- in the kernel ------------------------------------------------------------


def move(client: Any, told: dict[str, Any], value: int) -> str:
    """Send what JupyterLab sends when a control was moved, and return the message's id."""
    state = {"method": "update", "state": {told["key"]: value}, "buffer_paths": []}
    message = client.session.msg("comm_msg", {"comm_id": told["moved"], "data": state})
    client.shell_channel.send(message)
    return str(message["header"]["msg_id"])


def is_picture(message: dict[str, Any], pictures: list[str]) -> bool:
    """Tell whether a message brings the new picture."""
    kind, content = message["msg_type"], message["content"]
    if not pictures:
        return kind == "display_data" and "image/png" in content["data"]
    return kind == "comm_msg" and content["comm_id"] in pictures


def in_the_kernel(code: str) -> list[float]:
    """Return milliseconds from message to message, one for each move."""
    manager, client = start_new_kernel(kernel_name="python3")
    try:
        said: list[str] = []
        client.execute_interactive(
            code + "\nfrom IPython.display import display\ndisplay(made)" + TELL, timeout=60,
            output_hook=lambda m: said.append(m["content"].get("text", "")),
        )
        told = json.loads("".join(said).strip().splitlines()[-1])
        spent = []
        for turn in range(MOVES):
            begin, moved = perf_counter(), None
            sent = move(client, told, turn % (told["most"] + 1))
            while True:
                message = client.get_iopub_msg(timeout=20)
                mine = message["parent_header"].get("msg_id") == sent
                if mine and moved is None and is_picture(message, told["pictures"]):
                    moved = perf_counter() - begin
                idle = message["content"].get("execution_state") == "idle"
                if mine and idle and message["msg_type"] == "status":
                    break
            spent += [1e3 * moved] if moved is not None else []
        return spent[5:]
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


# --- in the browser -----------------------------------------------------------

# Note the time of the next key, and of the paint after the next change below a place.
WATCH = """([place, image]) => {
  const target = document.querySelector(place);
  window.nvTook = null; let begin = null;
  document.addEventListener('keydown', event => { begin = performance.now(); },
                            {capture: true, once: true});
  const painted = () => requestAnimationFrame(() => setTimeout(() => {
    window.nvTook = performance.now() - begin; }, 0));
  const watch = new MutationObserver(() => {
    if (begin === null) return;
    const picture = target.querySelector('img');
    if (image && !picture) return;
    watch.disconnect();
    if (image && !picture.complete) picture.onload = painted; else painted();
  });
  watch.observe(target, {subtree: true, childList: true, characterData: true, attributes: true});
}"""


def in_the_browser(made: dict[str, str]) -> dict[str, list[float]]:
    """Return milliseconds from key to paint for each source, in one JupyterLab."""
    from browser import lab

    found: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, "course")
        folder.mkdir()
        for number, code in enumerate(made.values()):
            source = code + "\ngetattr(made, 'root', made).add_class('nv-measured')\nmade"
            cells = [nbformat.v4.new_code_cell(source)]
            kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
            notebook = nbformat.v4.new_notebook(cells=cells, metadata=kernel)
            nbformat.write(notebook, folder / f"{number}.ipynb")
        with lab.lab(folder, Path(place, "own")) as served, lab.browser() as chromium:
            for number, (name, code) in enumerate(made.items()):
                page = chromium.new_page(viewport={"width": 1280, "height": 1000})
                lab.open_lesson(page, served, f"{number}.ipynb")
                found[name] = keys(page, naive="plt.show" in code, text="said" in code)
                page.close()
                lab.close_kernels(served)
    return found


def keys(page: Any, *, naive: bool, text: bool) -> list[float]:
    """Run the notebook, press a key again and again, and return what each press took."""
    page.click("text=Run >> nth=0")
    page.click("text=Run All Cells >> nth=0")
    page.wait_for_selector(".nv-measured", timeout=60000)
    sleep(2.0)
    place = ".nv-measured .widget-output, .nv-measured .jp-OutputArea" if naive else (
        ".nv-measured .widget-html" if text else ".nv-measured .nv-picture")
    handles = page.locator(".nv-measured .noUi-handle")
    buttons = page.locator(".nv-measured .widget-toggle-button")
    spent = []
    for turn in range(36):
        page.evaluate(WATCH, [place, naive])
        if handles.count():
            handles.last.focus()
            page.keyboard.press("ArrowLeft" if turn % 2 else "ArrowRight")
        else:
            at = buttons.count() - 1 - turn % 2
            buttons.nth(at).focus()
            page.keyboard.press("Space")
        page.wait_for_function("() => window.nvTook !== null", timeout=20000)
        spent.append(float(page.evaluate("window.nvTook")))
        sleep(0.25)
    return spent[5:]


# --- the table ------------------------------------------------------------------


def summary(spent: list[float]) -> tuple[float, float]:
    """Return the median and the 90th percentile."""
    tenths = quantiles(spent, n=10)
    return tenths[4], tenths[8]


def main() -> int:
    """Print both tables; with --strict return 1 where a bound was missed."""
    missed = 0
    made = sources()
    print(f"{'in the kernel, message to message':52}{'median ms':>11}{'90 % ms':>9}")
    for name, code in made.items():
        median, ninetieth = summary(in_the_kernel(code))
        times = SLOWER.get(name, 1.0)
        over = name in EXPLORERS and (median > times * MEDIAN or ninetieth > times * NINETIETH)
        over = over or (name in AXES_EXPLORERS and median > AXES)
        missed += over
        print(f"{name:52}{median:11.1f}{ninetieth:9.1f}{'  MISSED' if over else ''}", flush=True)
    if "--browser" in sys.argv:
        found = {name: summary(spent)[0] for name, spent in in_the_browser(made).items()}
        text = found["text-only slider"]
        print(f"\n{'in the browser, key to paint':52}{'median ms':>11}")
        for name, median in found.items():
            over = f"{name}, interact + pyplot" in found and (
                median > text + ABOVE_TEXT
                or found[f"{name}, interact + pyplot"] < TIMES_FASTER * median
            )
            missed += over
            print(f"{name:52}{median:11.1f}{'  MISSED' if over else ''}")
    return int("--strict" in sys.argv and missed > 0)


if __name__ == "__main__":
    sys.exit(main())
