// Every released client × every stream of an agent of today, through Tidegate that is told the client's version.
// No run may be rejected, and what the client shows has to be what client 1.0.0 shows of the same stream without
// Tidegate, less what lib/restrict.mjs says that this version cannot show. Every other difference is a failure.
//
//   matrix.mjs [--bin PATH] [--client V] [--only TEXT] [--markdown] [--plain | --direct | --custom] [--all] [--reasons]
//
// --client, --only: only these clients, only streams whose name holds this text; both may be given several times.
// --markdown: only the table. --plain: Tidegate without versions. --direct: without Tidegate. --all: every failure.
// --custom: what a client has no shape for is wrapped, not left out. --reasons: what is excused, and why.
import fs from 'node:fs';
import { parseArgs } from 'node:util';

const { values: options } = parseArgs({ options: {
  bin: { type: 'string' }, client: { type: 'string', multiple: true }, only: { type: 'string', multiple: true },
  markdown: { type: 'boolean' }, plain: { type: 'boolean' }, direct: { type: 'boolean' }, all: { type: 'boolean' },
  reasons: { type: 'boolean' }, custom: { type: 'boolean' },
} });
if (options.bin) process.env.TIDEGATE_BIN = fs.realpathSync(options.bin);
if (options.plain) process.env.PLAIN = '1';

const { SHARED } = await import('../clients/lib/paths.mjs');
const { startGateway } = await import('../clients/lib/gateway.mjs');
const { startReplayAgent } = await import('../clients/lib/replay-agent.mjs');
const { frame } = await import('../clients/lib/sse.mjs');
const { CLIENTS, concurrently, startClient } = await import('./lib/client.mjs');
const { configOf } = await import('./lib/config.mjs');
const { factsOf, readBy, reasons, restrict, shown } = await import('./lib/restrict.mjs');
const { isEnded, streams } = await import('./lib/streams.mjs');
const { difference, viewOf } = await import('./lib/view.mjs');

/** The runs of one client that go on at the same time, and the clients that run at the same time. */
const RUNS = 16, PROCESSES = 2;
const CURRENT = '1.0.0';

if (options.reasons) { console.log(reasons().join('\n')); process.exit(0); }

const began = Date.now();
const say = text => { if (!options.markdown) console.log(text); };
const clients = options.client ?? CLIENTS;
const all = streams().filter(stream => !options.only || options.only.some(text => stream.name.includes(text)));
if (!fs.existsSync(SHARED)) say(`note: only streams of our own: no recordings at ${SHARED}`);

const agent = await startReplayAgent();
/** One route for each client version to an agent of today, and one to an agent that still speaks retired shapes. */
const config = configOf({
  unrepresentable: options.custom ? 'custom' : '',
  agents: { current: { url: agent.url }, old: { url: agent.url, version: '0.0.44' } },
  routes: clients.flatMap(client => [{ path: client, agent: 'current', client }, { path: `${client}/old`, agent: 'old', client }]),
});
const gateway = options.direct ? null : await startGateway(config);

// What client 1.0.0 shows without Tidegate. A stream that it rejects is no stream of an agent of today. Where a
// version reads only a part of a stream, that part is shown to client 1.0.0; Tidegate ends streams that have no end.
const current = await startClient(CURRENT);
const references = new Map();
const asRead = (stream, version) => {
  const events = readBy(version, stream.events);
  return gateway && !isEnded(events) ? [...events, { type: 'RUN_ERROR', message: 'truncated', code: 'UPSTREAM_TRUNCATED' }] : events;
};
const key = (stream, version) => `${stream.name}\n${JSON.stringify(asRead(stream, version))}`;
async function reference(stream, version) {
  const script = key(stream, version);
  if (!references.has(script)) {
    const name = encodeURIComponent(stream.name) + references.size;
    const whole = version === CURRENT && asRead(stream, version) === stream.events;
    references.set(script, null);
    agent.put(name, whole ? stream : { pieces: asRead(stream, version).map(event => frame(JSON.stringify(event))) });
    const report = await current.run({ ...stream.job, url: agent.url, headers: { 'x-script': name } });
    references.set(script, report.error === null ? viewOf(report) : null);
  }
  return references.get(script);
}
const accepted = [];
await concurrently(all, RUNS, async stream => {
  agent.put(stream.name, stream);
  if (!await reference(stream, CURRENT)) return;
  accepted.push(stream);
  for (const version of clients) await reference(stream, version);
});
current.close();
say(`${accepted.length} of ${all.length} streams are accepted by client ${CURRENT} without Tidegate`);

/** One client through all streams: `{ stream, failure }` for each. */
async function through(version) {
  const client = await startClient(version);
  const results = await concurrently(accepted, RUNS, async stream => {
    const facts = factsOf(stream.events);
    const url = gateway ? `${gateway.url}${version}${facts.retired ? '/old' : ''}` : agent.url;
    const view = viewOf(await client.run({ ...stream.job, url, headers: { 'x-script': stream.name } }));
    if (view.error) return { stream, failure: `rejected: ${view.error}` };
    const wanted = restrict(references.get(key(stream, version)), version, facts);
    const failure = difference(wanted, shown(view, version, facts));
    return { stream, failure };
  });
  const unhandled = client.unhandled();
  client.close();
  return { version, results, unhandled };
}

const table = await concurrently(clients, PROCESSES, through);
await agent.close();
const code = gateway ? await gateway.stop() : 0;

const kinds = [...new Set(accepted.map(stream => stream.kind))];
const count = results => `${results.filter(result => !result.failure).length}/${results.length}`;
const rows = table.map(({ version, results }) =>
  [version, ...kinds.map(kind => count(results.filter(({ stream }) => stream.kind === kind))), count(results)]);
const head = ['client', ...kinds, 'all'];

let failed = 0;
for (const { version, results, unhandled } of table) {
  const wrong = results.filter(result => result.failure);
  failed += wrong.length + (unhandled ? 1 : 0);
  for (const { stream, failure } of options.all ? wrong : wrong.slice(0, 12)) say(`✗ ${version} ${stream.name}: ${failure}`);
  if (wrong.length > 12 && !options.all) say(`  … ${wrong.length - 12} more with ${version} (--all shows them)`);
  if (unhandled) say(`✗ ${version}: ${unhandled} rejections that no application could have caught`);
}
if (code !== 0) { say(`✗ the gateway ended with ${code}, not with 0`); failed += 1; }

// Clients as columns fit a screen.
const flipped = head.map((name, at) => [name, ...rows.map(row => row[at])]);
if (options.markdown) {
  const [first, ...rest] = flipped;
  console.log([first, first.map(() => '---'), ...rest].map(cells => `| ${cells.join(' | ')} |`).join('\n'));
} else {
  const widths = flipped[0].map((_, at) => Math.max(...flipped.map(row => row[at].length)));
  console.log(flipped.map(row => row.map((cell, at) => at ? cell.padStart(widths[at]) : cell.padEnd(widths[at])).join('  ')).join('\n'));
  const runs = table.reduce((sum, { results }) => sum + results.length, 0);
  console.log(`ℹ ${runs} runs of ${clients.length} clients in ${((Date.now() - began) / 1000).toFixed(0)} s`);
  console.log(`${runs - Math.min(failed, runs)} passed, ${failed} failed`);
}
process.exit(failed ? 1 : 0);
