// More than there is room for: who is in is served as if nothing were, who is not is told or waits, and it gets over it.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { lacks, paced } from './lib/agent.mjs';
import { ask, input } from './lib/clients.mjs';
import { Gateway, freePort } from './lib/gateway.mjs';

const sleep = ms => new Promise(done => setTimeout(done, ms));

async function before(agent, route, options) {
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-'));
  const file = join(folder, 'tidegate.toml');
  const port = await freePort();
  writeFileSync(file, `listen = "127.0.0.1:${port}"\nthreads = 1\n[agents.bot]\nurl = "${agent.url}"\n[[routes]]\nagent = "bot"\n${route}\n`);
  const gateway = await Gateway.start(file, options);
  rmSync(folder, { recursive: true });
  return { gateway, port, url: `http://127.0.0.1:${port}/` };
}

test('past limits.runs others are told to come later, and who is in does not notice', async t => {
  const [deltas, pace, places, beyond] = [20, 100, 50, 1000];
  const agent = await paced(deltas, pace);
  const { gateway, url } = await before(agent, `limits = { runs = ${places} }`);
  const begun = performance.now();
  const inside = Array.from({ length: places }, async (_, n) => {
    const answer = await ask(url, input(`in ${n}`), false);
    return { lack: lacks(answer.text, `in ${n}`, deltas), took: performance.now() - begun };
  });
  while (await gateway.figure('tidegate_runs_active') < places) await sleep(10);
  const times = [];
  for (let n = 0; n < beyond; n += 50) {
    await Promise.all(Array.from({ length: 50 }, async () => {
      const asked = performance.now();
      const answer = await ask(url, input('out'), false);
      times.push(performance.now() - asked);
      assert.equal(answer.status, 503);
      assert.ok(Number(answer.headers['retry-after']) > 0);
    }));
  }
  const active = await gateway.figure('tidegate_runs_active');
  const ended = await Promise.all(inside);
  times.sort((a, b) => a - b);
  const slowest = Math.max(...ended.map(({ took }) => took));
  t.diagnostic(`${beyond} told after ${times[beyond / 2].toFixed(0)} ms (median), ${times.at(-1).toFixed(0)} ms (longest); `
    + `${places} runs of ${deltas * pace} ms ended after ${slowest.toFixed(0)} ms at most`);
  assert.deepEqual(ended.filter(({ lack }) => lack), []);
  assert.equal(active, places);
  assert.equal((await ask(url, input('late'), false)).status, 200);
  assert.equal(await gateway.stop(), 0);
  agent.close();
});

test('without file descriptors connections wait, nothing spins, and once there are some it serves again', async t => {
  const agent = await paced(3, 10);
  const { gateway, port, url } = await before(agent, '', { files: 96 });
  const idle = Array.from({ length: 200 }, () => connect(port, '127.0.0.1').on('error', () => {}));
  await gateway.says('connections cannot be accepted and wait');
  const [cpu, begun] = [gateway.cpu(), performance.now()];
  await sleep(3000);
  const share = (gateway.cpu() - cpu) / ((performance.now() - begun) / 1000);
  const lines = gateway.log.split('cannot be accepted').length - 1;
  t.diagnostic(`${(share * 100).toFixed(1)} % of a core and ${lines} log line(s) in three seconds without file descriptors`);
  assert.ok(share < 0.1, `${share} of a core`);
  assert.ok(lines <= 2, gateway.log);
  // These wait behind the others.
  const waiting = Promise.all(['a', 'b'].map(runId => ask(url, input(runId), false).then(({ text }) => lacks(text, runId, 3))));
  idle.forEach(socket => socket.destroy());
  assert.deepEqual(await waiting, [undefined, undefined]);
  const more = await Promise.all(Array.from({ length: 20 }, (_, n) => ask(url, input(`${n}`), false)));
  assert.ok(more.every(({ status }) => status === 200));
  gateway.signal('SIGTERM');
  const [code] = await once(gateway.process, 'exit');
  assert.equal(code, 0);
  agent.close();
});
