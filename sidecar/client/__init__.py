"""The client library: scripts that launch and watch runs, by way of a server of their own."""
