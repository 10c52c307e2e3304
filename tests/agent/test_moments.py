"""Times as text, against the calendar that Python brings."""

import random
from datetime import datetime, timedelta, timezone

import pytest

from driftwatch.agent.moments import iso

EDGES = ["1970-01-01T00:00:00", "1999-12-31T23:59:59", "2000-02-29T12:00:00", "2000-03-01T00:00:00", "2024-02-29T23:59:59", "2100-02-28T23:59:59",
         "2100-03-01T00:00:00", "1969-12-31T23:59:59", "1600-02-29T01:02:03", "0004-02-29T00:00:00", "9999-12-31T23:59:59"]
UNIX = datetime(1970, 1, 1, tzinfo=timezone.utc)


def seconds(text):
    return (datetime.fromisoformat(text).replace(tzinfo=timezone.utc) - UNIX) // timedelta(seconds=1)


@pytest.mark.parametrize("text", EDGES)
def test_a_time_at_an_edge_of_the_calendar_is_told_as_it_is(text):
    assert iso(seconds(text)) == text + "Z"


def test_times_of_eight_thousand_years_agree_with_the_calendar_of_python():
    chosen = random.Random(1)
    moments = [UNIX + timedelta(seconds=chosen.randint(-40_000_000_000, 190_000_000_000)) for _ in range(2000)]
    assert [iso((moment - UNIX) // timedelta(seconds=1)) for moment in moments] == [moment.isoformat().replace("+00:00", "Z") for moment in moments]
