"""One file, one topic. Each offers ``PROBES``; the folder is scanned on the controller, which sends the plan."""
