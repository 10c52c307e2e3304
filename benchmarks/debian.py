"""Peers that Debian packages: a program that is missing is installed where that can be done, or it is said why not."""

from __future__ import annotations

import os
import shutil
import subprocess

APT = ("apt-get", "-qq", "-o", "Acquire::http::Timeout=20")


def no(program: str, package: str = "") -> str:
    """Return why a program cannot be run, or "". Installs its package ("" is one of the same name) first where that can be done."""
    if shutil.which(program):
        return ""
    if not shutil.which("apt-get") or os.geteuid() != 0:
        return f"no {program} here, and only root can install it, on a Debian"
    steps = ((*APT, "update"), (*APT, "-y", "install", "--no-install-recommends", package or program))
    said = [subprocess.run(step, check=False, capture_output=True, text=True, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"}) for step in steps]
    last = (said[-1].stderr.strip() or f"apt-get ended with {said[-1].returncode}").splitlines()[-1]
    return "" if shutil.which(program) else f"{package or program} cannot be installed: {last[:80]}"
