"""The global options: declared once, understood before the command and after it, and read back as one frozen value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from driftwatch.cli.wiring.faults import UsageFault
from driftwatch.cli.wiring.numbers import whole

META = "driftwatch.given"
FORMATS = ("text", "json")
WIDEST = 10_000
COLORS = ("auto", "always", "never")


@dataclass(frozen=True)
class Given:
    """What the global options say. ``out`` is a file, ``-`` for standard output, or None."""

    quiet: bool = False
    verbose: int = 0
    format: str = "text"
    out: str | None = None
    color: str = "auto"
    width: int | None = None
    store: str | None = None
    config: str | None = None
    has_pager: bool = True


def _keep(ctx: typer.Context, param: typer.CallbackParam, value: Any) -> Any:
    """Note a value that was given; what stands after the command goes before what stands before it."""
    if value not in (None, False, 0, ()):
        ctx.meta.setdefault(META, {})[param.name] = value
    return value


def declare(  # every option is kept by its callback, and none reaches the function that has them as its parameters
    *,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Only findings.", callback=_keep, expose_value=False)] = False,
    verbose: Annotated[
        int, typer.Option("-v", "--verbose", count=True, show_default=False, help="More; -vv also tracebacks.", callback=_keep, expose_value=False)
    ] = 0,
    format_name: Annotated[str | None, typer.Option("--format", metavar="NAME", help="Output format.", callback=_keep, expose_value=False)] = None,
    json: Annotated[bool, typer.Option("--json", help="The same as --format json.", callback=_keep, expose_value=False)] = False,
    out: Annotated[str | None, typer.Option("-o", "--out", metavar="FILE", help="Write there; - for stdout.", callback=_keep, expose_value=False)] = None,
    color: Annotated[str | None, typer.Option("--color", metavar="auto|always|never", help="Colour.", callback=_keep, expose_value=False)] = None,
    width: Annotated[str | None, typer.Option("--width", metavar="N", help="Columns.", callback=_keep, expose_value=False)] = None,
    store: Annotated[
        str | None,
        typer.Option("--store", metavar="DIR|URL", help="Where snapshots are kept: a folder, or s3://BUCKET/PREFIX.", callback=_keep, expose_value=False),
    ] = None,
    config: Annotated[str | None, typer.Option("--config", metavar="FILE", help="Config file.", callback=_keep, expose_value=False)] = None,
    no_pager: Annotated[bool, typer.Option("--no-pager", help="Never page.", callback=_keep, expose_value=False)] = False,
) -> None:
    """Declare the global options."""


def read(ctx: typer.Context, formats: Sequence[str] = FORMATS) -> Given:
    """Return what was given before and after the command. Raises UsageFault for a format, colour or width that there is not."""
    kept: dict[str, Any] = ctx.meta.get(META, {})
    return Given(
        quiet=bool(kept.get("quiet")),
        verbose=int(kept.get("verbose", 0)),
        format=_one_of("--format", "json" if kept.get("json") else kept.get("format_name", formats[0]), formats),
        out=kept.get("out"),
        color=_one_of("--color", kept.get("color", "auto"), COLORS),
        width=whole("--width", kept["width"], 1, WIDEST) if "width" in kept else None,
        store=kept.get("store"),
        config=kept.get("config"),
        has_pager=not kept.get("no_pager"),
    )


def _one_of(option: str, word: str, words: Sequence[str]) -> str:
    if word not in words:
        raise UsageFault(f"{option} {word}: there is no such one here", do=f"one of: {', '.join(words)}")
    return word
