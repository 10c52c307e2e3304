"""Whole numbers of the command line: read here, since typer's own reading is slow and words its errors in its own way."""

from __future__ import annotations

import re

from driftwatch.cli.wiring.faults import UsageFault


def whole(option: str, text: str, least: int, most: int) -> int:
    """Return a whole number between two bounds. Raises UsageFault that names the option."""
    if not (text.isascii() and text.isdigit() and len(text) < 12 and least <= int(text) <= most):
        raise UsageFault(f"{option} {text}: no such number", do=f"a whole number from {least} to {most}")
    return int(text)


def fraction(option: str, text: str) -> float:
    """Return a number between 0 and 1. Raises UsageFault that names the option."""
    if re.fullmatch(r"0?\.\d{1,6}", text, re.ASCII) is None or float(text) == 0:
        raise UsageFault(f"{option} {text}: no such fraction", do="a number between 0 and 1, as in 0.85")
    return float(text)
