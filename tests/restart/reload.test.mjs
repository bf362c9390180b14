// Another configuration for a process at work: by SIGHUP, or because a file changed; and one that cannot be used.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { lacks, paced } from './lib/agent.mjs';
import { ask, input } from './lib/clients.mjs';
import { Gateway, freePort } from './lib/gateway.mjs';

const RELOADS = 'tidegate_config_reloads_total';
const sleep = ms => new Promise(done => setTimeout(done, ms));

/** An agent that answers with the token it was shown. */
async function shown() {
  const server = createServer((request, response) => response.end(request.headers.authorization ?? 'none'));
  await new Promise(done => server.listen(0, '127.0.0.1', done));
  return { url: `http://127.0.0.1:${server.address().port}/`, close: () => { server.closeAllConnections(); server.close(); } };
}

async function within(t) {
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const port = await freePort();
  const file = join(folder, 'tidegate.toml');
  const write = (agent, keys = '', route = '') => writeFileSync(file,
    `listen = "127.0.0.1:${port}"\nthreads = 2\n[agents.bot]\nurl = "${agent.url}"\n${keys}\n[[routes]]\nagent = "bot"\n${route}\n`);
  return { folder, file, port, write, url: `http://127.0.0.1:${port}/` };
}

const failures = gateway => gateway.figure(RELOADS, 'result="failure"');
const successes = gateway => gateway.figure(RELOADS, 'result="success"');

test('a file that cannot be used changes nothing, says everything that is wrong, and counts', async t => {
  const { file, write, url } = await within(t);
  const agent = await paced(2, 10);
  write(agent);
  const gateway = await Gateway.start(file);
  const config = async () => (await fetch(`http://127.0.0.1:${gateway.admin}/config`)).text();
  const [before, hash] = [await config(), await gateway.figure('tidegate_config_last_reload_success_timestamp_seconds')];

  write(agent, 'timeouts = { idle = "soon" }', 'gaurd = "off"');
  gateway.signal('SIGHUP');
  await gateway.says('the former one stays', 2);
  assert.match(gateway.log, /agents\.bot\.timeouts\.idle/);
  assert.match(gateway.log, /guard/);
  assert.equal(await failures(gateway), 1);
  // The look at the file a moment later finds nothing new.
  await sleep(2500);
  assert.deepEqual([await failures(gateway), await successes(gateway)], [1, 0]);
  assert.equal(await config(), before);
  assert.equal(await gateway.figure('tidegate_config_last_reload_success_timestamp_seconds'), hash);
  assert.equal((await ask(url, input('r'), false)).status, 200);

  write(agent);
  await gateway.says('the configuration is the one in use');
  assert.deepEqual([await failures(gateway), await successes(gateway)], [1, 1]);
  gateway.signal('SIGHUP');
  await gateway.says('the configuration is the one in use', 2);
  assert.equal(await successes(gateway), 2);
  assert.equal(await gateway.stop(), 0);
  agent.close();
});

test('a port that is taken changes nothing, and the next file is used', async t => {
  const { file, port, write, url } = await within(t);
  const [agent, squatter] = [await paced(2, 10), createServer()];
  await new Promise(done => squatter.listen(0, '127.0.0.1', done));
  write(agent);
  const gateway = await Gateway.start(file);
  const both = taken => writeFileSync(file, `listen = ["127.0.0.1:${port}", "127.0.0.1:${taken}"]\nthreads = 3\nagent = "${agent.url}"\n`);
  both(squatter.address().port);
  gateway.signal('SIGHUP');
  await gateway.says('cannot listen on');
  assert.equal(await failures(gateway), 1);
  const free = await freePort();
  both(free);
  await gateway.says('the changed configuration is in use');
  for (const at of [url, `http://127.0.0.1:${free}/`]) assert.equal((await ask(at, input('r'), false)).status, 200);
  await gateway.says('"key":"threads"');
  assert.equal(await gateway.stop(), 0);
  squatter.close();
  agent.close();
});

test('a secret that is swapped behind a link, as Kubernetes does, is used within seconds', async t => {
  const { folder, file, write, url } = await within(t);
  const agent = await shown();
  const version = n => {
    mkdirSync(join(folder, `..${n}`));
    writeFileSync(join(folder, `..${n}`, 'token'), `token ${n}\n`);
    symlinkSync(`..${n}`, join(folder, '..data_tmp'));
    renameSync(join(folder, '..data_tmp'), join(folder, '..data'));
  };
  version(1);
  symlinkSync('..data/token', join(folder, 'token'));
  write(agent, 'headers = { set = { authorization = { file = "token" } } }');
  const gateway = await Gateway.start(file);
  assert.equal((await ask(url, input('r'), false)).text, 'token 1');
  version(2);
  await gateway.says('the changed configuration is in use');
  assert.equal((await ask(url, input('r'), false)).text, 'token 2');
  assert.doesNotMatch(gateway.log, /token 2/);
  assert.equal(await gateway.stop(), 0);
  agent.close();
});

test('SIGHUP ends nothing, also while it drains, and a second SIGTERM ends everything', async t => {
  const { file, write, url } = await within(t);
  const agent = await paced(20, 100);
  write(agent);
  const gateway = await Gateway.start(file);
  const run = ask(url, input('long'), false);
  while (await gateway.figure('tidegate_runs_active') < 1) await sleep(10);
  gateway.signal('SIGTERM');
  await gateway.says('tidegate drains');
  assert.equal(await gateway.figure('tidegate_draining'), 1);
  assert.equal((await fetch(`http://127.0.0.1:${gateway.admin}/readyz`)).status, 503);
  gateway.signal('SIGHUP');
  await gateway.says('no configuration is read any more');
  assert.equal(lacks((await run).text, 'long', 20), undefined);
  assert.equal(await gateway.ended, 0);

  const other = await Gateway.start(file);
  const cut = ask(url, input('cut'), false).then(() => 'whole', () => 'cut');
  while (await other.figure('tidegate_runs_active') < 1) await sleep(10);
  other.signal('SIGTERM');
  await other.says('tidegate drains');
  const begun = performance.now();
  other.signal('SIGTERM');
  assert.equal(await other.ended, 130);
  assert.ok(performance.now() - begun < 1000);
  assert.equal(await cut, 'cut');
  agent.close();
});
