"""Programs that tests start as agents; each is a script of its own and imports nothing of ours."""
