"""Many hosts: which there are, what a night found, what was told already, how it is scheduled and announced."""
