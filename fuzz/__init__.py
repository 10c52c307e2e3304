"""Fuzz targets: whatever bytes come, there are facts, a named status or the declared refusal, within bounds of memory and time."""
