"""The supervising process, one per run."""
