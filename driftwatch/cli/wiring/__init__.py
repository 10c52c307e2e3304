"""What the commands share: finding them, global options, places to read from and write to, and how errors are told."""
