"""sidecar: an agent supervisor that editors spawn; here lives its version, nothing else."""

__version__ = "0.1.0"
