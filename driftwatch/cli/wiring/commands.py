"""Finds the commands by scanning the folder, and imports one only when it runs. A command is a file ``cli/NAME.py`` with a function ``command``.

The file of one whose name is a word of Python has an underscore behind it.

Its first docstring line is its line in ``driftwatch --help``, read from the source, so that the list costs no import.
"""

from __future__ import annotations

import difflib
import importlib
import keyword
import re
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.core
import typer.main

from driftwatch.cli.wiring import given
from driftwatch.cli.wiring.faults import UsageFault

FOLDER = Path(__file__).parent.parent
NO_COMMANDS = ("__init__", "main")
HEAD_BYTES = 400
BROKEN_PIPE = 141
_FIRST_LINE = re.compile(r'\s*r?"""([^\n"]+)')
OVERVIEW = """\
  after a good run   driftwatch snapshot gpu-a --label good
  when it breaks     driftwatch snapshot gpu-a && driftwatch diff gpu-a
  every night        driftwatch audit gpu-a gpu-b gpu-c -q

driftwatch takes a snapshot of a GPU host (this one, or one over SSH) and tells what changed between a working and a broken one:
suspects in order, with the evidence for each, what is ruled out, what could not be checked, and the command that would settle it.
  a snapshot is named  gpu-a@good   gpu-a@last   gpu-a@last~1   gpu-a@2026-03-04   gpu-a@9d41c07   ./file.json
  commands             {commands}
  exit codes           0 nothing to say, 1 findings, 2 wrong use, 3 not all was answered, 4 not stored, 70 our own fault

Nothing is written on the host, and no question can hold it or you longer than its deadline.
More: driftwatch --help, driftwatch COMMAND --help
"""


@cache
def summaries() -> dict[str, str]:
    """Return the commands with their lines of help, sorted by name."""
    return {path.stem.rstrip("_"): _summary(path) for path in sorted(FOLDER.glob("*.py")) if path.stem not in NO_COMMANDS}


def _summary(path: Path) -> str:
    with path.open(encoding="utf-8") as file:
        found = _FIRST_LINE.match(file.read(HEAD_BYTES))
    return found[1].strip() if found else ""


class _AsGiven:
    """Hands a parameter's text on as it is: all of ours are text, lists of text or flags."""

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:  # noqa: ARG002  # called by typer
        """Return the value."""
        is_many = param.multiple or param.nargs == -1
        return () if value is None and is_many else value


def _plain(params: list[Any]) -> list[Any]:
    """Return parameters without typer's own conversion, which imports pydantic (about 90 ms, more than all else at start) to turn text into text."""
    for param in params:
        if hasattr(param, "_runtime_param"):
            param._runtime_param = _AsGiven()  # noqa: SLF001  # typer offers no other way; where the name is gone, typer converts as it likes
    return params


class Command(typer.core.TyperCommand):
    """One command."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return its parameters, and the help option."""
        return _plain(super().get_params(ctx))


class Commands(typer.core.TyperGroup):
    """The group of all commands, each built at its first use."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return its parameters, and the help option."""
        return _plain(super().get_params(ctx))

    def invoke(self, ctx: Any) -> Any:
        """Run the command; a reader that went away ends it quietly."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise typer.Exit(BROKEN_PIPE) from None

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002  # called by typer
        """Return the names."""
        return list(summaries())

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002  # called by typer
        """Return a command by name, or None."""
        return build(cmd_name) if cmd_name in summaries() else None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the words begin with, or say which one may have been meant."""
        if args[0] not in summaries() and not args[0].startswith("-"):
            near = difflib.get_close_matches(args[0], summaries(), 1)
            raise UsageFault(f"there is no command {args[0]!r}" + (f"; did you mean {near[0]!r}?" if near else ""), do="driftwatch --help")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002  # called by typer
        """Write the list without importing a command."""
        with formatter.section("Commands"):
            formatter.write_dl(list(summaries().items()))


def build_root() -> Any:
    """Return the root command: global options, and the overview where no command is named."""
    app = typer.Typer(cls=Commands, name="driftwatch", rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=True, invoke_without_command=True,
                      context_settings={"help_option_names": ["-h", "--help"]})
    app.callback()(_overview)
    root = typer.main.get_command(app)
    return _with_globals(root, given.FORMATS)


def _tell_version(is_asked: bool) -> None:
    if is_asked:
        from importlib_metadata import version  # noqa: PLC0415  # only --version asks

        typer.echo(f"driftwatch {version('driftwatch-gpu')}")
        raise typer.Exit


def _overview(
    ctx: typer.Context, *, _: Annotated[bool, typer.Option("--version", help="Tell the version and end.", callback=_tell_version, is_eager=True)] = False,
) -> None:
    """Tell what changed between the run that worked and the run that does not."""
    if ctx.invoked_subcommand is None:
        typer.echo(OVERVIEW.format(commands=" ".join(summaries())), nl=False)


def build(name: str) -> Any:
    """Return a command, built from ``command`` of its file; a tuple ``FORMATS`` there lists the formats that it has."""
    module = importlib.import_module(f"driftwatch.cli.{name}{'_' * keyword.iskeyword(name)}")
    app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False)
    app.command(name, cls=Command, context_settings={"help_option_names": ["-h", "--help"]})(module.command)
    return _with_globals(typer.main.get_command(app), getattr(module, "FORMATS", given.FORMATS))


def _with_globals(command: Any, formats: tuple[str, ...]) -> Any:
    """Return the command with the global options that it does not have itself."""
    shared = typer.Typer(add_completion=False)
    shared.command("shared")(given.declare)
    taken = {one for param in command.params for one in param.opts}
    for param in typer.main.get_command(shared).params:
        if not taken.intersection(param.opts):
            param.metavar = f"[{'|'.join(formats)}]" if param.name == "format_name" else param.metavar
            command.params.append(param)
    return command
