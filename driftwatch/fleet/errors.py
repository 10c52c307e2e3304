"""What goes wrong with many hosts."""

from __future__ import annotations


class FleetError(Exception):
    """An inventory, a selection or an announcement that cannot be followed: what is wrong, where, and what to do."""

    def __init__(self, what: str, where: str = "", do: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.do = do
