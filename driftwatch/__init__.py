"""driftwatch: what changed between the run that worked and the run that does not. Imports nothing, since the agent carries it."""
