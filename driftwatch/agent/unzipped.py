"""Modules out of the shipped zip, compiled once. ``zipimport`` compiles each twice: the first time only to tell the name of its file. Changes no answer."""
from __future__ import annotations

from .typed import Any


def compile_once(loader: Any) -> None:
    """Let the loader of a module tell the names of files in its own zip without compiling; nothing where it reads no zip."""
    kind, archive = type(loader), getattr(loader, "archive", None)
    if archive is None:
        return
    usual = kind.get_filename

    def named(self: Any, name: str) -> str:
        if self.archive != archive:
            return str(usual(self, name))
        return "%s/%s%s%s" % (archive, self.prefix, name.rpartition(".")[2], "/__init__.py" if self.is_package(name) else ".py")

    try:
        kind.get_filename = named
    except (AttributeError, TypeError):  # an interpreter whose loader cannot be changed compiles twice
        return
