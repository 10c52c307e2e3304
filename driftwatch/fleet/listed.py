"""A host as an inventory lists it: its name, how it is reached, and the groups it is in."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Listed:
    """One host of a source: ``dest`` is what reaches it (HOST, USER@HOST or SCHEME://USER@HOST:PORT), its name where nothing else is told."""

    name: str
    dest: str
    groups: tuple[str, ...] = ()


def reached(name: str, address: str = "", user: str = "", port: str = "") -> str:
    """Return the destination of a host from the parts that an inventory tells."""
    host = address or name
    login = f"{user}@{host}" if user else host
    if not port or port == "22":
        return login
    bracketed = f"[{host}]" if ":" in host else host
    return f"ssh://{user}@{bracketed}:{port}" if user else f"ssh://{bracketed}:{port}"
