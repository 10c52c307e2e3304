"""Two snapshots become changes. Pure."""
