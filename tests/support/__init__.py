"""What several tests need; each module here is one seam, so that a change meets one helper."""
