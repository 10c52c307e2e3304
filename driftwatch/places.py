"""Paths and addresses as people write them, and whose a file is. Knows no room: an error is made by whoever asks."""

from __future__ import annotations

import grp
import os
import pwd
import stat
from collections.abc import Callable
from pathlib import Path


def user_path(text: str, refuse: Callable[[str, str, str], Exception]) -> Path:
    """Return a path, ``~`` and ``~USER`` in it replaced. Where there is no such home, raise what ``refuse`` makes of: what is wrong, where, what to do."""
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise refuse(f"there is no home folder {Path(text).parts[0]}", text, "write the whole path") from None


def is_web_address(text: str) -> bool:
    """Tell whether a text is an http or https URL with a host and, where it has one, a port that can be."""
    from urllib.parse import urlsplit  # noqa: PLC0415  # only whoever has an address pays for it

    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def is_own(found: os.stat_result) -> bool:
    """Tell whether a file is ours or root's, and nobody else may write to it."""
    if found.st_uid not in (0, os.geteuid()) or found.st_mode & stat.S_IWOTH:
        return False
    return not found.st_mode & stat.S_IWGRP or _is_alone_in_group(found)


def _is_alone_in_group(found: os.stat_result) -> bool:
    """Tell whether a file's group is its owner alone, as where each user has a group of that name and files are made with umask 002 (pam_umask)."""
    try:
        owner, group = pwd.getpwuid(found.st_uid), grp.getgrgid(found.st_gid)
    except KeyError:
        return False
    return (owner.pw_name, owner.pw_gid) == (group.gr_name, group.gr_gid) and set(group.gr_mem) <= {owner.pw_name}
