// By hand, not part of any suite: every agent of the recordings, running, × released clients × cases, without and with
// Tidegate. Prints a table of both as Markdown. Wants ../shared/tools/zoo with its agents and clients installed.
//
//   zoo.mjs --bin PATH [--agent NAME…] [--client V…] [--case WORD…] [--through nothing|Tidegate…] [--spoken V] [--keep DIR]
//
// --spoken: what the agents' version is said to be, in place of what they were built with. --keep: writes the clients'
// reports, the gateway's log and what went over the wire between gateway and agent into a folder.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { parseArgs } from 'node:util';

const { values: options } = parseArgs({ options: {
  bin: { type: 'string' }, agent: { type: 'string', multiple: true }, client: { type: 'string', multiple: true },
  case: { type: 'string', multiple: true }, through: { type: 'string', multiple: true }, spoken: { type: 'string' }, keep: { type: 'string' },
} });
if (options.keep) fs.mkdirSync(options.keep, { recursive: true });
if (options.bin) process.env.TIDEGATE_BIN = fs.realpathSync(options.bin);

const { SHARED } = await import('../clients/lib/paths.mjs');
const { startGateway } = await import('../clients/lib/gateway.mjs');
const { recorded, SPOKEN } = await import('./lib/agents.mjs');
const { configOf, GUARD } = await import('./lib/config.mjs');

const HOME = process.env.ZOO_HOME ?? path.join(process.env.HOME, '.cache/zoo'), TOOLS = path.join(SHARED, 'tools/zoo');
const CLIENTS = options.client ?? ['0.0.35', '0.0.39', '0.0.45', '0.0.47', '0.0.57', '1.0.0'];
const CASES = ['text', 'tool', 'frontend', 'frontend-resume', 'state', 'think', 'think-next', 'tool-next', 'error', 'image'];
/** What an agent cannot do whoever asks it: no tools of the client's, no shared state, an error that is the host's. */
const UNABLE = { 'agno-2.2.0': ['frontend', 'frontend-resume', 'state'], 'mastra-1.1.2': ['state', 'error'] };

/** The agents that do tell their reasoning. */
const REASONING = new Set(recorded().filter(one => one.events.some(event => /^(REASONING|THINKING)_/.test(event.type))).map(one => one.agent));

