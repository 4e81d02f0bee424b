"""A process that is out of descriptors is told so, harms nothing, and goes on when it has some."""

from sidecar.store.layout import Layout
from tests.support import samples
from tests.support.stored import make_run, output_of

# Runs each operation with no descriptor left, then with one, two, three...; whatever happens is
# a refusal with EMFILE or the whole thing, and with enough of them it is the whole thing.
PROGRAM = """
import os, resource, sys
from sidecar.core import ids
from sidecar.core.errors import StorageError
from sidecar.store import dismissals, index, lease, markers, retire, staging, tokens
from sidecar.store.doorbell import Bell, Bells, RunBell
from sidecar.store.events import EventLog, read_events
from sidecar.store.inbox import Inbox, post
from sidecar.store.layout import Layout
from sidecar.store.lease import Holding, Lease
from sidecar.store.rundir import LeasedRunDir, RunDir
from tests.support import samples
from tests.support.stored import lead

layout = Layout(sys.argv[1])
run_dir = RunDir(layout.run_dir(samples.RUN_ID))
leader = lead(run_dir)
leader.append(samples.recorded()[0])
leader.write_result(samples.result())
bells = Bells(layout)
numbers = iter(range(10_000))

def new_id():
    return ids.new_run_id(samples.NOW, next(numbers).to_bytes(10, "big"))

def launch():
    run_id = new_id()
    staged, held = staging.stage(layout, run_id)
    try:
        staged.write_request(samples.launch(run_id))
        staged.append(samples.recorded()[0])
        staged.write_status(samples.queued(run_id), durable=True)
        staging.commit(layout, run_id)
    except StorageError:
        # What cannot be taken back now is left for the sweep.
        try:
            staging.withdraw(layout, run_id)
        except StorageError:
            pass
        raise
    finally:
        staged.close()
        held.release()

def take():
    lease = Lease.take(layout.run_dir(samples.OTHER_ID))
    assert lease is not None
    lease.release()

def probe():
    if lease.probe(run_dir.path) is Holding.UNKNOWN:
        raise StorageError("unknown", errno_name="EMFILE")
    assert lease.probe(run_dir.path) is Holding.HELD

def bell():
    Bell(layout).close()

def run_bell():
    RunBell(run_dir.path).close()

def token():
    with tokens.TokenLock(layout, os.urandom(32).hex()) as held:
        held.bind(samples.RUN_ID)

def log():
    EventLog(run_dir.path + "/events.jsonl").close()

def inbox():
    if not Inbox(run_dir.path).pending():
        raise StorageError("nothing", errno_name="EMFILE")

def ring():
    if bells.ring("status", samples.RUN_ID, 1) == 0:
        raise StorageError("nobody", errno_name="EMFILE")

heard = Bell(layout)
order = "00000000000000000001-00000001"
post(run_dir.path, "stop", samples.command(), order=order)
operations = [
    launch, take, probe, bell, run_bell, token, log, inbox, ring,
    run_dir.read_status, run_dir.read_current, run_dir.read_request, run_dir.read_result,
    run_dir.read_dismissal,
    lambda: read_events(run_dir.path + "/events.jsonl", 0, 10).events[0],
    lambda: run_dir.output(0, 1, "stdout", 0, 10),
    lambda: leader.write_status(samples.running(), durable=True),
    lambda: leader.write_result(samples.result()),
    lambda: leader.make_attempt(0, next(numbers) + 1),
    lambda: post(run_dir.path, "stop", samples.command(), order=order),
    lambda: dismissals.write(run_dir.path, samples.dismissal()),
    lambda: index.history_page(layout, 10),
    lambda: index.resolve(layout, samples.OTHER_ID[:13]),
    lambda: markers.add(layout, samples.OTHER_ID),
    lambda: markers.active_ids(layout),
    lambda: staging.sweep(layout),
]

def descriptors():
    return len(os.listdir("/proc/self/fd"))

limit = resource.getrlimit(resource.RLIMIT_NOFILE)
for number, operation in enumerate(operations):
    before = descriptors()
    for spare in range(20):
        fillers = []
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, limit[1]))
        try:
            while True:
                fillers.append(os.open("/dev/null", os.O_RDONLY))
        except OSError:
            pass
        for _ in range(spare):
            os.close(fillers.pop())
        try:
            operation()
            whole = True
        except StorageError as exc:
            assert exc.errno_name == "EMFILE", (number, exc)
            whole = False
        finally:
            for fd in fillers:
                os.close(fd)
            resource.setrlimit(resource.RLIMIT_NOFILE, limit)
        if whole:
            break
    else:
        raise AssertionError((number, "never had enough"))
    assert spare > 0 or number in (), (number, "needed none")
    bells.close()
    assert descriptors() == before, (number, "left descriptors open")
heard.close()
leader.close()
staging.sweep(layout)
assert os.listdir(layout.staging) == []
print("done")
"""


def test_every_operation_is_refused_whole_and_works_again(layout: Layout) -> None:
    make_run(layout)
    make_run(layout, samples.OTHER_ID)
    assert output_of(PROGRAM, layout.state_dir) == "done\n"
