"""Agent and transport become a Snapshot: the one place where frames are folded, every planned probe accounted for."""
