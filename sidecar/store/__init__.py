"""The state directory: files, locks and doorbells."""
