// By hand, not part of any suite: every agent of the recordings, running, × released clients × cases, without and with
// Tidegate. Prints a table of both as Markdown. Wants ../shared/tools/zoo with its agents and clients installed.
//
//   zoo.mjs --bin PATH [--agent NAME…] [--client V…]
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';

const { values: options } = parseArgs({ options: {
  bin: { type: 'string' }, agent: { type: 'string', multiple: true }, client: { type: 'string', multiple: true },
} });
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

/** One case as a sign: `ok`, `✗` for a run that fails, `~` for one in which something is missing. */
function sign(name, report, reasons) {
  if (name === 'error') {
    const told = report.runErrors.some(text => /fail|error/i.test(text));
    return told && !report.error ? 'ok' : told || (report.runErrors.length && !report.error) ? '~' : '✗';
  }
  if (report.error || report.runErrors.length || report.first?.error) return '✗';
  const there = {
    text: () => /Hello from the zoo/.test(report.last), image: () => Boolean(report.last),
    tool: () => /The tool said/.test(report.last), frontend: () => report.roles.some(role => role.endsWith('+call')),
    'frontend-resume': () => /The tool said/.test(report.last), state: () => /"title":"Zoo"/.test(report.state),
    think: () => /I have thought/.test(report.last) && (!reasons || report.roles.includes('reasoning')),
    'think-next': () => /Hello from the zoo/.test(report.last), 'tool-next': () => /Hello from the zoo/.test(report.last),
  };
  return there[name]() ? 'ok' : '~';
}

/** All cases of one client with one agent: what is not ok, by sign. */
async function cell(agent, client, url, cases) {
  const lines = (await run('node', [path.join(TOOLS, 'client.mjs'), path.join(HOME, 'clients', client), url, ...cases])).trim().split('\n');
  const reasons = REASONING.has(agent) && (!client.startsWith('0.0.') || Number(client.slice(4)) >= 45);
  const signs = { '✗': [], '~': [] };
  let all = 0;
  for (const report of lines.filter(Boolean).map(line => JSON.parse(line))) {
    const found = sign(report.case, report, reasons);
    all += 1;
    if (found !== 'ok') signs[found].push(report.case);
  }
  if (all === 0) return '?';
  if (signs['✗'].length === all) return '**nothing works**';
  return Object.entries(signs).filter(([, list]) => list.length).map(([mark, list]) => `${mark} ${list.join(', ')}`).join('<br>') || 'ok';
}

const agents = fs.readFileSync(path.join(TOOLS, 'agents.tsv'), 'utf8').split('\n').filter(line => line && !line.startsWith('#'))
  .map(line => line.split('\t')).map(([name, port, , , , where]) => ({ name, url: `http://127.0.0.1:${port}${where || '/'}` }))
  .filter(({ name }) => !options.agent || options.agent.includes(name));

console.log(`| agent | through | ${CLIENTS.join(' | ')} |\n|${' --- |'.repeat(CLIENTS.length + 2)}`);
for (const { name, url } of agents) {
  // CopilotKit's runtime is a front for another agent.
  const behind = name.startsWith('copilotkit') ? ['pydantic-ai-2.68.0'] : [];
  const start = path.join(TOOLS, 'start.sh'), started = [...behind, name];
  for (const one of started) await run('bash', [start, one], { AGENTS: 'zoo=http://127.0.0.1:8201/' });
  const gateway = await startGateway(configOf({
    guard: GUARD, agents: { zoo: { url, version: SPOKEN[name] } }, routes: CLIENTS.map(client => ({ path: client, agent: 'zoo', client })),
  }));
  const cases = CASES.filter(one => !UNABLE[name]?.includes(one));
  for (const [how, base] of [['nothing', () => url], ['Tidegate', client => `${gateway.url}${client}`]]) {
    const cells = [];
    for (const client of CLIENTS) cells.push(await cell(name, client, base(client), cases));
    console.log(`| ${how === 'nothing' ? `${name} (${SPOKEN[name]})` : ''} | ${how} | ${cells.join(' | ')} |`);
  }
  await gateway.stop();
  await run('bash', [start, 'stop', ...started]);
}
