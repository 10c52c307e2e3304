"""How sources read files and ask programs: bounded, and with an error that names the place."""

from __future__ import annotations

import subprocess

from driftwatch.fleet.errors import FleetError
from driftwatch.places import user_path

LARGEST_FILE = 64 << 20
PROGRAM_S = 60.0
LONGEST_SAID = 300


def read_text(place: str) -> str:
    """Return an inventory's text. Raises FleetError where it cannot be read."""
    path = user_path(place, FleetError)
    try:
        if not path.is_file():
            raise FleetError("there is no such inventory file", place, "check its path")
        with path.open("rb") as file:
            found = file.read(LARGEST_FILE + 1)
        if len(found) > LARGEST_FILE:
            raise FleetError(f"the inventory is larger than {LARGEST_FILE >> 20} MiB", place)
        return found.decode("utf-8")
    except OSError as failed:
        raise FleetError(f"the inventory cannot be read: {(failed.strerror or str(failed)).lower()}", place) from None
    except UnicodeDecodeError:
        raise FleetError("the inventory is no UTF-8 text", place) from None


def ask_program(argv: list[str]) -> str:
    """Return what a program prints. Raises FleetError where it is missing, fails or takes longer than a minute."""
    called = " ".join(argv)
    try:
        asked = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PROGRAM_S, check=False)
    except FileNotFoundError:
        raise FleetError(f"{argv[0]} is not installed here", called, "run it where it is, or name the hosts in the config file") from None
    except (OSError, ValueError, subprocess.TimeoutExpired) as failed:
        raise FleetError(f"{argv[0]} gave no answer: {failed}"[:LONGEST_SAID], called) from None
    if asked.returncode:
        raise FleetError(f"{argv[0]} failed: {(asked.stderr.strip() or asked.stdout.strip())[:LONGEST_SAID]}", called)
    return asked.stdout
