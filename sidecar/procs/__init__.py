"""The operating system: processes, their trees, and the proof that they are gone."""
