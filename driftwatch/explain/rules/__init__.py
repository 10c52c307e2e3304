"""One file, one kind of reasoning; each offers ``RULES``, found by folder scan."""
