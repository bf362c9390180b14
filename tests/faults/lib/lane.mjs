// One gateway with one agent, and the faults that are tried on them one after the other. Around each fault: what
// the client got, what was counted, that nothing stays open or held, and that the next run is as good as any.
import fs from 'node:fs';
import { startGateway } from '../../clients/lib/gateway.mjs';
import { freePort, sleep, until } from '../../clients/lib/net.mjs';
import { healthy, startAgent } from './agent.mjs';
import { connect, post } from './peer.mjs';

export const CONFIG = `listen = "{listen}"
threads = 1
[admin]
listen = "{admin}"
[log]
level = "info"
[agents.main]
url = "http://127.0.0.1:{agent}/agui"
http = {http}
encoding = "{encoding}"
timeouts = { connect = "1s", first_event = "{wait}", idle = "{wait}", run = "{run}" }
[agents.nobody]
url = "http://127.0.0.1:{closed}/"
[defaults]
keepalive = "400ms"
limits = { body = "64KiB", frame = "256KiB" }
[[routes]]
path = "/"
agent = "main"
[[routes]]
path = "/nobody"
agent = "nobody"
[[routes]]
path = "/strict"
agent = "main"
guard = "refuse"
[[routes]]
path = "/repair"
agent = "main"
guard = "repair"
[[routes]]
path = "/pass"
agent = "main"
on_error = { truncated = "pass", status = "pass" }
[[routes]]
path = "/errors"
agent = "main"
on_error = { truncated = "run_error", status = "run_error" }
[[routes]]
path = "/big"
agent = "main"
limits = { body = "32MiB" }
[[routes]]
path = "/merge"
agent = "main"
throttle = { every = "50ms" }
state = { compact = true }
redact = [{ pattern = "sk-[a-z0-9]{8}", with = "[redacted]" }]
`;

const VALUES = { wait: '1500ms', run: '5s', http: '"auto"', encoding: 'auto' };

/**
 * Tries `faults` and gives a row for each. A fault:
 *   name    what is done
 *   agent   what the agent does, a script; in good health by default
 *   client  what the client does, and gives what it got in words; by default it posts a run and reads
 *   path, more, body   of that post
 *   known   what is known to be wrong with the gateway here: told, and no failure
 *   within  so many milliseconds it may take
 *   got     what it has to get: words, a pattern, or a list of either
 *   runs    the outcomes that have to be counted: a name, `{ name: count }`, a list to choose from, a function
 *   refused the refusals that have to be counted: likewise
 *   fresh   the agent's connections are cut before, so that it begins with a new one
 *   cut     the same afterwards, where the agent itself has made them useless
 *   seen    how many requests the agent has to see, or a judge of them that gives a complaint
 */
export async function lane(name, faults, { values = {}, agent: startThis = startAgent, well = healthy } = {}) {
  const agent = await startThis();
  const gateway = await started({ ...VALUES, ...values, agent: agent.port });
  const port = Number(new URL(gateway.url).port);
  const rows = [];
  const context = { agent, gateway, port, connect: () => connect(port) };
  try {
    agent.plays(well);
    for (let n = 0; n < 3; n++) {
      const complaint = await healthyRun(context, n);
      if (complaint) throw new Error(`the gateway does not work before any fault: ${complaint}`);
    }
    let base = await figures(gateway);
    await until(3000, async () => {
      const next = await figures(gateway);
      const same = next.fds === base.fds;
      base = next;
      return same;
    });
    for (const fault of faults) {
      if (process.env.WATCH) console.error(`${((Date.now() - start) / 1000).toFixed(1)} s ${name}: ${fault.name}`);
      rows.push(
        await attempt(fault, { ...context, base: base.fds, well }).catch(error => ({
          fault: fault.name,
          got: '',
          counted: '',
          complaints: [`${error.stack}`],
        })),
      );
    }
  } finally {
    const code = await gateway.stop();
    if (code !== 0)
      rows.push({ fault: `${name}: the gateway stops`, got: `exit ${code}`, counted: '', complaints: ['it does not stop as it should'] });
    if (gateway.log().includes('panicked'))
      rows.push({ fault: `${name}: the gateway's log`, got: '', counted: '', complaints: [/.*panicked.*\n?.*/.exec(gateway.log())[0]] });
    if (process.env.KEEP_LOGS) fs.writeFileSync(`${process.env.KEEP_LOGS}/${name}.log`, gateway.log());
    await agent.close();
  }
  return rows.map(row => ({ lane: name, ...row }));
}

