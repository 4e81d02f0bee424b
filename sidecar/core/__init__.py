"""The pure core: decisions over frozen types, without I/O, clock, randomness or environment."""
