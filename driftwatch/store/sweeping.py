"""Which lists of an object store nobody needs any more. A list goes only when no base in use names it and it was not written to for a week.

A writer that comes upon a list older than three days writes it again (bases.py), so none goes between its being found and its being named.
"""

from __future__ import annotations

import time
from collections.abc import Collection

from driftwatch.store import object_names as names
from driftwatch.store.bases import Bases
from driftwatch.store.bucket import Bucket
from driftwatch.store.names import ID_DIGITS
from driftwatch.store.records import Swept


def sweep_lists(bucket: Bucket, bases: Bases, stems: Collection[str], *, is_real: bool) -> Swept:
    """Return the lists that none of the bases in use needs (``stems``: the first digits of their digests); with ``is_real`` they are removed."""
    lists = bucket.below(names.LISTS)
    in_use = [names.digest_of(one.key) for one in lists if names.digest_of(one.key)[:ID_DIGITS] in stems]
    needed = set(in_use).union(*(bases.piece_digests(stem) for stem in in_use)) if in_use else set()
    idle = [one for one in lists if names.digest_of(one.key) not in needed]
    now = time.time()
    old = [one for one in idle if _is_old(one.written_s, now, bases.ages.taken_s)]
    if is_real:
        old = [one for one in old if _is_old(bucket.written_s(one.key), now, bases.ages.taken_s)]  # nobody wrote to it since
        bucket.remove([one.key for one in old])
    return Swept(len(old), sum(one.size_bytes for one in old), len(idle) - len(old), len(needed), tuple(one.key for one in old))


def _is_old(written_s: float | None, now: float, taken_s: float) -> bool:
    """Tell whether a list may go; one of which the store does not tell when it was written may not."""
    return written_s is not None and now - written_s > taken_s
