"""What stands at a path that a user typed. A name that no file can have, too long or with a NUL in it, names nothing, and is no error of ours."""

from __future__ import annotations

from pathlib import Path


def is_file(path: str | Path) -> bool:
    """Tell whether a regular file is there, or a link to one."""
    try:
        return Path(path).is_file()
    except (OSError, ValueError):
        return False


def is_folder(path: str | Path) -> bool:
    """Tell whether a folder is there, or a link to one."""
    try:
        return Path(path).is_dir()
    except (OSError, ValueError):
        return False
