"""One self-contained HTML page from a template of templates/: its style and script inside, and a policy that lets nothing else run or load.

The texts of hosts reach a page through autoescape alone, cleaned first by the filter ``clean``, and never inside a script. jinja2 is imported here only.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from driftwatch.report.clean import clean

FOLDER = "templates"
STYLES = ("style.css",)
SCRIPT = "report.js"


def render_page(template: str, title: str, values: Mapping[str, Any], styles: tuple[str, ...] = ()) -> str:
    """Return a page: a template that extends ``page.html.j2``, with its values, and the names of more style sheets of templates/."""
    environment = _environment()
    style = "".join(_source(environment, name) for name in (*STYLES, *styles))
    script = _source(environment, SCRIPT)
    inside = {"style": Markup(style), "style_hash": _digest(style), "script": Markup(script), "script_hash": _digest(script)}  # noqa: S704  # files of ours
    return environment.get_template(template).render(title=clean(title), **inside, **values)


@cache
def _environment() -> Environment:
    """Return what compiles the templates, made once: that costs more than a page."""
    loader = PackageLoader("driftwatch.report", FOLDER)
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["clean"] = lambda text: clean(str(text))
    return environment


def _source(environment: Environment, name: str) -> str:
    """Return the text of a file of the package."""
    assert environment.loader is not None  # noqa: S101  # it was just given
    return environment.loader.get_source(environment, name)[0]


def _digest(text: str) -> str:
    """Return a digest as a content policy names it."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
