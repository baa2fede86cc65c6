"""The rules that keep the package small and its parts apart, as functions that find offences.

Each checker returns a list of sentences, one for each offence, with the place in front.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

# A module imports only from rows below its own. A part is a module or a subpackage.
ROWS: dict[str, int] = {
    "data": -1,  # reads tables for every row, and imports none
    "units": 0, "i18n": 0,
    "catalog": 1, "formulas": 1,
    "topology": 2, "provenance": 2,
    "collectives": 3, "nccl": 3,
    "training": 4, "field": 4, "measure": 4, "answers": 4,
    "quiz": 5, "exercises": 5, "errata": 5,
    "figures": 6,
    "explorers": 7,
    "cli": 8,
    "__main__": 9,
}  # fmt: skip
CORE = ("units", "catalog", "formulas", "topology", "collectives")
FULL_DOCSTRINGS = ("formulas", "topology", "collectives", "nccl")
ONLY_IN = {"matplotlib": "figures", "ipywidgets": "explorers"}
FORBIDDEN_NAMES = {
    "Output": "it leaks and hangs nbclient",
    "clear_output": "it flickers",
    "interact": "it redraws everything and hides errors",
    "interactive_output": "it redraws everything and hides errors",
    "pylab": "it keeps global state",
    "pyplot": "it keeps global state",
}
FUNCTION_LINES, MODULE_LINES, CORE_LINES, PACKAGE_LINES = 40, 300, 1500, 6000

Function = (ast.FunctionDef, ast.AsyncFunctionDef)
Documented = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


# --- the tree ---------------------------------------------------------------


def modules(package: Path) -> list[Path]:
    """Return every module of a package, in order."""
    return sorted(package.rglob("*.py"))


def part(package: Path, module: Path) -> str:
    """Return the row name of a module: its top-level module or subpackage."""
    return module.relative_to(package).with_suffix("").parts[0]


def parse(module: Path) -> ast.Module:
    return ast.parse(module.read_text(encoding="utf-8"), str(module))


def place(module: Path, package: Path, node: ast.AST | None = None) -> str:
    name = module.relative_to(package.parent).as_posix()
    return f"{name}:{node.lineno}" if node is not None else name  # type: ignore[attr-defined]


# --- imports ----------------------------------------------------------------


def imported_names(module: Path, package: Path) -> Iterator[tuple[str, ast.AST]]:
    """Yield the dotted name of everything that a module imports, at any level of its code."""
    home = module.relative_to(package.parent).with_suffix("").parts[:-1]
    for node in ast.walk(parse(module)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = home[: len(home) - node.level + 1] if node.level else ()
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from ((f"{base}.{alias.name}", node) for alias in node.names)
        elif is_import_call(node):
            yield node.args[0].value, node  # type: ignore[attr-defined]


def is_import_call(node: ast.AST) -> bool:
    """Tell whether a node is import_module("name") or __import__("name")."""
    if not isinstance(node, ast.Call) or not node.args:
        return False
    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
    first = node.args[0]
    return (
        name in ("import_module", "__import__")
        and isinstance(first, ast.Constant)
        and isinstance(first.value, str)
    )


def import_offences(package: Path) -> list[str]:
    """Find modules without a row, and imports from the own row or a higher one."""
    found = []
    for module in modules(package):
        name = part(package, module)
        if name == "__init__":
            continue
        if name not in ROWS:
            found.append(f"{place(module, package)}: no row of the package holds {name!r}.")
            continue
        for dotted, node in imported_names(module, package):
            top, _, rest = dotted.partition(".")
            other = rest.split(".")[0]
            if top != package.name or other in (name, "__version__"):
                continue
            where = place(module, package, node)
            if other not in ROWS:
                found.append(f"{where}: imports {dotted}, which belongs to no row.")
            elif ROWS[other] >= ROWS[name]:
                found.append(
                    f"{where}: {name} (row {ROWS[name]}) imports {other} (row {ROWS[other]}); "
                    "only rows below its own are allowed."
                )
    return found


def library_offences(package: Path) -> list[str]:
    """Find matplotlib outside figures and ipywidgets outside explorers."""
    return [
        f"{place(module, package, node)}: {top} is imported only in {ONLY_IN[top]}."
        for module in modules(package)
        for dotted, node in imported_names(module, package)
        if (top := dotted.partition(".")[0]) in ONLY_IN and part(package, module) != ONLY_IN[top]
    ]


def standard_library_offences(package: Path, known: frozenset[str]) -> list[str]:
    """Find imports of row 0 that are neither the package's own nor in the standard library."""
    return [
        f"{place(module, package, node)}: {dotted} is not in the standard library."
        for module in modules(package)
        if ROWS.get(part(package, module), 9) <= 0
        for dotted, node in imported_names(module, package)
        if dotted.partition(".")[0] not in known | {package.name}
    ]


