"""One module a command; each has ``run(invocation)``, which returns the exit code."""
