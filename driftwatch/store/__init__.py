"""Snapshots and files: one immutable JSON file a snapshot."""
