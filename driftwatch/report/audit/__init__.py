"""An audit as people and programs read it: one file, one format, each with ``render(night, page)``."""
