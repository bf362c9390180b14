// A soak: the gateway, the agents and the clients, a reload every ten seconds, a look at the gateway every second, and
// the verdict. Arguments: seconds, runs at once.
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { startGateway } from '../clients/lib/gateway.mjs';
import { sleep, until } from '../clients/lib/net.mjs';
import { LIMIT } from './kinds.mjs';
import { judge } from './verdict.mjs';

const seconds = Number(process.argv[2]),
  runs = Number(process.argv[3]);
const EVERY = 500; // milliseconds between two events
const CONFIG = `listen = "{listen}"
[admin]
listen = "{admin}"
[log]
level = "warn"
[agents.one]
url = "http://127.0.0.1:{one}/"
timeouts = { connect = "10s", first_event = "${LIMIT}s", idle = "${LIMIT}s", run = "5m" }
[agents.binary]
url = "http://127.0.0.1:{one}/"
encoding = "protobuf"
timeouts = { connect = "10s", first_event = "${LIMIT}s", idle = "${LIMIT}s", run = "5m" }
[agents.two]
url = "http://127.0.0.1:{two}/"
http = 2
timeouts = { connect = "10s", first_event = "${LIMIT}s", idle = "${LIMIT}s", run = "5m" }
[defaults]
keepalive = "2s"
client_version = { header = "x-agui-version", default = "1.0" }
limits = { body = "64KiB", frame = "256KiB" }
[[routes]]
path = "/"
agent = "one"
[[routes]]
path = "/binary"
agent = "binary"
[[routes]]
path = "/h2"
agent = "two"
[[routes]]
path = "/throttle"
agent = "one"
throttle = { every = "100ms" }
[[routes]]
path = "/tools"
agent = "one"
tools = { deny = ["delete_*"] }
[[routes]]
path = "/all"
agent = "one"
guard = "repair"
expand = true
tools = { deny = ["delete_*"] }
redact = [{ pattern = "sk-[a-z0-9]{8}", with = "[redacted]" }]
state = { compact = true }
throttle = { every = "50ms" }
`;

const told = child => new Promise(done => child.once('message', done));
const begin = (name, ...args) => fork(fileURLToPath(new URL(name, import.meta.url)), args.map(String));

/** Whether SIGHUP reloads, which is tried on a gateway that nobody needs. */
async function reloads() {
  if (process.env.SOAK_RELOADS === 'off') return false;
  const gateway = await startGateway(CONFIG, { one: 1, two: 2 });
  gateway.signal('SIGHUP');
  const works = await until(3000, () => gateway.metric('tidegate_config_reloads_total', { result: 'success' }).catch(() => 0));
  await gateway.stop();
  return works > 0;
}

async function look(gateway, at) {
  const metrics = await gateway.metrics();
  const sum = name => metrics.filter(series => series.name === name).reduce((total, { value }) => total + value, 0);
  const outcomes = {};
  for (const { name, labels, value } of metrics)
    if (name === 'tidegate_runs_total') outcomes[labels.outcome] = (outcomes[labels.outcome] ?? 0) + value;
  return {
    at,
    memory: sum('process_resident_memory_bytes'),
    descriptors: sum('process_open_fds'),
    active: sum('tidegate_runs_active'),
    held: sum('tidegate_held_bytes'),
    outcomes,
    reloads: sum('tidegate_config_reloads_total'),
  };
}

const agents = begin('agents.mjs', EVERY);
const ports = await told(agents);
const reloading = await reloads();
if (!reloading) console.log('note: no reloads: SIGHUP does not reload yet, or they are off');
const gateway = await startGateway(CONFIG, ports);
const before = await look(gateway, 0);
const ramp = Math.min(20, seconds / 5);
const clients = begin('clients.mjs', gateway.url, runs, ramp, 30);
const over = new Promise(done => {
  clients.on('message', message => {
    if (message.over) done(message);
  });
  clients.on('exit', () => done(undefined));
});

const begun = Date.now(),
  samples = [];
let asked = 0;
for (let n = 1; Date.now() - begun < seconds * 1000; n++) {
  await sleep(Math.max(0, begun + n * 1000 - Date.now()));
  samples.push(await look(gateway, (Date.now() - begun) / 1000));
  if (reloading && n % 10 === 0) {
    gateway.signal('SIGHUP');
    asked++;
  }
  if (n % 10 === 0) {
    const { at, active, memory, descriptors } = samples.at(-1);
    console.log(`${at.toFixed(0).padStart(4)} s  ${active} runs, ${(memory / 2 ** 20).toFixed(0)} MiB, ${descriptors} descriptors`);
  }
}
clients.send('stop');
const seen = await Promise.race([over, sleep(60_000)]);
// Connections that agents have closed are let go in rounds.
await until(75_000, async () => {
  const now = await look(gateway, 0);
  return now.active === 0 && now.held === 0 && now.descriptors <= before.descriptors + 10;
});
const after = await look(gateway, 0);
const code = await gateway.stop();
agents.send('how late?');
const { late } = await told(agents);
agents.kill();
clients.kill();
process.exit(judge({ runs, ramp, before, samples, after, seen, code, asked, reloading, late, log: gateway.log() }) ? 0 : 1);
