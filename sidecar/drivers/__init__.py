"""Agents, sans-IO: bytes and messages in, events and bytes out."""
