"""What a caller can do, without any transport."""
