"""One file, one command: wires and exit codes only. What several commands share stands in ``wiring``."""