def forbidden_names(tree: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Yield names of the widget and plot functions that this course never uses."""
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Name):
            names = [node.id]
        elif isinstance(node, ast.Attribute):
            names = [node.attr]
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names = [word for alias in node.names for word in alias.name.split(".")]
            names += (getattr(node, "module", None) or "").split(".")
        yield from ((name, node) for name in names if name in FORBIDDEN_NAMES)


def forbidden_offences(package: Path) -> list[str]:
    """Find forbidden names in code."""
    return [
        f"{place(module, package, node)}: {name} is not used here, because {FORBIDDEN_NAMES[name]}."
        for module in modules(package)
        for name, node in forbidden_names(parse(module))
    ]


def text_offences(files: list[Path], root: Path, pattern: str, reason: str) -> list[str]:
    """Find a pattern in text files; data URIs are left out, as chance could spell anything."""
    found = []
    for file in files:
        text = re.sub(r"base64,[A-Za-z0-9+/=]+", "", file.read_text(encoding="utf-8"))
        for number, line in enumerate(text.splitlines(), 1):
            if hit := re.search(pattern, line):
                where = f"{file.relative_to(root).as_posix()}:{number}"
                found.append(f"{where}: {hit.group()!r} {reason}.")
    return found


# --- size -------------------------------------------------------------------


def docstring_lines(tree: ast.Module) -> set[int]:
    """Return the line numbers that docstrings fill."""
    lines: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | Documented) and ast.get_docstring(node, clean=False):
            first = node.body[0]
            lines.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return lines


def code_lines(source: str) -> set[int]:
    """Return the numbers of the lines that hold code: no docstring, blank line or comment."""
    empty = {
        tokenize.COMMENT, tokenize.DEDENT, tokenize.ENCODING, tokenize.ENDMARKER,
        tokenize.INDENT, tokenize.NEWLINE, tokenize.NL,
    }  # fmt: skip
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in empty:
            lines.update(range(token.start[0], token.end[0] + 1))
    return lines - docstring_lines(ast.parse(source))


def size_offences(package: Path) -> list[str]:
    """Find functions, modules and sums that are longer than their bounds."""
    found = []
    sizes: dict[str, int] = {}
    for module in modules(package):
        source = module.read_text(encoding="utf-8")
        lines = code_lines(source)
        name = part(package, module)
        sizes[name] = sizes.get(name, 0) + len(lines)
        if len(lines) > MODULE_LINES:
            where = place(module, package)
            found.append(f"{where}: {len(lines)} code lines; a module has at most {MODULE_LINES}.")
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, Function):
                own = lines & set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
                if len(own) > FUNCTION_LINES:
                    found.append(
                        f"{place(module, package, node)}: {node.name} has {len(own)} code lines; "
                        f"a function has at most {FUNCTION_LINES}."
                    )
    core = sum(sizes.get(name, 0) for name in CORE)
    if core > CORE_LINES:
        found.append(f"{', '.join(CORE)}: {core} code lines together; at most {CORE_LINES}.")
    if sum(sizes.values()) > PACKAGE_LINES:
        found.append(f"{package.name}: {sum(sizes.values())} code lines; at most {PACKAGE_LINES}.")
    return found


# --- docstrings -------------------------------------------------------------
#
# Every public object says in a sentence what it is. What formulas, topology, collectives and nccl
# offer to a learner says more: functions, classes and methods with parameters are documented in
# full. Records (their fields carry types and units), properties and the helpers behind the surface
# need the sentence only.


def public_objects(tree: ast.Module) -> Iterator[tuple[str, Documented, ast.AST]]:
    """Yield the public functions, classes and methods of a module, with what holds each."""
    for node in tree.body:
        if isinstance(node, Documented) and not node.name.startswith("_"):
            yield node.name, node, tree
            if isinstance(node, ast.ClassDef):
                for inner in node.body:
                    if isinstance(inner, Function) and not inner.name.startswith("_"):
                        yield f"{node.name}.{inner.name}", inner, node


def offered(package: Path, module: Path) -> set[str]:
    """Return the names that a module offers to a learner, not only to the modules beside it."""
    tree = parse(module)
    for node in tree.body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return set(ast.literal_eval(node.value))
    top = package / part(package, module) / "__init__.py"
    if module.parent == package or module == top or not top.exists():
        return {name for name, _, _ in public_objects(tree)}
    imports = [node for node in ast.walk(parse(top)) if isinstance(node, ast.ImportFrom)]
    lifted = {(alias.name, node.module or "") for node in imports for alias in node.names}
    if any(name == "*" and source.endswith(module.stem) for name, source in lifted):
        return {name for name, _, _ in public_objects(tree)}
    return {name for name, _ in lifted}


def docstring_offences(package: Path) -> list[str]:
    """Find public objects whose docstring lacks what its module asks for."""
    found = []
    for module in modules(package):
        tree = parse(module)
        if not ast.get_docstring(tree):
            found.append(f"{place(module, package)}: the module has no docstring.")
        surface = offered(package, module) if part(package, module) in FULL_DOCSTRINGS else set()
        for name, node, owner in public_objects(tree):
            lacks = missing(node, owner, name.partition(".")[0] in surface)
            if lacks:
                found.append(
                    f"{place(module, package, node)}: the docstring of {name} "
                    f"lacks {', '.join(lacks)}."
                )
    return found


def missing(node: Documented, owner: ast.AST, full: bool) -> list[str]:
    """Return what the docstring of a public object should hold and does not."""
    text = ast.get_docstring(node) or ""
    if not text:
        return [] if decorators(node) & {"overload", "setter"} or is_empty(node) else ["everything"]
    lacks = []
    if not text.split("\n\n")[0].rstrip().endswith("."):
        lacks.append("a first sentence that ends with a period")
    if not full or is_simple(node, owner):
        return lacks
    if has_parameters(node, owner) and not re.search(r"^(Parameters|Attributes)\n-+", text, re.M):
        lacks.append("a section Parameters")
    if raises(node) and not re.search(r"^Raises\n-+", text, re.M):
        lacks.append("a section Raises")
    if not re.search(r"\bLessons? \d\d\b", text):
        lacks.append("the lesson that teaches it (Lesson 02.)")
    if ">>> " not in text:
        lacks.append("an example (>>>)")
    return lacks


def decorators(node: Documented) -> set[str]:
    """Return the names of the decorators of an object, without their modules."""
    called = [getattr(item, "func", item) for item in node.decorator_list]
    return {getattr(item, "id", getattr(item, "attr", "")) for item in called}


def is_empty(node: Documented) -> bool:
    """Tell whether the body is nothing but an ellipsis, as in a protocol."""
    body = [getattr(getattr(item, "value", None), "value", None) for item in node.body]
    return body == [...]


def is_simple(node: Documented, owner: ast.AST) -> bool:
    """Tell whether a sentence says all: a record, an error, a property, a method of self alone."""
    if isinstance(node, ast.ClassDef):
        bases = {getattr(base, "id", getattr(base, "attr", "")) for base in node.bases}
        named = any(base.endswith(("Error", "Exception", "NamedTuple")) for base in bases)
        return named or "dataclass" in decorators(node)
    if decorators(node) & {"property", "cached_property"}:
        return True
    return isinstance(owner, ast.ClassDef) and not has_parameters(node, owner)


def has_parameters(node: Documented, owner: ast.AST) -> bool:
    """Tell whether a caller has something to pass, apart from self."""
    if isinstance(node, ast.ClassDef):
        inits = [item for item in node.body if getattr(item, "name", "") == "__init__"]
        return bool(inits) and has_parameters(inits[0], node)  # type: ignore[arg-type]
    arguments = node.args
    names = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    bound = isinstance(owner, ast.ClassDef) and "staticmethod" not in decorators(node)
    return bool(names[bound:] or arguments.vararg or arguments.kwarg)


def raises(node: Documented) -> bool:
    """Tell whether a function raises by itself; what its helpers raise is not looked at."""
    return isinstance(node, Function) and any(isinstance(n, ast.Raise) for n in ast.walk(node))
