"""The terminal face of control."""
