"""The part that runs on the host: standard library alone, Python 3.8 and newer."""
