"""Which store a place names: a folder by its path, or a URL that fsspec carries. Opens nothing yet: a store is looked at when something is asked of it."""

from __future__ import annotations

import hashlib
from pathlib import Path

from driftwatch.places import user_path
from driftwatch.store.errors import StoreError
from driftwatch.store.files import FileStore
from driftwatch.store.seam import Store

FOLDERS = ("file://", "local://")


def open_store(place: str, beside: Path) -> Store:
    """Return the store at a path or URL. ``beside`` is a folder of this machine, below which a store behind a URL keeps what only saves time."""
    if is_url(place):
        from driftwatch.store.objects import ObjectStore  # noqa: PLC0415  # a folder store, the usual one, starts without it

        return ObjectStore(place, FileStore(beside / place_digits(place)))
    return FileStore(folder_of(place))


def is_url(place: str) -> bool:
    """Tell whether a place is a URL that is no folder of this machine."""
    return "://" in place and not place.startswith(FOLDERS)


def folder_of(place: str) -> Path:
    """Return the folder that a path or a file:// URL names. Raises StoreError for a home that there is not."""
    for one in FOLDERS:
        place = place.removeprefix(one)
    return user_path(place, StoreError)


def place_digits(place: str) -> str:
    """Return a name for a place that a folder can bear: the first digits of its digest."""
    return hashlib.sha256(place.rstrip("/").encode("utf-8", "surrogatepass")).hexdigest()[:16]
