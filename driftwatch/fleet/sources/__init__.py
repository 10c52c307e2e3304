"""Where hosts are listed: one file, one kind of inventory. Each has ``read(place)``, which returns what that inventory lists."""
