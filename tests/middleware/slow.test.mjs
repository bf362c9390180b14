// A client that reads slowly does not hold back its agent where a throttle may merge what waits, and gets everything,
// in fewer events; where it may not, the agent waits and every event arrives.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { startGateway } from '../clients/lib/gateway.mjs';
import { frame, payloads } from '../clients/lib/sse.mjs';
import { configOf } from './lib/config.mjs';
import { SSE, startScriptedAgent } from './lib/scripted-agent.mjs';
import { readSlowly } from './lib/slow-reader.mjs';

const TOKENS = 20_000;
/** So long that the stream is far more than the sockets on its way hold, and its text far less. */
const ID = `message-${'0123456789'.repeat(150)}`;
/** How long the client reads slowly, and how long at most while it waits to see that the agent goes on. */
const SLOW = 2_000, PATIENCE = 20_000;

const token = n => `${n} `;
const TEXT = Array.from({ length: TOKENS }, (_, n) => token(n)).join('');

/** Says the run as fast as it can; `told.over` once the last byte has left. */
const fast = told => async ({ response, write }) => {
  const say = event => write(frame(JSON.stringify(event)));
  response.writeHead(200, SSE);
  told.began = performance.now();
  await say({ type: 'RUN_STARTED', threadId: 'thread-1', runId: 'run-1' });
  await say({ type: 'TEXT_MESSAGE_START', messageId: ID, role: 'assistant' });
  for (let n = 0; n < TOKENS; n += 1) {
    if (!await say({ type: 'TEXT_MESSAGE_CONTENT', messageId: ID, delta: token(n) })) return;
    told.tokens = n + 1;
  }
  await say({ type: 'TEXT_MESSAGE_END', messageId: ID });
  await say({ type: 'RUN_FINISHED', threadId: 'thread-1', runId: 'run-1' });
  response.end(() => { told.over = performance.now() - told.began; });
};

let agent, gateway;
before(async () => {
  agent = await startScriptedAgent();
  gateway = await startGateway(configOf({
    merge: 'throttle = { every = "0ms", slow_client = "merge" }',
    wait: 'throttle = { every = "0ms", slow_client = "wait" }',
  }), { agent: agent.url });
});
after(async () => {
  assert.equal(await gateway?.stop(), 0);
  await agent?.close();
});

/** The events that the client got, and what the agent could tell of it when the slow phase was over. */
async function run(path, slow) {
  const told = { tokens: 0 };
  let then = null;
  agent.put(path, fast(told));
  const body = await readSlowly(`${gateway.url}${path}`, { 'x-script': path }, ms => {
    const on = slow(ms, told);
    if (!on) then ??= { ...told, slow: ms };
    return on;
  });
  const events = payloads(body).map(payload => JSON.parse(payload));
  return { events, then, text: events.map(event => event.delta ?? '').join(''), bytes: body.length };
}

const seconds = ms => `${(ms / 1000).toFixed(2)} s`;

describe('20 000 tokens to a client that reads 4 KiB a second', () => {
  test('merge: the agent is done long before, the text is the same, the events are few', async t => {
    const { events, then, text, bytes } = await run('merge', (ms, told) => ms < SLOW || (told.over === undefined && ms < PATIENCE));
    t.diagnostic(`the agent was done after ${then.over === undefined ? 'never' : seconds(then.over)}, the client got ${events.length} events in ${bytes} bytes`);
    assert.notEqual(then.over, undefined, `the agent is held back at token ${then.tokens}`);
    assert.equal(text, TEXT);
    assert.equal(events.at(-1).type, 'RUN_FINISHED');
    assert.ok(events.length < TOKENS / 2, `${events.length} events`);
  });

  test('wait: the agent is held back, and every event arrives', async t => {
    const { events, then, text, bytes } = await run('wait', ms => ms < SLOW);
    t.diagnostic(`the agent was at token ${then.tokens} after ${seconds(then.slow)}, the client got ${events.length} events in ${bytes} bytes`);
    assert.equal(then.over, undefined, 'the agent is not done while the client is slow');
    assert.ok(then.tokens < TOKENS, 'the agent has not said everything');
    assert.equal(text, TEXT);
    assert.equal(events.length, TOKENS + 4);
  });
});
