// One process takes the place of another on the same port, configurations and certificates change, and no run is lost.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { lacks, paced } from './lib/agent.mjs';
import { Anew, KeptAlive, Multiplexed, input } from './lib/clients.mjs';
import { Gateway, freePort } from './lib/gateway.mjs';

const RUNS = Number(process.env.RESTART_RUNS ?? 5000);
const RESTARTS = 6;
const DELTAS = 5;
const PACE = 20;
const CLIENTS = { 'HTTP/1.1, kept alive': [KeptAlive, 24], 'HTTP/1.1, anew': [Anew, 12], 'HTTP/2': [Multiplexed, 24] };

const sleep = ms => new Promise(done => setTimeout(done, ms));

function certificate(folder, name) {
  const args = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2', '-subj', `/CN=${name}`];
  execFileSync('openssl', [...args, '-keyout', join(folder, 'new.key'), '-out', join(folder, 'new.pem')], { stdio: 'ignore' });
  for (const kind of ['key', 'pem']) renameSync(join(folder, `new.${kind}`), join(folder, `own.${kind}`));
}

function hasOpenssl() {
  try { return Boolean(execFileSync('openssl', ['version'])); } catch { return false; }
}

async function rolling(secure) {
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-'));
  const file = join(folder, 'tidegate.toml');
  const agent = await paced(DELTAS, PACE);
  const port = await freePort();
  let changes = 0;
  // Sometimes at once, as careful programs do, and sometimes as editors do.
  const write = () => {
    changes += 1;
    const text = `listen = "127.0.0.1:${port}"\nthreads = 2\n${secure ? 'tls = { cert = "own.pem", key = "own.key" }\n' : ''}`
      + `[agents.bot]\nurl = "${agent.url}"\ntimeouts = { idle = "${60 + (changes % 3)}s" }\n`
      + `[[routes]]\nagent = "bot"\nguard = "${changes % 2 ? 'observe' : 'repair'}"\n`;
    if (changes % 2) return writeFileSync(file, text);
    writeFileSync(`${file}.new`, text);
    renameSync(`${file}.new`, file);
  };
  if (secure) certificate(folder, 'first');
  write();

  let gateway = await Gateway.start(file, { overlap: true });
  const url = `${secure ? 'https' : 'http'}://127.0.0.1:${port}/`;
  const counts = { runs: 0, failed: [], restarts: 0, reloads: 0, certificates: 0, again: 0 };
  let going = true;
  const work = async (Client, name, n) => {
    const client = new Client(url);
    for (let i = 0; going || counts.runs < RUNS; i++) {
      const runId = `${name} ${n} ${i}`;
      try {
        const { status, text } = await client.run(input(runId));
        const lack = status === 200 ? lacks(text, runId, DELTAS) : `status ${status}: ${text}`;
        if (lack) counts.failed.push(`${runId}: ${lack}`);
      } catch (error) {
        counts.failed.push(`${runId}: ${error.code ?? ''} ${error.message}`);
      }
      counts.runs += 1;
      if (counts.failed.length > 50) break;
      await sleep(Math.random() * 60);
    }
    client.close();
    counts.again += client.again ?? 0;
  };
  const begun = performance.now();
  const clients = Object.entries(CLIENTS)
    .flatMap(([name, [Client, count]]) => Array.from({ length: count }, (_, n) => work(Client, name, n)));
  const codes = [];
  const each = Math.floor(RUNS / (RESTARTS + 1));
  for (let n = 0; n < RESTARTS && counts.failed.length <= 50; n++) {
    while (counts.runs < each * (n + 1)) await sleep(20);
    write();
    gateway.signal('SIGHUP');
    await gateway.says('the changed configuration is in use');
    counts.reloads += 1;
    write();
    await gateway.says('the changed configuration is in use', 2);
    counts.reloads += 1;
    if (secure) {
      certificate(folder, `number ${n}`);
      await gateway.says('changed certificates are in use');
      counts.certificates += 1;
    }
    const old = gateway;
    gateway = await Gateway.start(file, { overlap: true });
    codes.push(await old.stop());
    counts.restarts += 1;
  }
  going = false;
  await Promise.all(clients);
  const seconds = (performance.now() - begun) / 1000;
  codes.push(await gateway.stop());
  agent.close();
  rmSync(folder, { recursive: true });
  return { ...counts, codes, seconds };
}

function judge(t, { runs, failed, restarts, reloads, certificates, again, codes, seconds }) {
  t.diagnostic(`${runs} runs in ${seconds.toFixed(0)} s over ${restarts} restarts, ${reloads} changes of the configuration and `
    + `${certificates} of the certificate: ${failed.length} failed, ${again} sent again over HTTP/2`);
  assert.deepEqual(failed, []);
  assert.ok(runs >= RUNS && restarts === RESTARTS);
  assert.deepEqual(codes, Array(RESTARTS + 1).fill(0));
}

test('restarts and reloads under load lose no run', async t => judge(t, await rolling(false)));

test('restarts, reloads and new certificates under load lose no run over TLS', async t => {
  if (!hasOpenssl()) return t.skip('no openssl');
  judge(t, await rolling(true));
});
