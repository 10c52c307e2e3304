"""One file, one way to reach a host: bytes in, frames out. Knows nothing of probes."""
