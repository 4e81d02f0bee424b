"""Every number that decides something, with its unit and the reason for its value.

This module must never compute: it is read by humans as a table, and by everybody else as constants.
"""

# --- status and output ---------------------------------------------------------------------------
STATUS_COALESCE_MS = 100
"""At most one coalesced status write per run in this time, counted from the first request: below
what a person notices, and 100,000 agent events in ten seconds become about 100 writes."""

OUTPUT_SEEN_MS = 1000
"""At most one ``output-seen`` event per attempt in this time, so that a chatty agent's event log
grows by bytes per second and not per line.  Followers of the output itself are woken earlier."""

OUTPUT_BELL_MS = 20
"""At most one ``output`` doorbell per attempt in this time."""

STATUS_INTERVAL_MS = 100
"""Default of ``statusIntervalMs``: how often one client hears of one run at most."""

# --- endings -------------------------------------------------------------------------------------
GRACE_MS = 3000
"""TERM to KILL: what agents need to save a conversation; seed-proven."""

NESTED_GRACE_MS = 1500
"""The same for a run that ends because its parent does: the parent's grace runs already, and what
is left of it afterwards, the nested run's runner too, is killed.  Half of it is for the agent, the
other half for the proof and the result."""

GRACE_MAX_MS = 600_000
"""A longer ``graceMs`` is refused: a stop that takes more than ten minutes is no stop."""

KILL_VERIFY_MS = 5000
"""From the first KILL until the proof is given up as unknown: only uninterruptible sleep, or a
process that may not be signalled, lives longer than this."""

DRAIN_SILENCE_MS = 2000
DRAIN_TOTAL_MS = 8000
"""After the agent's exit its output may be held open by others: what is there is taken until it
was silent for the first, or the second has passed in all."""

LEAVE_WAIT_MS = 5000
"""How long a runner whose run is over waits for its wardens to end, so as to leave no zombie."""

WARDEN_WAIT_MS = 20_000
"""How long an adopter waits for a living warden to finish: drain, grace and verification."""

# --- waking up -----------------------------------------------------------------------------------
SCAN_MS = 2000
"""Slow scan behind the doorbells: the bound on how late a lost datagram can make a server."""

INBOX_SCAN_MS = 5000
"""The same for a runner's inbox."""

ADOPT_DELAY_MS = 2000
"""A server waits so long before it adopts a run whose lease is free, since a warden is faster."""

ADOPT_AT_ONCE = 20
"""So many adopters it starts at most in one look: when the machine comes up again every run that
was active has lost its leader, and a thousand interpreters at once would bring it down again."""

ADOPT_RETRY_MS = 10_000
"""And so long before it tries again on the same run; twice as long each further time."""

ADOPT_RETRY_MAX_MS = 3_600_000
"""But not longer: a run that cannot be led (its log is damaged, its disk away) ends each adopter at
once, and each of them costs a start and leaves its story in ``runner.log``."""

STORAGE_RETRY_MS = 500
"""How often a refused write (full disk, no descriptors) is tried again."""

MARKER_AGE_MS = 86_400_000
"""A marker whose run is over, but whose proof can never be had, ages out after a day."""

# --- limits on requests --------------------------------------------------------------------------
LABEL_MAX = 200
MESSAGE_MAX_BYTES = 64 * 1024 * 1024
"""Largest JSON-RPC body that is read; a larger one is refused and skipped, not buffered."""

CLIENT_TOKEN_MAX = 256
PROMPT_MAX_BYTES = 16 * 1024 * 1024
ARG_MAX_BYTES = 128 * 1024 - 1
"""execve(2), MAX_ARG_STRLEN: one argument or NAME=value pair is at most 32 pages on Linux."""

ARGV_MAX_BYTES = 2 * 1024 * 1024
"""execve(2): argv and envp together, at the usual 8 MiB stack limit (a quarter of it)."""

TIMEOUT_MAX_MS = 2_147_483_647
"""Largest timer value every editor's language can hold (2^31 - 1 ms, about 24.8 days)."""

STOP_REASON_MAX = 1000
"""Characters of a stop's ``reason``: it stands in every status of the run from then on."""

PARAMS_MAX_DEPTH = 64
PARAMS_MAX_VALUES = 100_000
"""Nesting and number of values in the params of one request: no honest request comes near, and
looking at them stays far below a tenth of a second."""

LIST_LIMIT = 50
LIST_LIMIT_MAX = 1000
EVENTS_LIMIT = 500
EVENTS_LIMIT_MAX = 5000
OUTPUT_LIMIT = 64 * 1024
OUTPUT_LIMIT_MAX = 1024 * 1024
"""Bytes of a log in one ``run/output`` answer: a page, not a file."""

OUTPUT_NOTICE_MAX = 64 * 1024
"""Bytes in one ``run/output`` notification."""

WAIT_DEFAULT_MS = 1_800_000
NESTING_MAX = 8
"""Runs within runs: deep enough for any plan, shallow enough to stop a loop."""

# --- what is kept of output ----------------------------------------------------------------------
ANSWER_MAX_BYTES = 200 * 1024
"""Of the answer in ``result.json``; the whole is in the log."""

STDERR_TAIL_BYTES = 4096
PREVIEW_MAX_CHARS = 160
RUNNER_LOG_TAIL_BYTES = 4000
"""Of ``runner.log`` in the error of a run whose runner was lost."""
