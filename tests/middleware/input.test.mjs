// What a tool policy does to the request: the agent never sees a denied tool nor the old calls of it, however the body
// is encoded; everything else it sees as it was. A body that nobody can read is refused, not passed on.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import zlib from 'node:zlib';
import { startGateway } from '../clients/lib/gateway.mjs';
import { exchange } from '../clients/lib/net.mjs';
import { startClient } from '../versions/lib/client.mjs';
import { configOf } from './lib/config.mjs';
import { DENIED, STORIES, told, TRACES } from './lib/denied.mjs';
import { startScriptedAgent, withPauses } from './lib/scripted-agent.mjs';

const tool = name => ({ name, description: `does ${name}`, parameters: { type: 'object', properties: {} } });
const call = (id, name, json) => ({ id, type: 'function', function: { name, arguments: json } });
const USER = { id: 'u1', role: 'user', content: 'Please.' }, LAST = { id: 'u2', role: 'user', content: 'And now?' };
const MIXED = [call('call-fine', 'search_web', '{"q":"tide"}'), call('call-denied-7', DENIED, '{"path":"precious.db"}')];
const RESULTS = [{ id: 'r1', role: 'tool', toolCallId: 'call-fine', content: 'found' }, { id: 'r2', role: 'tool', toolCallId: 'call-denied-7', content: 'it-is-gone' }];

const INPUT = {
  threadId: 't1', runId: 'r1', state: { n: 1 }, context: [], forwardedProps: { a: [1, 2] },
  tools: [tool('search_web'), tool(DENIED), tool('read_file')],
  messages: [USER, { id: 'a1', role: 'assistant', content: 'I try.', toolCalls: MIXED }, ...RESULTS,
    { id: 'a2', role: 'assistant', toolCalls: [call('call-denied-7b', DENIED, '{}')] },
    { id: 'r3', role: 'tool', toolCallId: 'call-denied-7b', content: 'it-is-gone too' }, LAST],
};
/** What of it the agent is to see. */
const CLEAN = {
  ...INPUT,
  tools: [INPUT.tools[0], INPUT.tools[2]],
  messages: [USER, { id: 'a1', role: 'assistant', content: 'I try.', toolCalls: [MIXED[0]] }, RESULTS[0], LAST],
};

const ENCODINGS = {
  'as it is': { encode: body => body },
  gzip: { encode: zlib.gzipSync, name: 'gzip' },
  deflate: { encode: zlib.deflateSync, name: 'deflate' },
  br: { encode: zlib.brotliCompressSync, name: 'br' },
};

let agent, gateway;
before(async () => {
  agent = await startScriptedAgent();
  gateway = await startGateway(configOf({
    deny: 'tools = { deny = ["delete_*"] }', allow: 'tools = { allow = ["search_*", "read_*"] }', small: 'tools = { deny = ["delete_*"] }\nlimits = { body = "64KiB" }',
  }), { agent: agent.url });
});
after(async () => {
  assert.equal(await gateway?.stop(), 0);
  await agent?.close();
});

let scripts = 0;

/** The status of the answer, and what the agent was asked, or undefined where it was not. */
async function asked(path, body, headers = {}) {
  const script = `input-${++scripts}`;
  agent.put(script, withPauses(told(STORIES['start, arguments, end and result']), script));
  const { status } = await exchange(`${gateway.url}${path}`, {
    method: 'POST', body, headers: { 'content-type': 'application/json', accept: 'text/event-stream', 'x-script': script, ...headers },
  });
  return { status, got: agent.asked(script) };
}

describe('a denied tool does not reach the agent', () => {
  for (const path of ['deny', 'allow']) {
    for (const [name, encoding] of Object.entries(ENCODINGS)) {
      test(`/${path}, the body ${name}`, async () => {
        const headers = encoding.name ? { 'content-encoding': encoding.name } : {};
        const { status, got } = await asked(path, encoding.encode(Buffer.from(JSON.stringify(INPUT))), headers);
        assert.equal(status, 200);
        assert.equal(got.headers['content-encoding'], undefined);
        assert.deepEqual(TRACES.filter(trace => got.body.toString().includes(trace)), []);
        assert.deepEqual(JSON.parse(got.body), CLEAN);
      });
    }
  }

  test('the real client offers its tools and its history', async () => {
    const client = await startClient('1.0.0'), script = 'input-client';
    agent.put(script, withPauses(told(STORIES['start, arguments, end and result']), script));
    const report = await client.run({
      url: `${gateway.url}deny`, headers: { 'x-script': script }, threadId: 't1', runId: 'r1', messages: INPUT.messages, tools: INPUT.tools,
    });
    client.close();
    const got = JSON.parse(agent.asked(script).body);
    assert.equal(report.error, null);
    assert.deepEqual(got.tools.map(one => one.name), ['search_web', 'read_file']);
    assert.deepEqual(got.messages.map(message => message.id), CLEAN.messages.map(message => message.id));
    assert.deepEqual(TRACES.filter(trace => JSON.stringify(got).includes(trace)), []);
  });
});

describe('what needs no change keeps its bytes', () => {
  test('an input without a denied tool', async () => {
    const text = JSON.stringify(CLEAN, null, 1).replace('"n": 1', '"n": 1.0,\n "big": 12345678901234567890, "\\u00e9": "\\/"');
    assert.equal((await asked('deny', text)).got.body.toString(), text);
  });
});

describe('what cannot be read is refused', () => {
  const refused = {
    'an encoding that nobody knows': { body: JSON.stringify(INPUT), headers: { 'content-encoding': 'x-secret' }, status: 415 },
    'a body that is not what it says': { body: JSON.stringify(INPUT), headers: { 'content-encoding': 'gzip' }, status: 400 },
    'no JSON': { body: `{"tools":[{"name":"${DENIED}"}`, status: 400 },
    'tools of another shape': { body: JSON.stringify({ ...INPUT, tools: { name: DENIED } }), status: 400 },
    'more than the limit once it is decoded': {
      path: 'small', body: zlib.gzipSync(JSON.stringify({ ...INPUT, state: 'x'.repeat(200_000) })), headers: { 'content-encoding': 'gzip' }, status: 413,
    },
  };
  for (const [name, { path = 'deny', body, headers, status }] of Object.entries(refused)) {
    test(name, async () => {
      const { status: answered, got } = await asked(path, body, headers);
      assert.equal(got, undefined, 'the agent is not asked');
      assert.equal(answered, status);
    });
  }
});
