"""Destinations that are no logins: a container through its client, and a node through Slurm. Pure text: what may be written, and nothing else.

Inside and outside of a container are two views of one host. A view has a name of its own in the store, made of plain words: ``web.docker.gpu-a``.
"""
from __future__ import annotations

import re

CONTAINER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}")
LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
POD = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?")
NODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
ENGINES = ("docker", "podman")
CLUSTER = "kubectl"
NODES = "slurm"
AROUND = "enter"
FIRST_PROCESS = "1"
VIEWS = (*ENGINES, CLUSTER, NODES, AROUND)
HERE = "local"


def take_apart(scheme: str, rest: str) -> tuple[str, str]:
    """Return the container and the login of the machine that is asked for it (``local``: this one); of a Slurm node "" and its name.

    Raises ValueError with the rule that the text breaks.
    """
    if scheme == NODES:
        return "", _node(rest)
    if scheme == CLUSTER:
        return _pod(rest), HERE
    if scheme == AROUND:
        if rest != FIRST_PROCESS:
            raise ValueError("the machine around this container is written enter://1")
        return rest, HERE
    name, mark, login = rest.partition("@")
    if CONTAINER.fullmatch(name) is None:
        raise ValueError(f"a container is written {scheme}://NAME or {scheme}://NAME@HOST, with letters, digits, dot, underscore and hyphen in NAME")
    if mark and not login:
        raise ValueError("it names no host behind @")
    return name, login or HERE


def _pod(rest: str) -> str:
    parts = rest.split("/")
    fits = len(parts) in (2, 3) and all(shape.fullmatch(one) for shape, one in zip((LABEL, POD, LABEL), parts, strict=False))
    if not fits:
        raise ValueError("a pod is written kubectl://NAMESPACE/POD or kubectl://NAMESPACE/POD/CONTAINER, with small letters, digits, hyphens (and dots in POD)")
    return rest


def _node(rest: str) -> str:
    if NODE.fullmatch(rest) is None:
        raise ValueError("a node is written slurm://NODE and many slurm://[gpu[001-064]], by Slurm's own names")
    return rest


def as_written(scheme: str, inside: str, login: str) -> str:
    """Return a view as people write it."""
    if scheme == NODES:
        return f"{scheme}://{login}"
    return f"{scheme}://{inside}" + ("" if login == HERE else f"@{login}")


def name_of(scheme: str, inside: str, host: str) -> str:
    """Return the name of a view in the store; of what is no container the host itself."""
    if not inside or scheme == AROUND:
        return host
    words = [*reversed(inside.split("/")), scheme]
    return ".".join(words if scheme == CLUSTER else [*words, host])
