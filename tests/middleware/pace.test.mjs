// A run of 50 tokens a second through a throttle: far fewer events for the client, none much later, the first at once.
// The measure itself is tried first, with throttles that are known to be good and bad.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { startGateway } from '../clients/lib/gateway.mjs';
import { configOf } from './lib/config.mjs';
import { startMergingProxy } from './lib/merging-proxy.mjs';
import { faults, measured, told, warmed } from './lib/pace.mjs';
import { startScriptedAgent } from './lib/scripted-agent.mjs';

/** A busy machine may spoil a run, but hardly so many of them. */
const TRIES = 3;

let agent;
before(async () => {
  agent = await startScriptedAgent();
  await warmed(agent);
});
after(() => agent?.close());

describe('the measure', { concurrency: 2 }, () => {
  const proxies = {
    'finds nothing wrong with a good throttle': { how: { every: 45 }, finds: [] },
    'finds a throttle that merges nothing': { how: { every: 0 }, finds: [/fewer events/] },
    'finds one that each delta puts off': { how: { every: 50, debounce: true }, finds: [/p99/] },
    'finds one that holds the first delta': { how: { every: 50, first: false }, finds: [/first delta/] },
  };
  for (const [what, { how, finds }] of Object.entries(proxies)) {
    test(what, async t => {
      const proxy = await startMergingProxy(agent, how);
      let found;
      for (let left = TRIES; left > 0; left -= 1) {
        const one = await measured(agent, agent.url, proxy.url);
        t.diagnostic(told(one));
        found = faults(one);
        if (found.length === finds.length) break;
      }
      await proxy.close();
      assert.equal(found.length, finds.length, found.join('; '));
      finds.forEach((pattern, at) => assert.match(found[at], pattern));
    });
  }
});

describe('a paced run with a window of 50 ms', () => {
  let gateway;
  before(async () => {
    gateway = await startGateway(configOf({ plain: '', throttled: 'throttle = { every = "50ms" }' }), { agent: agent.url });
  });
  after(async () => { assert.equal(await gateway?.stop(), 0); });

  test('60 % fewer events, at most 60 ms later, the first at once', async t => {
    let found;
    for (let left = TRIES; left > 0; left -= 1) {
      const one = await measured(agent, `${gateway.url}plain`, `${gateway.url}throttled`);
      t.diagnostic(told(one));
      found = faults(one);
      if (found.length === 0) return;
    }
    assert.fail(found.join('; '));
  });
});
