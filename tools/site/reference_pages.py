"""The generated reference pages of the documentation: commands, settings and public modules.

The commands come from the parser, the settings from the classes and their docstrings, the modules from
`evade.PUBLIC_MODULES`. Nothing here is written by hand, so the pages cannot fall behind the code.
"""

import ast
import contextlib
import importlib
import inspect
import io
import os
import textwrap
from collections.abc import Iterator
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any, get_type_hints

import evade
from evade.cli.main import VERBS, main
from evade.cli.train import RESUME_USAGE, USAGE
from evade.config import RunConfig, flatten, to_document
from evade.config.presets import PRESETS, build_config
from evade.kinds import KindSettings
from evade.vocabulary.variants import DEFAULT_VARIANT

WIDTH = "100"
"""Columns of help texts."""
USAGES = {"train": USAGE, "resume": RESUME_USAGE}


def commands_page() -> str:
    """Every verb with its help text."""
    parts = [
        "# Commands",
        "Every command, as `evade COMMAND --help` prints it. The settings that `evade train` takes as flags are on the "
        "page [Settings](settings.md).",
    ]
    for verb, function in VERBS.items():
        summary = inspect.getdoc(function) or ""
        text = USAGES.get(verb) or _help(verb)
        parts += [f"## evade {verb}", summary.partition("\n")[0], f"```text\n{text.strip()}\n```"]
    return "\n\n".join(parts) + "\n"


def _help(verb: str) -> str:
    output = io.StringIO()
    # The parser fits its text to the terminal, and colours it if there is one.
    former = {name: os.environ.get(name) for name in ("COLUMNS", "NO_COLOR")}
    os.environ.update(COLUMNS=WIDTH, NO_COLOR="1")
    try:
        with contextlib.redirect_stdout(output), contextlib.suppress(SystemExit):
            main([verb, "--help"])
    finally:
        for name, value in former.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
    return "\n".join(line.rstrip() for line in output.getvalue().splitlines())


def settings_page() -> str:
    """Every setting with its type, default and meaning, and what each preset sets it to."""
    parts = [
        "# Settings",
        "Every setting of a run is a flag of `evade train`, with dashes for underscores: `learner.clip` is "
        "`--learner.clip 0.2`. Sections that come in kinds, such as the world model, are listed once for each kind. "
        "The last table shows what the presets change.",
    ]
    for title, section, place in _sections(RunConfig, ""):
        rows = [
            f"| `{place}{field.name}` | {_type(section, field)} | {_default(field)} | {meaning} |"
            for field, meaning in _leaves(section)
        ]
        if rows:
            heading = ["| setting | type | default | meaning |", "| --- | --- | --- | --- |"]
            parts += [f"## {title}", _first_line(section), "\n".join(heading + rows)]
    return "\n\n".join([*parts, "## What the presets change", _preset_table()]) + "\n"


def _sections(section: type, place: str) -> Iterator[tuple[str, type, str]]:
    """Title, class and prefix of a section and of those in it, one for each kind."""
    yield place.rstrip(".") or "run", section, place
    hints = get_type_hints(section)
    for field in fields(section):
        kind = hints[field.name]
        if isinstance(kind, type) and issubclass(kind, KindSettings):
            for own in _kinds(kind):
                name = f"{place}{field.name}"
                for title, inner, inner_place in _sections(own, f"{name}."):
                    yield (f"{name}, kind {own.kind}" if inner is own else title), inner, inner_place
        elif is_dataclass(kind):
            yield from _sections(kind, f"{place}{field.name}.")


def _kinds(base: type[KindSettings]) -> list[type]:
    """The registered kinds of a section that are part of the package."""
    found = [each for each in base.kinds.values() if each.__module__.startswith("evade.")]
    return sorted(found, key=lambda each: each.kind)