/** Runs a program and gives what it says. */
const run = (command, args, env = {}) => new Promise(done => {
  const child = spawn(command, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  child.stdout.on('data', part => { text += part; });
  child.on('exit', () => done(text));
});

/** One case as a sign, and why: `ok`, `✗` for a run that fails, `~` for one in which something is missing. */
function sign(name, report, reasons) {
  const said = report.runErrors[0];
  if (name === 'error') {
    const told = report.runErrors.some(text => /model failed|internal error|flow failed/i.test(text));
    if (told && !report.error) return ['ok'];
    if (told || (said && !report.error)) return ['~', told ? `rejects with ${report.error}` : `says ${said}`];
    return ['✗', report.error ?? 'no error'];
  }
  if (report.first?.error) return ['✗', `first turn: ${report.first.error}`];
  if (report.error || said) return ['✗', report.error ?? `RUN_ERROR ${said}`];
  const { last = '', roles } = report, ends = roles.at(-1);
  const there = {
    text: () => /Hello from the zoo/.test(last), image: () => Boolean(last),
    tool: () => ends === 'assistant' && /The tool said/.test(last), frontend: () => roles.some(role => role.endsWith('+call')),
    'frontend-resume': () => /The tool said/.test(last), state: () => /"title":"Zoo"/.test(report.state) && ends === 'assistant',
    think: () => /I have thought/.test(last) && (!reasons || roles.includes('reasoning')),
    'think-next': () => /Hello from the zoo/.test(last), 'tool-next': () => /Hello from the zoo/.test(last),
  };
  return there[name]() ? ['ok'] : ['~', `${roles.join(' ')}; last ${last}; state ${report.state}`];
}

/** All cases of one client with one agent: what is not ok, by sign. */
async function cell(agent, client, url, cases, how) {
  const lines = (await run('node', [path.join(TOOLS, 'client.mjs'), path.join(HOME, 'clients', client), url, ...cases])).trim().split('\n').filter(Boolean);
  const reasons = REASONING.has(agent) && (!client.startsWith('0.0.') || Number(client.slice(4)) >= 45);
  const signs = { '✗': [], '~': [] }, reports = lines.map(line => JSON.parse(line));
  keep(`${agent}.${how}.${client}.jsonl`, lines.join('\n'));
  for (const report of reports) {
    const [found, why] = sign(report.case, report, reasons);
    if (found === 'ok') continue;
    signs[found].push(report.case);
    console.error(`${agent} ${how} ${client} ${found} ${report.case}: ${String(why).slice(0, 300)}`);
  }
  if (reports.length === 0) return '?';
  if (signs['✗'].length === reports.length && reports.length > 1) return '**nothing works**';
  return Object.entries(signs).filter(([, list]) => list.length).map(([mark, list]) => `${mark} ${list.join(', ')}`).join('<br>') || 'ok';
}

/** Writes something into the folder of --keep. */
function keep(name, text) {
  if (options.keep) fs.writeFileSync(path.join(options.keep, name), text);
}

/** Something that passes every byte between the gateway and an agent on, and keeps it with who said it. */
async function wire(agent, url) {
  if (!options.keep) return { url, close() {} };
  const { hostname, port } = new URL(url), file = path.join(options.keep, `${agent}.wire`);
  let last = 0;
  fs.writeFileSync(file, '');
  const server = net.createServer(one => {
    const id = ++last, other = net.connect(Number(port), hostname);
    const note = (who, bytes) => fs.appendFileSync(file, `\n=== ${id} ${who}\n${bytes}`);
    for (const [from, to, who] of [[one, other, 'gateway'], [other, one, 'agent']]) {
      from.on('data', bytes => { note(who, bytes); to.write(bytes); });
      from.on('end', () => { note(who, '(end)'); to.end(); });
      from.on('error', () => to.destroy());
    }
  });
  await new Promise(done => server.listen(0, '127.0.0.1', done));
  const through = new URL(url);
  through.port = server.address().port;
  return { url: through.href, close: () => server.close() };
}

const agents = fs.readFileSync(path.join(TOOLS, 'agents.tsv'), 'utf8').split('\n').filter(line => line && !line.startsWith('#'))
  .map(line => line.split('\t')).map(([name, port, , , , where]) => ({ name, url: `http://127.0.0.1:${port}${where || '/'}` }))
  .filter(({ name }) => !options.agent || options.agent.includes(name));

console.log(`| agent | through | ${CLIENTS.join(' | ')} |\n|${' --- |'.repeat(CLIENTS.length + 2)}`);
for (const { name, url } of agents) {
  // CopilotKit's runtime is a front for another agent.
  const behind = name.startsWith('copilotkit') ? ['pydantic-ai-2.68.0'] : [];
  const start = path.join(TOOLS, 'start.sh'), started = [...behind, name], spoken = options.spoken ?? SPOKEN[name];
  for (const one of started) await run('bash', [start, one], { AGENTS: 'zoo=http://127.0.0.1:8201/' });
  const between = await wire(name, url);
  const gateway = await startGateway(configOf({
    guard: GUARD, agents: { zoo: { url: between.url, version: spoken } }, routes: CLIENTS.map(client => ({ path: client, agent: 'zoo', client })),
  }));
  const cases = CASES.filter(one => !UNABLE[name]?.includes(one) && (options.case?.includes(one) ?? true));
  for (const [how, base] of [['nothing', () => url], ['Tidegate', client => `${gateway.url}${client}`]]) {
    if (!(options.through?.includes(how) ?? true)) continue;
    const cells = [];
    for (const client of CLIENTS) cells.push(await cell(name, client, base(client), cases, how));
    console.log(`| ${name} (${spoken}) | ${how} | ${cells.join(' | ')} |`);
  }
  keep(`${name}.log`, gateway.log());
  await gateway.stop();
  between.close();
  await run('bash', [start, 'stop', ...started]);
}
process.exit(0);
