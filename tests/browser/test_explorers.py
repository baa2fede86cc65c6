"""Each lesson in JupyterLab in a real browser: it runs, and its explorers answer the keyboard."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import lesson_frame as frame
import notebook_form as form
import pytest
import sample_lesson
from browser import lab
from nbconvert import HTMLExporter
from playwright.sync_api import Browser, Page, expect

pytestmark = pytest.mark.browser

LESSONS = [path for path in form.notebooks() if frame.LESSON.fullmatch(path.name)]
STILL = 'img[src^="data:image/svg+xml;base64,"]'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    course = tmp_path_factory.mktemp("a copy") / "the course"
    shutil.copytree(form.ROOT / "notebooks", course)
    return course


@pytest.fixture(scope="module")
def server(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[lab.Lab]:
    with lab.lab(folder, tmp_path_factory.mktemp("jupyter") / "own") as served:
        yield served


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with lab.browser() as running:
        yield running


@pytest.fixture
def page(chromium: Browser, server: lab.Lab) -> Iterator[Page]:
    window = chromium.new_page(viewport={"width": 1280, "height": 900})
    window.set_default_timeout(lab.PATIENCE)
    yield window
    window.close()
    lab.close_kernels(server)


def photograph(page: Page, name: str) -> None:
    """Keep a picture of the window, if a folder for it is named."""
    if target := os.environ.get("NVLEARN_SCREENSHOTS"):
        Path(target).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=Path(target, f"{name}.png"))


def use(page: Page, server: lab.Lab, path: Path) -> int:
    """Open and run a lesson, move each explorer, and return the number of explorers."""
    lab.unrun_copy(path, server.folder)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    lab.open_lesson(page, server, path.name)
    photograph(page, f"{path.stem}-0-opened")
    cells = form.read(path).cells
    expect(page.locator(STILL)).to_have_count(count_stills(cells))
    lab.run_all(page)
    assert lab.failures(page) == []
    explorers = page.locator(".nv-explorer")
    expect(explorers).to_have_count(len(frame.having(cells, "explorer")))
    for number, explorer in enumerate(explorers.all(), 1):
        explorer.scroll_into_view_if_needed()
        picture, sentence = lab.seen(explorer)
        photograph(page, f"{path.stem}-{number}-before")
        lab.press(explorer)
        expect(explorer.locator(".nv-sentence")).not_to_have_text(sentence)
        assert lab.seen(explorer)[0] != picture, "the sentence has changed, but not the picture"
        photograph(page, f"{path.stem}-{number}-after")
    if path.name in {lesson.name for lesson in LESSONS}:
        assert lab.overlaps(page) == []
        assert lab.faults_for_readers(page) == []
    assert lab.failures(page) == []
    assert errors == []
    return explorers.count()


def count_stills(cells: list) -> int:
    """Return how many still pictures the stored outputs hold."""
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    return sum(
        output.get("data", {}).get("text/html", "").count('src="data:image/svg+xml;base64,')
        for output in outputs
    )


@pytest.mark.parametrize("width", [900, 1600])
@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.name)
def test_pictures_fit_the_window(page: Page, server: lab.Lab, path: Path, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    lab.unrun_copy(path, server.folder)
    lab.open_lesson(page, server, path.name)
    page.keyboard.press("Control+b")  # put the file browser away, as one does on a small screen
    lab.run_all(page)
    assert lab.faults_for_readers(page) == []
    for explorer in page.locator(".nv-explorer").all():
        explorer.scroll_into_view_if_needed()
        room, picture = explorer.bounding_box(), explorer.locator(".nv-picture svg").first
        box = picture.bounding_box()
        assert room
        assert box
        assert box["x"] + box["width"] <= room["x"] + room["width"] + 1
        lab.press(explorer)
        page.wait_for_timeout(400)
        after = explorer.bounding_box()
        assert after
        if not explorer.locator("textarea").count():  # a printout's explanation is as long as it is
            assert after["height"] == room["height"]  # the page does not jump


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.name)
def test_as_a_page_without_a_kernel(page: Page, path: Path, tmp_path: Path) -> None:
    html, _ = HTMLExporter().from_filename(str(path))
    (tmp_path / "lesson.html").write_text(html, encoding="utf-8")
    page.goto((tmp_path / "lesson.html").as_uri())
    cells = form.read(path).cells
    expect(page.locator(STILL)).to_have_count(count_stills(cells))
    body = " ".join(page.inner_text("body").split())
    for still in page.locator(STILL).all():
        assert still.evaluate("image => image.complete && image.naturalWidth") > 0
        said = (still.get_attribute("alt") or "").split()
        assert " ".join(said) in body  # the caption says the same


def run_lesson(page: Page, server: lab.Lab, number: str) -> None:
    """Open a lesson as shipped and run all of it."""
    path = next(path for path in LESSONS if path.name.startswith(number))
    lab.unrun_copy(path, server.folder)
    lab.open_lesson(page, server, path.name)
    lab.run_all(page)


def test_a_box_shows_the_number_that_is_drawn(page: Page, server: lab.Lab) -> None:
    run_lesson(page, server, "01")
    explorer = page.locator(".nv-explorer").first
    wish = explorer.locator("input[type=number]").first
    for typed, taken in (("2.5", 2), ("1e9", 60), ("0", 1), ("7", 7)):
        wish.fill(typed)
        wish.press("Enter")
        expect(explorer.locator(".nv-sentence")).to_contain_text(f"Wanted: {taken} GB/s")
        expect(wish).to_have_value(str(taken))
    assert lab.failures(page) == []


def test_a_pasted_printout_keeps_its_columns_and_a_strange_one_clears_the_last(
    page: Page, server: lab.Lab
) -> None:
    run_lesson(page, server, "11")
    box = page.locator(".nv-explorer", has=page.locator("textarea")).first
    box.scroll_into_view_if_needed()
    field = box.locator("textarea")
    assert field.evaluate("field => getComputedStyle(field).whiteSpace") == "pre"
    expect(box.locator(".nv-picture")).to_contain_text("Something is wrong with GPU2")
    field.fill("\x00\x01 no printout")
    field.press("Tab")
    expect(box.locator(".nv-sentence")).to_contain_text("No printout was found")
    expect(box.locator(".nv-picture")).not_to_contain_text("GPU2")
    photograph(page, "strange-paste")


def test_the_quiz_answers_the_keyboard(page: Page, server: lab.Lab) -> None:
    run_lesson(page, server, "02")
    quiz = page.locator(".nv-quiz")
    quiz.scroll_into_view_if_needed()
    for _ in range(3):  # the first questions, of whatever kind
        question = quiz.locator(".nv-question")
        prompt = question.locator(".widget-html-content").first
        asked = prompt.inner_text()
        field = question.locator("input[type=number], input[type=text]")
        if field.count():
            field.first.fill("1")
            field.first.press("Tab")
        else:
            choices = question.locator(".widget-toggle-button, input[type=checkbox]")
            (choices if choices.count() else question.locator("button")).first.press("Space")
        question.get_by_role("button", name="Submit").press("Enter")
        expect(question.get_by_role("status")).to_contain_text("ight")  # right, partly, not right
        quiz.get_by_role("button", name="Next").press("Enter")
        expect(prompt).not_to_have_text(asked)  # the next one has come
    photograph(page, "quiz")
    expect(quiz).to_contain_text("answered: 3")


def test_the_newest_value_wins(page: Page, server: lab.Lab) -> None:
    run_lesson(page, server, "02")
    explorer = page.locator(".nv-explorer").first
    explorer.scroll_into_view_if_needed()
    handle = explorer.locator(".noUi-handle").nth(2)  # links per GPU
    handle.focus()
    for _ in range(30):
        page.keyboard.press("ArrowLeft" if _ % 3 == 2 else "ArrowRight")
    expect(explorer.locator(".nv-sentence")).to_contain_text("x 28 links", timeout=3000)
    said = explorer.locator(".nv-picture").inner_text()
    page.wait_for_timeout(500)
    assert explorer.locator(".nv-picture").inner_text() == said  # nothing was still queued
    assert "28 links" in said


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.name)
def test_lesson(page: Page, server: lab.Lab, path: Path) -> None:
    assert use(page, server, path) >= 1


def test_the_sample_lesson(page: Page, server: lab.Lab, tmp_path: Path) -> None:
    path = sample_lesson.write(tmp_path, run=True)
    (server.folder / "explorer_of_sample.py").write_text(sample_lesson.EXPLORER, encoding="utf-8")
    assert use(page, server, path) == 1


def test_a_failing_cell_is_seen(page: Page, server: lab.Lab, tmp_path: Path) -> None:
    path = sample_lesson.write(tmp_path)
    notebook = form.read(path)
    at = next(n for n, cell in enumerate(notebook.cells) if frame.part(cell) == "explorer")
    notebook.cells[at].source = "1 / 0"
    form.write(path.with_name("13_failing.ipynb"), notebook)
    lab.unrun_copy(path.with_name("13_failing.ipynb"), server.folder)
    lab.open_lesson(page, server, "13_failing.ipynb")
    lab.run_all(page)
    found = " ".join(lab.failures(page))
    assert "ZeroDivisionError" in found
    assert "has not run" in found


def test_without_chromium_a_sentence_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CHROMIUM", raising=False)
    with pytest.raises(RuntimeError, match="apt-get install chromium"):
        lab.chromium()
