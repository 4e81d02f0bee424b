"""What every test here gets: servers of the command under test, on a state of their own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.serving import Servers, SidecarClient, serving


@pytest.fixture
def servers(
    request: pytest.FixtureRequest, state_dir: Path, nothing_left: None
) -> Iterator[Servers]:
    """Give a way to start servers; at the end all are closed in order, and nothing may be left."""
    with serving(request, state_dir) as servers:
        yield servers


@pytest.fixture
def client(servers: Servers) -> SidecarClient:
    """Give a client whose server has been initialized."""
    return servers.connect()
