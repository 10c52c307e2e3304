"""What the shell offers after Tab: references, from the names of folders and tags alone. Opens no snapshot, and never complains."""

from __future__ import annotations

import os
from pathlib import Path

from driftwatch.settings import SettingsError, load_settings, store_root
from driftwatch.store.errors import StoreError
from driftwatch.store.files import FileStore
from driftwatch.store.labels import label_names


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


def _hosts(store: FileStore) -> tuple[str, ...]:
    try:
        return tuple(host for host in store.hosts() if host.isprintable())
    except StoreError:
        return ()


def _store() -> FileStore | None:
    try:
        return FileStore(store_root(load_settings(os.environ, Path.cwd())))
    except (SettingsError, OSError):
        return None
