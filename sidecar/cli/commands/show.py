"""``sidecar show ID``: everything that is known of one run.  It reads, and repairs nothing."""

from sidecar.cli import detail, exits
from sidecar.cli.invocation import Invocation
from sidecar.control import read
from sidecar.store.layout import attempt_dir
from sidecar.store.lease import probe
from sidecar.store.rundir import LOGS, Stream


def run(invocation: Invocation) -> int:
    """Prints the run's page, or its document."""
    context = invocation.context
    snapshot = read.get(context, invocation.words.run)
    if invocation.wants_json:
        invocation.print_run(snapshot)
        return exits.DONE
    run_dir = context.layout.run_dir(snapshot.run.run_id)

    def log_path(step: int, attempt: int, stream: Stream) -> str:
        return f"{attempt_dir(run_dir, step, attempt)}/{LOGS[stream]}"

    holding = probe(run_dir)
    invocation.terminal.out.show(detail.lines(snapshot, holding, log_path, context.now_ms()))
    return exits.DONE