async function attempt(fault, context) {
  const { agent, gateway, base, well } = context;
  const complaints = [];
  const before = await figures(gateway);
  agent.seen.length = 0;
  agent.odd.length = 0;
  agent.plays(fault.agent ?? well);
  if (fault.fresh) {
    for (const connection of agent.open) connection.reset();
    await sleep(200);
  } // it begins with a new connection

  const begun = Date.now();
  const client = fault.client ?? askAndRead;
  const got = await client(context, fault);
  const took = Date.now() - begun;
  if (took > (fault.within ?? 10_000)) complaints.push(`the client waited ${took} ms`);
  if (!fits(got, fault.got)) complaints.push(`got ${got}; expected ${fault.got}`);

  // The outcome, and all that was held is let go.
  const settled = await until(6000, async () => {
    const now = await figures(gateway);
    return now.active === 0 && now.held === 0 && counted(now.runs, before.runs, fault.runs) && now;
  });
  if (fault.seen !== undefined) complaints.push(...judgeSeen(fault.seen, agent));

  // And the next run is as good as any, at once.
  agent.plays(well);
  agent.drop();
  if (fault.cut) {
    for (const connection of agent.open) connection.reset();
    await sleep(200);
  }
  const next = await healthyRun(context, rowNumber++);
  if (next) complaints.push(`the next run: ${next}`);
  const after =
    (await until(settled ? 5000 : 100, async () => {
      const now = await figures(gateway);
      return now.fds <= base && now.active === 0 && now.held === 0 && now;
    })) || (await figures(gateway));

  const runs = { ...difference(after.runs, before.runs) };
  runs.finished = (runs.finished ?? 0) - 1; // that next run
  if (!runs.finished) delete runs.finished;
  const refused = difference(after.refused, before.refused);
  if (!fitsCounts(runs, fault.runs)) complaints.push(`runs ${words(runs)}; expected ${say(fault.runs)}`);
  if (!fitsCounts(refused, fault.refused)) complaints.push(`refused ${words(refused)}; expected ${say(fault.refused)}`);
  const leaks = [];
  if (after.active) leaks.push(`${after.active} runs active`);
  if (after.held) leaks.push(`${after.held} bytes held`);
  if (after.fds > base) leaks.push(`${after.fds - base} descriptors`);
  complaints.push(...leaks.map(leak => `leaks ${leak}`));
  const total = [words(runs), words(refused) && `refused: ${words(refused)}`].filter(Boolean).join(', ') || 'no run';
  return { fault: fault.name, got, counted: total, complaints, known: fault.known, ms: Date.now() - begun };
}

let rowNumber = 1;
const start = Date.now();

/** Posts a run as the fault says and reads the answer. */
export async function askAndRead({ connect }, { path, more, body }) {
  const peer = await connect();
  await peer.send(post({ path, more, body }));
  return peer.answers();
}

/** A whole run; a complaint where it is not as it should be. */
async function healthyRun({ connect }, n) {
  const peer = await connect().catch(error => error);
  if (peer instanceof Error) return `no connection: ${peer.message}`;
  await peer.send(post({ path: `/?n=${n}`, more: 'connection: close\r\n' }));
  const got = await peer.answers();
  if (!/^200, 5 events, RUN_FINISHED$/.test(got)) return got;
  return peer.bytes.includes(`for /agui?n=${n}"`) || peer.bytes.includes('for any') ? undefined : 'it got the answer to another request';
}

/** What the gateway says of itself. */
async function figures(gateway) {
  const now = { runs: {}, refused: {}, active: 0, held: 0, fds: 0 };
  for (const { name, labels, value } of await gateway.metrics()) {
    if (name === 'tidegate_runs_total') now.runs[labels.outcome] = (now.runs[labels.outcome] ?? 0) + value;
    if (name === 'tidegate_requests_refused_total') now.refused[labels.reason] = (now.refused[labels.reason] ?? 0) + value;
    if (name === 'tidegate_runs_active') now.active += value;
    if (name === 'tidegate_held_bytes') now.held += value;
    if (name === 'process_open_fds') now.fds = value;
  }
  return now;
}

const difference = (after, before) =>
  Object.fromEntries(
    Object.entries(after)
      .map(([key, value]) => [key, value - (before[key] ?? 0)])
      .filter(([, n]) => n !== 0),
  );
const words = counts =>
  Object.entries(counts)
    .map(([key, n]) => (n === 1 ? key : `${n} ${key}`))
    .join(', ');
const say = wanted => (wanted === undefined ? 'none' : typeof wanted === 'function' ? String(wanted) : JSON.stringify(wanted));
const counted = (after, before, wanted) => fitsCounts(difference(after, before), wanted);

function fitsCounts(counts, wanted = {}) {
  if (typeof wanted === 'function') return wanted(counts);
  if (Array.isArray(wanted)) return wanted.some(one => fitsCounts(counts, one));
  const expected = typeof wanted === 'string' ? (wanted ? { [wanted]: 1 } : {}) : wanted;
  const keys = new Set([...Object.keys(counts), ...Object.keys(expected)]);
  return [...keys].every(key => (counts[key] ?? 0) === (expected[key] ?? 0));
}

function fits(got, wanted) {
  if (Array.isArray(wanted)) return wanted.some(one => fits(got, one));
  return wanted instanceof RegExp ? wanted.test(got) : got === wanted;
}

function judgeSeen(wanted, agent) {
  const odd = agent.odd.map(what => `the agent saw an odd ${what}`);
  if (typeof wanted === 'number') {
    return agent.seen.length === wanted ? odd : [...odd, `the agent saw ${agent.seen.length} requests; expected ${wanted}`];
  }
  const complaint = wanted(agent.seen);
  return complaint ? [...odd, `the agent saw ${complaint}`] : odd;
}

/** A gateway; a port that another lane has taken meanwhile is no failure. */
async function started(values, tries = 5) {
  try {
    return await startGateway(CONFIG, { ...values, closed: await freePort() });
  } catch (error) {
    if (tries === 1 || !/Address already in use/.test(error.message)) throw error;
    return started(values, tries - 1);
  }
}
