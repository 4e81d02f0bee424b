"""What every test here gets: servers of ours, on a state of their own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.serving import OURS, Servers, SidecarClient


@pytest.fixture
def servers(
    request: pytest.FixtureRequest, state_dir: Path, nothing_left: None
) -> Iterator[Servers]:
    """Give a way to start servers; at the end all are closed in order, and nothing may be left."""
    failed_before = request.session.testsfailed
    servers = Servers(OURS, state_dir)
    try:
        yield servers
    finally:
        servers.part(in_order=request.session.testsfailed == failed_before)


@pytest.fixture
def client(servers: Servers) -> SidecarClient:
    """Give a client whose server has been initialized."""
    return servers.connect()
