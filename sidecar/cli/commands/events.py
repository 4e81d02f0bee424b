"""``sidecar events ID``: what happened to a run.

It only reads; while it follows, which is waiting, it also has runs adopted that nobody leads.
With ``--follow --json`` each event is a document of its own, one a line, since there is no end yet.
"""

import contextlib

from sidecar.cli import clock, exits, history
from sidecar.cli.following import sleep
from sidecar.cli.interrupts import Interrupts
from sidecar.cli.invocation import Invocation
from sidecar.control import read
from sidecar.control.caretaker import Caretaker
from sidecar.control.watch import Watch
from sidecar.core import policy
from sidecar.store.events import EventsPage


def run(invocation: Invocation) -> int:
    """Prints the events after ``--after``; with ``--follow`` until the run is over."""
    words = invocation.words
    run_id = read.get(invocation.context, words.run).run.run_id
    if words.follow:
        interrupts = Interrupts()
        try:
            with interrupts.welcome():
                _follow(invocation, run_id)
        except KeyboardInterrupt:
            return exits.DETACHED
        return exits.DONE
    page = _all_after(invocation, run_id, words.after)
    if invocation.wants_json:
        from sidecar.cli import document

        invocation.print_document(document.of_events(page))
    else:
        invocation.terminal.out.show(map(history.line, page.events))
    return exits.DONE


def _all_after(invocation: Invocation, run_id: str, after_seq: int) -> EventsPage:
    """Every event after ``after_seq`` that there is now."""
    found = EventsPage(events=(), last_seq=after_seq, skipped=0)
    while True:
        page = read.events(invocation.context, run_id, found.last_seq, policy.EVENTS_LIMIT_MAX)
        if not page.events:
            return found
        found = EventsPage(
            events=found.events + page.events,
            last_seq=page.last_seq,
            skipped=found.skipped + page.skipped,
        )


def _follow(invocation: Invocation, run_id: str) -> None:
    seq = invocation.words.after
    caretaker = Caretaker(invocation.context)
    readers = {invocation.terminal.out.fileno()}
    next_scan = clock.ticks_ms() + policy.SCAN_MS
    with contextlib.closing(Watch(invocation.context)) as watch:
        while True:
            # The status first: once it says that the run is over, the log is complete.
            is_over = read.snapshot_of(invocation.context, run_id).run.is_over
            page = _all_after(invocation, run_id, seq)
            seq = page.last_seq
            _show(invocation, page)
            if is_over:
                return
            sleep(watch, next_scan - clock.ticks_ms(), readers)
            watch.drain()
            if clock.ticks_ms() >= next_scan:
                next_scan = clock.ticks_ms() + policy.SCAN_MS
                caretaker.tend(clock.ticks_ms())


def _show(invocation: Invocation, page: EventsPage) -> None:
    if not invocation.wants_json:
        invocation.terminal.out.show(map(history.line, page.events))
        return
    from sidecar.cli import document

    for recorded in page.events:
        invocation.terminal.out.write_bytes(document.encode(document.of_event(recorded)))
