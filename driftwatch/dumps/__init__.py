"""Texts that people already have (pasted output of other tools) -> snapshots. Pure: no files, no clock."""
