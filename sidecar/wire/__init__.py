"""The JSON-RPC surface as data."""
