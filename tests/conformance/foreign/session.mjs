// A whole session by vscode-jsonrpc, the library below VS Code's language client.
//
//   node session.mjs COMMAND...       COMMAND: the server under test
//
// Does what an extension does, judges nothing, and prints one JSON report; the test asserts it.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  CancellationTokenSource,
  createMessageConnection,
  ErrorCodes,
  ProgressType,
  StreamMessageReader,
  StreamMessageWriter,
} from 'vscode-jsonrpc/node';

const [program, ...args] = process.argv.slice(2);
const server = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
const exited = once(server, 'exit');
const connection = createMessageConnection(
  new StreamMessageReader(server.stdout),
  new StreamMessageWriter(server.stdin),
);

const report = { statuses: [], outputs: [], progress: [], unknown: [], faults: [] };
const waiters = new Set();

// A wait that is never over would tell nothing; the report so far does.
const deadline = setTimeout(() => {
  process.stderr.write(`not done in time: ${JSON.stringify(report)}\n`);
  server.kill('SIGKILL');
  process.exit(1);
}, 40_000);

function changed() {
  for (const waiter of [...waiters]) {
    if (waiter.condition()) {
      waiters.delete(waiter);
      waiter.resolve();
    }
  }
}

// Resolves once the condition holds; it is looked at whenever a notification has come.
function until(condition) {
  if (condition()) return Promise.resolve();
  return new Promise((resolve) => waiters.add({ condition, resolve }));
}

async function refusal(promise) {
  try {
    return { result: await promise };
  } catch (error) {
    return { code: error.code, data: error.data };
  }
}

connection.onNotification('run/status', ({ run }) => {
  report.statuses.push({ runId: run.runId, revision: run.revision, state: run.state });
  changed();
});
connection.onNotification('run/output', (notice) => {
  report.outputs.push(notice);
  changed();
});
connection.onRequest('window/workDoneProgress/create', ({ token }) => {
  connection.onProgress(new ProgressType(), token, (value) => {
    report.progress.push({ token, kind: value.kind });
    changed();
  });
  return null;
});
connection.onNotification((method) => report.unknown.push(method));
connection.onUnhandledProgress(({ token }) => report.faults.push(`progress of nobody: ${token}`));
connection.onError(([error]) => report.faults.push(String(error)));
connection.listen();

const command = (shell, more = {}) => ({ step: { agent: 'command', shell }, ...more });
const toldOf = (runId, state) => () =>
  report.statuses.some((told) => told.runId === runId && told.state === state);

const initialized = await connection.sendRequest('initialize', {
  processId: process.pid,
  rootUri: null,
  capabilities: { window: { workDoneProgress: true } },
  initializationOptions: { sessionId: 'foreign' },
});
report.server = initialized.serverInfo.name;
await connection.sendNotification('initialized', {});

// One that ends by itself, with its output followed.
const label = 'caf\u00e9 \u{1F680}';
const { run: short } = await connection.sendRequest(
  'run/launch',
  command(`printf '${label}\\n'`, { label }),
);
report.label = short.label;
await connection.sendRequest('run/subscribe', { runId: short.runId, output: true });
await until(toldOf(short.runId, 'complete'));
await until(() => report.outputs.length > 0);
report.followed = report.outputs.map((notice) => notice.text).join('');
report.output = await connection.sendRequest('run/output', { runId: short.runId });
report.result = await connection.sendRequest('run/result', { runId: short.runId });

// One that has to be stopped, waited for by a request that is cancelled.
const { run: long } = await connection.sendRequest('run/launch', command('exec sleep 600'));
await until(toldOf(long.runId, 'running'));
const cancellation = new CancellationTokenSource();
const waiting = connection.sendRequest('run/wait', { runIds: [long.runId] }, cancellation.token);
await connection.sendRequest('run/get', { runId: long.runId });
cancellation.cancel();
report.cancelled = await refusal(waiting);
report.listed = (await connection.sendRequest('run/list', {})).runs.map((run) => run.runId);
const stopped = await connection.sendRequest('run/stop', { runId: long.runId, waitMs: 20000 });
report.stopped = stopped.run.state;
await until(toldOf(long.runId, 'stopped'));
await until(() => {
  const begun = report.progress.filter((item) => item.kind === 'begin').map((item) => item.token);
  const ended = report.progress.filter((item) => item.kind === 'end').map((item) => item.token);
  return begun.length > 0 && begun.every((token) => ended.includes(token));
});

// Faults, and a crowd.
report.unknownMethod = await refusal(connection.sendRequest('no/such', {}));
report.unknownField = await refusal(connection.sendRequest('run/list', { limits: 1 }));
report.notFound = await refusal(connection.sendRequest('run/get', { runId: 'ffff' }));
report.byPosition = await refusal(connection.sendRequest('run/get', 1, 2));
const crowd = await Promise.all(
  [...Array(500).keys()].map(() => connection.sendRequest('run/get', { runId: short.runId })),
);
report.crowd = crowd.filter((answer) => answer.run.runId === short.runId).length;
report.mirror = await connection.sendRequest('workspace/executeCommand', {
  command: 'sidecar.run.get',
  arguments: [{ runId: short.runId }],
});

report.runs = { short: short.runId, long: long.runId };
report.methodNotFound = ErrorCodes.MethodNotFound;
report.shutdown = await connection.sendRequest('shutdown');
await connection.sendNotification('exit');
[report.exitCode] = await exited;
connection.dispose();
clearTimeout(deadline);
process.stdout.write(JSON.stringify(report));
