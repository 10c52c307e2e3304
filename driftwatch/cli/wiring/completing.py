"""What the shell offers after Tab: references from the names of folders and tags alone, and facts from one snapshot. Never complains."""

from __future__ import annotations

import os
from pathlib import Path

import typer

from driftwatch.settings import SettingsError, load_settings, store_place
from driftwatch.store import document
from driftwatch.store.errors import StoreError
from driftwatch.store.labels import label_names
from driftwatch.store.opening import is_url, open_store
from driftwatch.store.references import is_path, resolve
from driftwatch.store.seam import Store
from driftwatch.symptom import SYMPTOM_CLASSES


def complete_host(incomplete: str) -> list[str]:
    """Return the stored hosts whose names begin so."""
    store = _store()
    return [] if store is None else [host for host in _hosts(store) if host.startswith(incomplete)]


def complete_ref(incomplete: str) -> list[str]:
    """Return the references that begin so: HOST@last and HOST@TAG."""
    store = _store()
    if store is None:
        return []
    host, at, _ = incomplete.partition("@")
    hosts = [one for one in _hosts(store) if (one == host if at else one.startswith(host))]
    refs = [f"{one}@{which}" for one in hosts for which in ("last", *label_names(store, one))]
    return [ref for ref in refs if ref.startswith(incomplete)]


def complete_tag(incomplete: str) -> list[str]:
    """Return the tags in use on any host that begin so."""
    store = _store()
    names = () if store is None else (name for host in _hosts(store) for name in label_names(store, host))
    return sorted({name for name in names if name.startswith(incomplete)})


def complete_fact(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the paths of facts that begin so, up to their next slash: those of the snapshot, or of the newest of the host, that stands before them."""
    words = [*(ctx.params.get(name) for name in ("ref", "host")), *ctx.args]  # in the midst of an option, click leaves arguments where they were
    paths = _facts_of(str(next(filter(None, words), "")))
    start = incomplete.rfind("/") + 1
    found = {path[: cut + 1] if (cut := path.find("/", max(start, len(incomplete)))) >= 0 else path for path in paths if path.startswith(incomplete)}
    return sorted(one for one in found if one.isprintable())


def complete_symptom(incomplete: str) -> list[str]:
    """Return the classes of symptoms that begin so."""
    return [one for one in SYMPTOM_CLASSES if one.startswith(incomplete)]


def _facts_of(ref: str) -> tuple[str, ...]:
    store = _store()
    if store is None or not ref:
        return ()
    try:
        entry = resolve(ref if "@" in ref or is_path(ref) else f"{ref}@last", store)
        snapshot = store.load(entry.entry) if entry.entry is not None else document.load(entry.path) if entry.kind == "file" and entry.path else None
    except StoreError:
        return ()
    return tuple(snapshot.facts) if snapshot is not None else ()


def _hosts(store: Store) -> tuple[str, ...]:
    try:
        return tuple(host for host in store.hosts() if host.isprintable())
    except StoreError:
        return ()


def _store() -> Store | None:
    """Return the store if it is a folder: one behind a network would hold the shell up."""
    try:
        place = store_place(load_settings(os.environ, Path.cwd()))
        return None if is_url(place) else open_store(place, Path())
    except (SettingsError, StoreError, OSError):
        return None
