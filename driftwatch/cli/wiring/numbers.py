"""Whole numbers of the command line: read here, since typer's own reading is slow and words its errors in its own way."""

from __future__ import annotations

from driftwatch.cli.wiring.faults import UsageFault


def whole(option: str, text: str, least: int, most: int) -> int:
    """Return a whole number between two bounds. Raises UsageFault that names the option."""
    if not (text.isascii() and text.isdigit() and len(text) < 12 and least <= int(text) <= most):
        raise UsageFault(f"{option} {text}: no such number", do=f"a whole number from {least} to {most}")
    return int(text)
