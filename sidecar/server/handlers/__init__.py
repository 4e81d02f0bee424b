"""What each request does: params to ``control``, and what comes of it to views; no decisions."""
