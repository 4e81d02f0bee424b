"""The JSON-RPC face of control."""
