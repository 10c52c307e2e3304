"""Seconds since 1970 as a date and time of day. Arithmetic alone: importing ``datetime`` costs a probe's child more than all that it would do there."""
from __future__ import annotations

DAYS_BEFORE_1970 = 719468  # from 1 March of the year 0, where each year ends with its leap day
DAYS_OF_400_YEARS = 146097


def iso(seconds: int) -> str:
    """Return a time in seconds since 1970 as ISO text in UTC: ``2026-03-04T03:12:00Z``."""
    days, second = divmod(seconds, 86400)
    era, day_of_era = divmod(days + DAYS_BEFORE_1970, DAYS_OF_400_YEARS)
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36524 - day_of_era // 146096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    since_march = (5 * day_of_year + 2) // 153  # months of 31, 30, 31, 30, 31 days, again and again
    day = day_of_year - (153 * since_march + 2) // 5 + 1
    month = since_march + 3 if since_march < 10 else since_march - 9
    year = era * 400 + year_of_era + (month <= 2)
    return "%04d-%02d-%02dT%02d:%02d:%02dZ" % (year, month, day, second // 3600, second // 60 % 60, second % 60)
