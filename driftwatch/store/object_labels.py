"""Labels of an object store: every setting and removal is a small object of its own, written once; the newest of a name is what it means now.

ROOT/hosts/HOST/labels/NAME/TIME--RANDOM.json. No label is ever moved by writing over anything, so its history cannot be lost by two writers.
"""

from __future__ import annotations

import secrets
import time
from collections import defaultdict

from driftwatch.store import object_names as names
from driftwatch.store import records
from driftwatch.store.bucket import Bucket
from driftwatch.store.errors import StoreError
from driftwatch.store.names import compact_time, is_label
from driftwatch.store.records import Label


class ObjectLabels:
    """The labels of one bucket."""

    def __init__(self, bucket: Bucket) -> None:
        self.bucket = bucket

    def label_names(self, host: str) -> tuple[str, ...]:
        """Return the names of a host's labels that are set, sorted."""
        return tuple(name for name, key in sorted(self._newest(host).items()) if self._read(key).file)

    def read_label(self, host: str, name: str) -> Label | None:
        """Return a label, or None where it is not set."""
        key = self._newest(host).get(name)
        label = self._read(key) if key else None
        return label if label is not None and label.file else None

    def write_label(self, host: str, label: Label) -> None:
        """Set a label, or take it away where ``label.file`` is empty."""
        stamp = f"{compact_time(label.set_at)}-{time.time_ns() % 10**9:09}--{secrets.token_hex(4)}"
        self.bucket.write_new(f"{names.host_key(host)}/{names.LABELS}/{label.name}/{stamp}.json", records.to_bytes(label))

    def label_history(self, host: str) -> tuple[Label, ...]:
        """Return all that ever happened to a host's labels, oldest first."""
        keys = sorted((key for found in self._all(host).values() for key in found), key=lambda key: key.rpartition("/")[2])
        return tuple(self._read(key) for key in keys)

    def _newest(self, host: str) -> dict[str, str]:
        return {name: max(keys) for name, keys in self._all(host).items()}

    def _all(self, host: str) -> dict[str, list[str]]:
        """Return the keys of a host's labels by name."""
        found: dict[str, list[str]] = defaultdict(list)
        for one in self.bucket.below(f"{names.host_key(host)}/{names.LABELS}"):
            name = one.key.split("/")[-2]
            if is_label(name):
                found[name].append(one.key)
        return found

    def _read(self, key: str) -> Label:
        try:
            return records.parse_label(self.bucket.read(key) or b"")
        except (ValueError, KeyError, TypeError):
            name, host = key.split("/")[-2], key.split("/")[1]
            raise StoreError(f'the tag "{name}" of {host} is damaged', f"{self.bucket.place}/{key}", f"driftwatch tag {name} REF   sets it again") from None
