"""What doctor says of this machine: a finding for each thing, in a fixed vocabulary."""

import resource

import pytest

from sidecar.control import host
from sidecar.control.host import Level


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("0::/user.slice/user-1000.slice/session-3.scope\n", Level.WARNING),
        ("0::/system.slice/sidecar.service\n", Level.WARNING),
        (
            "0::/user.slice/user@1000.service/app.slice/code-1.scope\n",
            Level.WARNING,
        ),
        ("0::/\n", Level.OK),
        ("0::/user.slice/user-1000.slice\n", Level.OK),
        ("1:name=systemd:/system.slice/x.service\n2:cpu:/\n", Level.WARNING),
        ("", Level.OK),
        (None, Level.NOTE),
    ],
)
def test_a_unit_that_is_ended_as_a_whole_is_told(text: str | None, level: Level) -> None:
    finding = host.cgroup_finding(text)
    assert (finding.code, finding.level) == ("cgroup", level)
    assert (finding.hint is not None) == (level is Level.WARNING)


def test_each_thing_is_looked_at_once() -> None:
    codes = [finding.code for finding in host.host_findings()]
    assert len(codes) == len(set(codes))
    assert {"subreaper", "pidfd", "children-file", "splice", "cgroup-v2"} <= set(codes)
    assert {"open-files", "processes", "python", "dependencies", "cgroup"} <= set(codes)


def test_a_low_limit_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _which: (64, 64))
    found = {finding.code: finding for finding in host.host_findings()}
    assert found["open-files"].level is Level.WARNING
    assert "64" in found["open-files"].message


def test_a_missing_ability_says_what_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_pid: int) -> int:
        raise PermissionError

    monkeypatch.setattr("os.pidfd_open", refused)
    found = {finding.code: finding for finding in host.host_findings()}
    assert found["pidfd"].level is Level.WARNING
    assert found["pidfd"].hint is not None
