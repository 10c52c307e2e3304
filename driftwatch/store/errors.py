"""The one exception of the store: what is wrong, where, and what to do, each one line for people."""

from __future__ import annotations

REFUSED = 2
NOT_STORED = 4


class StoreError(Exception):
    """A file that is refused, a reference that leads nowhere, or a snapshot that could not be stored. ``code`` is the exit code that goes with it."""

    def __init__(self, what: str, where: str = "", do: str = "", code: int = REFUSED) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.do = do
        self.code = code


class NoStore(StoreError):
    """A place that no store can ever be at, such as a URL whose scheme nobody knows: it is mistyped, and nothing waits for it."""
