"""The store's secret: from it comes one redaction key a host, so that a changed secret can be told from an equal one and no key tells another host's."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from pathlib import Path

from driftwatch.store import document, durable
from driftwatch.store.errors import StoreError

KEY_BYTES = 32
KEY_FILE = "key"
ADVICE = "restore it from a backup, or remove it: secrets then compare as unknown with older snapshots"
ID_DIGITS = 12


@dataclass(frozen=True, repr=False)
class HostKey:
    """The redaction key of one host, and the name by which snapshots call it."""

    key: bytes
    key_id: str


def load_key(root: Path) -> bytes:
    """Return the store's key, made at first use. Raises StoreError where it can neither be read nor made."""
    path = root / KEY_FILE
    try:
        if not path.exists():
            _make(root)
        data = document.read_bounded(path, KEY_BYTES, follow=False, advice=ADVICE)
    except OSError as failed:
        raise StoreError(f"the store's key cannot be made: {(failed.strerror or str(failed)).lower()}", str(path), "name another store with --store") from None
    if len(data) != KEY_BYTES:
        raise StoreError(f"the store's key is damaged: {len(data)} bytes, not {KEY_BYTES}", str(path), ADVICE)
    return data


def new_key() -> bytes:
    """Return a key that is kept nowhere."""
    return secrets.token_bytes(KEY_BYTES)


def host_key(store_key: bytes, host: str) -> HostKey:
    """Return the redaction key of a host: HMAC-SHA256 of its name under the store's key."""
    key = hmac.digest(store_key, host.encode("utf-8", "surrogatepass"), "sha256")
    return HostKey(key, hashlib.sha256(key).hexdigest()[:ID_DIGITS])


def _make(root: Path) -> None:
    durable.make_folder(root)
    if root.stat().st_mode & durable.WRITABLE_BY_OTHERS:
        raise StoreError("the store is refused: others than its owner may write into it", str(root), f"chmod go-w {root}")
    try:
        durable.write_new(root, KEY_FILE, new_key())
    except FileExistsError:
        return
