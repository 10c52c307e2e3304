"""Objects by key in what fsspec carries: read, written once, listed, removed. Every call ends within our own bound, and every failure is a StoreError.

fsspec and what it needs are imported when the first object is asked for. Nothing here knows what the objects mean.
"""

from __future__ import annotations

import contextlib
import inspect
import re
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cached_property, partial
from typing import Any

from driftwatch.store.bounded import all_of, within
from driftwatch.store.errors import NOT_STORED, REFUSED, NoStore, StoreError

CALL_S = 30.0
CONNECT_S = 5
READ_S = 12
REST_S = 30.0
AT_ONCE = 16
TRIES = 3
MOST_REMOVED = 1000
CONFLICT = "ConditionalRequestConflict"  # S3: two asked at once to be the first; it wants to be asked again
WHOLE_PUTS = ("s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "adl", "oci", "oss", "memory")  # a put there is whole or not at all
S3 = ("s3", "s3a")
EXTRAS = {"s3": "s3", "s3a": "s3", "gs": "gcs", "gcs": "gcs"}
RENEW = "renew the credentials"
AGAIN = "see whether the store is up and repeat it"
_USERINFO = re.compile(r"(?<=://)[^/@]*@")
_GONE = (FileNotFoundError,)


class _NotExclusive(Exception):
    """The file system takes the option to write only what is not there, and then says that it cannot."""


@dataclass(frozen=True)
class Found:
    """An object as a listing tells it: its key, its bytes, and when it was written (seconds since 1970; None where the store does not tell)."""

    key: str
    size_bytes: int
    written_s: float | None


class Bucket:
    """The objects below one URL."""

    def __init__(self, url: str, call_s: float = CALL_S) -> None:
        self.url = url.rstrip("/") if not url.endswith("://") else url
        self.call_s = call_s
        self.scheme = url.partition("://")[0]
        self.place = _USERINFO.sub("", self.url)
        self._rests_until = 0.0

    @cached_property
    def _opened(self) -> tuple[Any, str]:
        """Return the file system and the path of the URL in it."""
        try:
            import fsspec  # noqa: PLC0415  # only a store that is no folder pays for it

            options: dict[str, Any] = {"use_listings_cache": False, "skip_instance_cache": True}
            if self.scheme in S3:
                options["max_concurrency"] = 1  # of one object: else s3fs asks for its size before it reads it
                options["config_kwargs"] = {"connect_timeout": CONNECT_S, "read_timeout": READ_S, "retries": {"max_attempts": 1}}
            files, path = fsspec.core.url_to_fs(self.url, **options)
        except ImportError as missing:
            extra = EXTRAS.get(self.scheme, "store")
            do = f"pip install 'driftwatch-gpu[{extra}]'" if extra in ("s3", "store") else f"pip install what fsspec names for {self.scheme}://"
            raise StoreError(f"a store at {self.scheme}:// needs a library that is not installed: {missing}", self.place, do) from None
        except ValueError as wrong:
            raise NoStore(f"{self.scheme}:// is no store: {wrong}", self.place, "name a folder, s3://BUCKET/PREFIX or what else fsspec carries") from None
        if self.scheme in S3:
            files.retries = TRIES  # of s3fs, which tries five times by itself
        return files, str(path)

    @cached_property
    def _is_exclusive(self) -> bool:
        """Tell whether the store can be asked to write only what is not there (If-None-Match), whole or not at all."""
        files = self._opened[0]
        return self.scheme in WHOLE_PUTS and "mode" in inspect.signature(getattr(files, "_pipe_file", files.pipe_file)).parameters

    def read(self, key: str) -> bytes | None:
        """Return an object's bytes, or None where there is none."""
        try:
            found: bytes = self._ask(key, REFUSED, lambda files, path: files.cat_file(path))
        except _GONE:
            return None
        return found

    def read_many(self, keys: Sequence[str]) -> list[bytes | None]:
        """Return the bytes of objects in their order, None for those that are not there."""
        return all_of(self.read, keys, AT_ONCE)

    def write_new(self, key: str, data: bytes) -> bool:
        """Write an object that must not exist yet and return True; False where it exists: then nothing was written."""
        if self._is_exclusive:
            with contextlib.suppress(_NotExclusive):
                return self._create(key, data)
        if self._ask(key, NOT_STORED, lambda files, path: files.exists(path)):
            return False
        self.write_over(key, data)
        return True

    def _create(self, key: str, data: bytes) -> bool:
        for _ in range(TRIES):
            is_new = self._create_once(key, data)
            if is_new is not None:
                return is_new
        raise StoreError("the store took nothing: others write the same object again and again", f"{self.place}/{key}", AGAIN, NOT_STORED)

    def _create_once(self, key: str, data: bytes) -> bool | None:
        """Return whether the object was new; None where the store wants to be asked again."""

        def create(files: Any, path: str) -> None:
            self._make_above(files, path)
            try:
                files.pipe_file(path, data, mode="create")
            except NotImplementedError:  # what fsspec's file systems raise for what they cannot do
                raise _NotExclusive from None

        try:
            self._write(key, create)
        except FileExistsError:
            return False
        except StoreError as failed:
            if CONFLICT not in failed.what:
                raise
            self._rests_until = 0.0
            return None
        return True

    def write_over(self, key: str, data: bytes) -> None:
        """Write an object, over one that is there. A reader sees the old one or the new one."""

        def put(files: Any, path: str) -> None:
            self._make_above(files, path)
            if self.scheme in WHOLE_PUTS:
                files.pipe_file(path, data)
                return
            temporary = f"{path}.tmp-{secrets.token_hex(4)}"
            files.pipe_file(temporary, data)
            files.mv(temporary, path)

        self._write(key, put)

    def _write(self, key: str, call: Callable[[Any, str], None]) -> None:
        try:
            self._ask(key, NOT_STORED, call)
        except FileNotFoundError:
            do = "make the bucket, or name another with --store"
            raise StoreError("the store took nothing: its bucket is not there", self.place, do, NOT_STORED) from None

    def names(self, prefix: str) -> list[str]:
        """Return the last parts of the keys and folders directly below a prefix, sorted."""
        try:
            found: list[str] = self._ask(prefix, REFUSED, lambda files, path: files.ls(path, detail=False))
        except (*_GONE, NotADirectoryError):
            return []
        return sorted({one.rstrip("/").rpartition("/")[2] for one in found} - {""})

    def below(self, prefix: str) -> list[Found]:
        """Return all objects below a prefix, however deep."""
        try:
            found: dict[str, Any] = self._ask(prefix, REFUSED, lambda files, path: files.find(path, detail=True), seconds=self.call_s * 10)
        except _GONE:
            return []
        cut = len(self._opened[1].rstrip("/")) + 1
        return [Found(path[cut:], int(one.get("size") or 0), _seconds(one)) for path, one in found.items()]

    def written_s(self, key: str) -> float | None:
        """Return when an object was written, in seconds since 1970; None where it is not there or the store does not tell."""
        try:
            return _seconds(self._ask(key, REFUSED, lambda files, path: files.info(path)))
        except _GONE:
            return None

    def remove(self, keys: Sequence[str]) -> None:
        """Remove objects; those that are not there are fine."""
        if self.scheme not in S3:
            all_of(self._remove_one, keys, AT_ONCE)
            return
        for start in range(0, len(keys), MOST_REMOVED):
            self._ask("", NOT_STORED, partial(_remove_at_once, keys=keys[start : start + MOST_REMOVED]))

    def _remove_one(self, key: str) -> None:
        with contextlib.suppress(*_GONE):
            self._ask(key, NOT_STORED, lambda files, path: files.rm_file(path))

    def _ask(self, key: str, code: int, call: Callable[[Any, str], Any], seconds: float | None = None) -> Any:
        """Return what a call of the file system on the key's path returns. What is or is not there is told by the usual exceptions, all else by StoreError."""
        files, root = self._opened
        self._rest(key, code)
        path = f"{root.rstrip('/')}/{key}" if key else root
        try:
            return within(seconds or self.call_s, call, files, path)
        except (FileNotFoundError, FileExistsError, NotADirectoryError, _NotExclusive):
            raise
        except Exception as failed:  # noqa: BLE001  # each library below has errors of its own
            raise self._refusal(failed, key, code) from None

    def _refusal(self, failed: Exception, key: str, code: int) -> StoreError:
        where = f"{self.place}/{key}" if key else self.place
        what = "the store cannot be read" if code == REFUSED else "the store took nothing"
        if isinstance(failed, PermissionError) or "redential" in type(failed).__name__:
            return StoreError(f"{what}: it refuses us: {_said(failed)}", where, f"{RENEW} (expired or without the right), then repeat it", code)
        if not isinstance(failed, (ValueError, IsADirectoryError)):
            self._rests_until = time.monotonic() + REST_S
        return StoreError(f"{what}: {_said(failed)}", where, AGAIN, code)

    def _rest(self, key: str, code: int) -> None:
        """Raise StoreError at once while a store that failed a moment ago rests: a thousand snapshots must not each wait for it."""
        if time.monotonic() < self._rests_until:
            raise StoreError("the store failed a moment ago and is not asked again yet", f"{self.place}/{key}", AGAIN, code)

    def _make_above(self, files: Any, path: str) -> None:
        """Make the folders above a path where the store has folders."""
        if self.scheme not in WHOLE_PUTS:
            files.makedirs(path.rpartition("/")[0], exist_ok=True)


def _remove_at_once(files: Any, root: str, keys: Sequence[str]) -> None:
    """Remove up to a thousand objects of S3 with one request."""
    from fsspec.asyn import sync  # noqa: PLC0415  # as above

    sync(files.loop, files._bulk_delete, [f"{root}/{one}" for one in keys])  # noqa: SLF001  # its public `rm` asks for every object first


def _seconds(told: Any) -> float | None:
    """Return when a listed object was written, by whichever name the file system tells it."""
    for name in ("LastModified", "last_modified", "mtime", "updated", "modified", "created"):
        found = told.get(name)
        if isinstance(found, str):
            with contextlib.suppress(ValueError):
                found = datetime.fromisoformat(found.replace("Z", "+00:00"))
        if isinstance(found, datetime):
            return (found if found.tzinfo else found.replace(tzinfo=timezone.utc)).timestamp()
        if isinstance(found, (int, float)):
            return float(found)
    return None


def _said(failed: Exception) -> str:
    words = " ".join(str(getattr(failed, "strerror", None) or failed).split()) or type(failed).__name__
    return words[:300]
