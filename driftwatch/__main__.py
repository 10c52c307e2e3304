"""``python -m driftwatch``: the same as the command ``driftwatch``."""

from driftwatch.cli.main import run

if __name__ == "__main__":
    run()
