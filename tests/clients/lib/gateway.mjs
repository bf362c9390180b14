// The proxy under test: writes a configuration, starts `tidegate serve`, waits until it is ready,
// reads its metrics, stops it. It knows nothing of events.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { BIN } from './paths.mjs';
import { exchange, freePort, until } from './net.mjs';

/**
 * Starts one gateway. `config` is TOML that may use `{listen}`, `{admin}` and whatever `values` names.
 * Gives `{ url, metrics(), metric(name, labels), signal(name), stop() }`.
 */
export async function startGateway(config, values = {}) {
  if (!fs.existsSync(BIN)) throw new Error(`no binary at ${BIN}: cargo build --release, or set TIDEGATE_BIN`);
  const listen = `127.0.0.1:${await freePort()}`, admin = `127.0.0.1:${await freePort()}`;
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'tidegate-'));
  const file = path.join(dir, 'tidegate.toml');
  const all = { ...values, listen, admin };
  fs.writeFileSync(file, config.replace(/\{(\w+)\}/g, (whole, key) => all[key] ?? whole));

  // To the gateway every variable of this prefix is configuration; ours are not.
  const env = Object.fromEntries(Object.entries(process.env).filter(([key]) => !key.startsWith('TIDEGATE_')));
  const child = spawn(BIN, ['serve', '--config', file], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let log = '';
  child.stdout.on('data', part => { log += part; });
  child.stderr.on('data', part => { log += part; });
  const exit = new Promise(done => child.once('exit', (code, signal) => done({ code, signal })));
  const atExit = () => child.kill('SIGKILL');
  process.once('exit', atExit);

  const ready = await until(10_000, async () => {
    if (child.exitCode !== null || child.signalCode !== null) return 'gone';
    return exchange(`http://${admin}/readyz`).then(r => r.status === 200, () => false);
  });
  if (ready !== true) {
    child.kill('SIGKILL');
    throw new Error(`the gateway did not become ready (${ready}):\n${log}`);
  }

  const metrics = async () => parseMetrics((await exchange(`http://${admin}/metrics`)).body.toString());
  return {
    url: `http://${listen}/`,
    log: () => log,
    metrics,
    /** Sends it a signal. */
    signal: name => child.kill(name),
    /** The sum of all series of `name` whose labels include `labels`. */
    async metric(name, labels = {}) {
      return (await metrics())
        .filter(s => s.name === name && Object.entries(labels).every(([k, v]) => s.labels[k] === v))
        .reduce((sum, s) => sum + s.value, 0);
    },
    /** Asks it to stop; gives its exit code, or the signal that had to be used after 10 s. */
    async stop() {
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), 10_000);
      const { code, signal } = await exit;
      clearTimeout(timer);
      process.removeListener('exit', atExit);
      fs.rmSync(dir, { recursive: true, force: true });
      return signal ?? code;
    },
  };
}

/** A configuration with one agent, and what becomes of its streams without a terminal event: `pass` or `run_error`. */
export const withTruncated = truncated => `listen = "{listen}"
[admin]
listen = "{admin}"
[agents.main]
url = "{agent}"
[[routes]]
path = "/"
agent = "main"
on_error = { truncated = "${truncated}" }
`;

/** Prometheus text to `{ name, labels, value }`, comments left out. */
function parseMetrics(text) {
  const series = [];
  for (const line of text.split('\n')) {
    const m = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/.exec(line);
    if (!m) continue;
    const labels = Object.fromEntries([...(m[2] ?? '').matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(l => [l[1], l[2]]));
    series.push({ name: m[1], labels, value: Number(m[3]) });
  }
  return series;
}
