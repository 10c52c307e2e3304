"""Where a command works: its global options, the settings, the store and the page. The environment and the terminal are read here, once."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TextIO

import typer

from driftwatch.cli.wiring import given
from driftwatch.cli.wiring.faults import UsageFault
from driftwatch.cli.wiring.given import Given
from driftwatch.cli.wiring.named import is_folder
from driftwatch.report.page import Page
from driftwatch.settings import Environment, Settings, cache_folder, load_settings, store_place
from driftwatch.store.opening import is_url, open_store
from driftwatch.store.seam import Store

DEFAULT_WIDTH = 80


@dataclass(frozen=True)
class Desk:
    """What a command has at hand. ``page`` is for the answer, ``side_page`` for what is told beside it on standard error."""

    given: Given
    settings: Settings
    store: Store
    page: Page
    side_page: Page

    def say(self, text: str) -> None:
        """Tell one line beside the answer, on standard error."""
        print(self.side_page.say(text), file=sys.stderr)  # noqa: T201  # this is where the command line speaks


def open_desk(ctx: typer.Context, formats: Sequence[str] = given.FORMATS) -> Desk:
    """Return the desk of a command. Raises UsageFault or SettingsError for options and files that cannot be followed."""
    options = given.read(ctx, formats)
    settings = load_settings(os.environ, _folder(), options.config)
    is_to_file = options.out not in (None, "-")
    page = _page(options, settings.environment, sys.stdout)
    if is_to_file:
        page = replace(page, color=options.color == "always", unicode=True)
    place = store_place(settings, options.store)
    store = open_store(place, cache_folder() if is_url(place) else Path())
    return Desk(options, settings, store, page, _page(options, settings.environment, sys.stderr))


def check_store(desk: Desk) -> None:
    """Raise UsageFault where the store is a folder that is not there: of nothing, all is well, and a name is soon mistyped."""
    if not is_url(store_place(desk.settings, desk.given.store)) and not is_folder(desk.store.root):
        raise UsageFault("there is no store", desk.store.place, "check --store, DRIFTWATCH_STORE and the config file; a first snapshot makes the default one")


def _folder() -> Path:
    """Return the folder that this process stands in; the root where that folder is gone."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        return Path("/")


def _page(options: Given, environment: Environment, stream: TextIO) -> Page:
    is_terminal = stream.isatty()
    width = options.width or environment.columns or (shutil.get_terminal_size((DEFAULT_WIDTH, 24)).columns if is_terminal else DEFAULT_WIDTH)
    return Page(width=width, color=_has_color(options, environment, is_terminal=is_terminal), unicode="utf" in (stream.encoding or "").lower())


def _has_color(options: Given, environment: Environment, *, is_terminal: bool) -> bool:
    """Tell whether to use colour: --color, then NO_COLOR, then CLICOLOR_FORCE or FORCE_COLOR, then whether this is a terminal that can."""
    if options.color != "auto":
        return options.color == "always"
    if environment.color is not None:
        return environment.color
    return is_terminal and not environment.is_dumb