def _leaves(section: type) -> Iterator[tuple[Field[Any], str]]:
    """The fields that are no sections, with their meaning."""
    hints, meanings = get_type_hints(section), _field_docstrings(section)
    for field in fields(section):
        kind = hints[field.name]
        is_section = is_dataclass(kind) or (isinstance(kind, type) and issubclass(kind, KindSettings))
        if not is_section:
            yield field, _cell(meanings.get(field.name, ""))


def _field_docstrings(section: type) -> dict[str, str]:
    """The string below each field of a class and of the classes it inherits from."""
    found: dict[str, str] = {}
    for owner in reversed(section.__mro__):
        if owner.__module__.startswith("evade."):
            (body,) = ast.parse(textwrap.dedent(inspect.getsource(owner))).body
            assert isinstance(body, ast.ClassDef)
            for before, after in zip(body.body, body.body[1:], strict=False):
                if isinstance(before, ast.AnnAssign) and isinstance(after, ast.Expr):
                    found[ast.unparse(before.target)] = " ".join(str(ast.literal_eval(after.value)).split())
    return found


def _type(section: type, field: Field[Any]) -> str:
    hint = get_type_hints(section)[field.name]
    return f"`{hint.__name__ if isinstance(hint, type) else str(hint).replace('typing.', '')}`".replace("|", "\\|")


def _default(field: Field[Any]) -> str:
    return "" if field.default is MISSING else f"`{field.default!r}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _first_line(documented: object) -> str:
    return (inspect.getdoc(documented) or "").partition("\n")[0]


def _preset_table() -> str:
    """The settings in which presets differ, one column for each preset."""
    flat = {name: flatten(to_document(build_config(name, DEFAULT_VARIANT))) for name in PRESETS}
    names = dict.fromkeys(name for settings in flat.values() for name in settings if name != "preset")
    rows = []
    for name in names:
        values = [settings.get(name, "") for settings in flat.values()]
        if any(value != values[0] for value in values):
            rows.append(f"| `{name}` | {' | '.join(_cell(str(value)) for value in values)} |")
    return "\n".join([f"| setting | {' | '.join(flat)} |", "| --- |" + " --- |" * len(flat), *rows])


def module_pages() -> dict[str, str]:
    """The page of each public module by its path: its docstring and public names, rendered by mkdocstrings."""
    pages = {}
    for name in evade.PUBLIC_MODULES:
        members = "".join(f"\n        - {member}" for member in public_names(name))
        pages[f"reference/api/{name}.md"] = (
            f"# {name}\n\n::: {name}\n    options:\n      show_root_heading: false\n      members:{members}\n"
        )
    return pages


def public_names(name: str) -> list[str]:
    """The names of a module's `__all__`, or those that it defines itself and that do not begin with an underscore."""
    module = importlib.import_module(name)
    if hasattr(module, "__all__"):
        return [each for each in module.__all__ if not each.startswith("_")]
    tree = ast.parse(inspect.getsource(module))
    defined = [
        target
        for node in tree.body
        for target in (
            [node.name]
            if isinstance(node, ast.ClassDef | ast.FunctionDef)
            else [ast.unparse(node.target)]
            if isinstance(node, ast.AnnAssign)
            else [ast.unparse(each) for each in node.targets]
            if isinstance(node, ast.Assign)
            else []
        )
    ]
    return [each for each in defined if each.isidentifier() and not each.startswith("_")]


def api_page() -> str:
    """What is public, and what that means."""
    rows = [
        f"| [`{name}`](api/{name}.md) | {_cell(_first_line(importlib.import_module(name)))} |"
        for name in evade.PUBLIC_MODULES
    ]
    return "\n".join(
        [
            "# Public interface",
            "",
            "These modules are public: their names keep their meaning within a minor version, and the changelog lists "
            "changes. Everything else may change in any version. `evade.PUBLIC_MODULES` is this list in Python.",
            "",
            "| module | contents |",
            "| --- | --- |",
            *rows,
            "",
        ]
    )
