// Agents of frameworks × released clients, through Tidegate that is told both versions: recordings of agents, and
// two that run. A cell is ok where every run is accepted and shows what the agent said, else it names what is not.
//
//   pairs.mjs [--bin PATH] [--client V] [--only TEXT] [--markdown] [--plain | --direct] [--recorded]
//
// --client, --only: only these clients, only agents whose name holds this text. --markdown: only the table.
// --plain: Tidegate without versions. --direct: without Tidegate. --recorded: without the agents that run.
import fs from 'node:fs';
import { parseArgs } from 'node:util';

const { values: options } = parseArgs({ options: {
  bin: { type: 'string' }, client: { type: 'string', multiple: true }, only: { type: 'string', multiple: true },
  markdown: { type: 'boolean' }, plain: { type: 'boolean' }, direct: { type: 'boolean' }, recorded: { type: 'boolean' },
} });
if (options.bin) process.env.TIDEGATE_BIN = fs.realpathSync(options.bin);
if (options.plain) process.env.PLAIN = '1';

const { SHARED } = await import('../clients/lib/paths.mjs');
const { startGateway } = await import('../clients/lib/gateway.mjs');
const { startPythonAgent } = await import('../clients/lib/python-agent.mjs');
const { startReplayAgent } = await import('../clients/lib/replay-agent.mjs');
const { recorded } = await import('./lib/agents.mjs');
const { concurrently, startClient } = await import('./lib/client.mjs');
const { configOf, GUARD } = await import('./lib/config.mjs');
const { lacks } = await import('./lib/judge.mjs');
const { WORDS, live } = await import('./lib/words.mjs');
const { viewOf } = await import('./lib/view.mjs');

const RUNS = 8, PROCESSES = 2;
/** The versions that were tried without a gateway, so that both can be compared. */
const CLIENTS = options.client ?? ['0.0.35', '0.0.39', '0.0.45', '0.0.47', '0.0.57', '1.0.0'];
const LIVE = [
  { name: 'pydantic-ai 2.68.0, running', venv: 'pydantic_ai', spoken: '1.0' },
  { name: 'pydantic-ai 0.8.1, running', venv: 'pydantic_ai_0_8', spoken: '0.1.8' },
];

const began = Date.now();
const say = text => { if (!options.markdown) console.log(text); };
const wanted = name => !options.only || options.only.some(text => name.includes(text));
if (!fs.existsSync(SHARED)) say(`note: only agents that run: no recordings at ${SHARED}`);

const streams = recorded().filter(stream => wanted(stream.agent));
const replay = await startReplayAgent();
for (const stream of streams) replay.put(stream.name, stream);
const running = await Promise.all(LIVE.filter(({ name }) => !options.recorded && wanted(name))
  .map(async one => ({ ...one, agent: await startPythonAgent('pydantic_ai', { venv: one.venv }) })));

const spoken = [...new Set(streams.map(stream => stream.spoken))];
const gateway = options.direct ? null : await startGateway(configOf({
  guard: GUARD,
  agents: {
    ...Object.fromEntries(spoken.map(version => [`recorded-${version}`, { url: replay.url, version }])),
    ...Object.fromEntries(running.map(({ venv, spoken: version, agent }) => [venv, { url: agent.url, version }])),
  },
  routes: CLIENTS.flatMap(client => [
    ...spoken.map(version => ({ path: `${client}/recorded/${version}`, agent: `recorded-${version}`, client })),
    ...running.map(({ venv }) => ({ path: `${client}/${venv}`, agent: venv, client })),
  ]),
}));

/** One client with all agents: `{ row, word, missing }` for each run. */
async function through(version) {
  const client = await startClient(version);
  const results = [];
  await concurrently(streams, RUNS, async stream => {
    const url = gateway ? `${gateway.url}${version}/recorded/${stream.spoken}` : replay.url;
    const view = viewOf(await client.run({ ...stream.job, url, headers: { 'x-script': stream.name } }));
    const reasons = !version.startsWith('0.0.') || Number(version.slice(4)) >= 45;
    results.push({ row: `${stream.agent} (${stream.spoken})`, word: stream.word, missing: lacks(stream.events, view, { reasons }) });
  });
  for (const { name, venv, spoken: speaks, agent } of running) {
    const url = gateway ? `${gateway.url}${version}/${venv}` : agent.url;
    await concurrently(WORDS, RUNS, async word => {
      const missing = await live(client, url, version, word);
      if (missing) results.push({ row: `${name} (${speaks})`, word, missing });
    });
  }
  const unhandled = client.unhandled();
  client.close();
  return { version, results, unhandled };
}

const columns = await concurrently(CLIENTS, PROCESSES, through);
await Promise.all([replay.close(), ...running.map(({ agent }) => agent.stop())]);
const code = gateway ? await gateway.stop() : 0;

let failed = 0, passed = 0;
const rows = [...new Set(columns.flatMap(({ results }) => results.map(one => one.row)))].sort();
const cells = rows.map(row => columns.map(({ results }) => {
  const wrong = results.filter(one => one.row === row && one.missing.length);
  return wrong.length ? `✗ ${wrong.map(one => one.word).sort().join(', ')}` : 'ok';
}));
for (const { version, results, unhandled } of columns) {
  for (const { row, word, missing } of results) {
    if (missing.length) { failed += 1; say(`✗ ${version} ${row} ${word}: ${missing.join('; ')}`); } else passed += 1;
  }
  if (unhandled) { failed += 1; say(`✗ ${version}: ${unhandled} rejections that no application could have caught`); }
}
if (code !== 0) { failed += 1; say(`✗ the gateway ended with ${code}, not with 0`); }

const head = ['agent', ...CLIENTS];
if (options.markdown) {
  console.log([head, head.map(() => '---'), ...rows.map((row, at) => [row, ...cells[at]])].map(line => `| ${line.join(' | ')} |`).join('\n'));
} else {
  const table = [head, ...rows.map((row, at) => [row, ...cells[at].map(cell => cell === 'ok' ? cell : `✗ ${cell.split(', ').length}`)])];
  const widths = head.map((_, at) => Math.max(...table.map(line => line[at].length)));
  console.log(table.map(line => line.map((cell, at) => cell.padEnd(widths[at])).join('  ')).join('\n'));
  console.log(`ℹ ${passed + failed} runs of ${CLIENTS.length} clients with ${rows.length} agents in ${((Date.now() - began) / 1000).toFixed(0)} s`);
  console.log(`${passed} passed, ${failed} failed`);
}
process.exit(failed ? 1 : 0);
