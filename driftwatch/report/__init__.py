"""An explanation becomes text, JSON … One file, one format; each returns text, the command writes it."""
