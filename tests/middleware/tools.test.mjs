// A denied tool call is nowhere: not in what the real client keeps, nor in any byte that it was sent, in whatever form
// the agent says it and however the stream is cut. What nobody denied is all there.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { split } from '../clients/lib/replay-agent.mjs';
import { payloads } from '../clients/lib/sse.mjs';
import { DENIED, SEEN, STORIES, told, TRACES } from './lib/denied.mjs';
import { watched } from './lib/watched.mjs';

const ROUTES = {
  plain: '',
  deny: 'tools = { deny = ["delete_*"] }',
  allow: 'tools = { allow = ["search_*"] }',
  'deny-throttled': 'tools = { deny = ["delete_*"] }\nthrottle = { every = "33ms" }',
  'deny-expanded': 'tools = { deny = ["delete_*"] }\nexpand = true\nguard = "repair"',
  mask: 'tools = { deny = ["delete_*"], on_denied = "mask" }',
  error: 'tools = { deny = ["delete_*"], on_denied = "error" }',
  arguments: `tools = { arguments = [{ tool = "delete_*", path = "/path", matches = '^precious' }] }`,
  results: `tools = { results = [{ tool = "delete_*", matches = 'is-gone$' }] }`,
};

const watch = watched(ROUTES);

/** What the client shows and the bytes that it would have been sent. */
async function seen(path, events, size) {
  const stream = told(events);
  if (size) stream.pieces = split(Buffer.concat(stream.pieces), size);
  const { report, raw } = await watch(path, stream);
  return { report, bytes: raw.body.toString(), events: payloads(raw.body).map(payload => JSON.parse(payload)) };
}

const callsOf = report => report.messages.flatMap(message => message.toolCalls ?? []).map(call => call.function);
const traces = text => TRACES.filter(trace => text.includes(trace));

describe('a denied call is nowhere', { concurrency: 4 }, () => {
  for (const [name, events] of Object.entries(STORIES)) {
    test(name, async () => {
      const direct = await seen('plain', events);
      assert.equal(direct.report.error, null, 'the client accepts the stream as it is');
      assert.notDeepEqual(traces(direct.bytes), [], 'there is something to hide');
      for (const path of ['deny', 'allow', 'deny-throttled', 'deny-expanded']) {
        for (const size of [undefined, 23]) {
          const { report, bytes } = await seen(path, events, size);
          assert.deepEqual(traces(bytes), [], `bytes on /${path}: ${bytes}`);
          assert.deepEqual(traces(JSON.stringify([report.messages, report.state, report.events])), [], `the client on /${path}`);
          assert.equal(report.error, null, `the client on /${path}`);
          assert.deepEqual(callsOf(report), [SEEN.call], `the other call on /${path}`);
          const said = report.messages.filter(message => message.role === 'assistant');
          assert.deepEqual(said.map(message => message.content).filter(Boolean), SEEN.texts, `the texts on /${path}`);
          assert.ok(said.every(message => message.content || message.toolCalls?.length), `no empty message on /${path}`);
        }
      }
    });
  }
});

describe('other answers to a denied call', () => {
  const events = STORIES['start, arguments, end and result'];

  test('mask shows the call without arguments and result', async () => {
    const { report, bytes } = await seen('mask', events);
    assert.equal(report.error, null);
    assert.deepEqual(traces(bytes), [DENIED, 'call-denied-7']);
    assert.deepEqual(callsOf(report), [SEEN.call, { name: DENIED, arguments: '{}' }]);
    assert.equal(report.messages.find(message => message.toolCallId === 'call-denied-7')?.content, '');
  });

  test('error ends the run', async () => {
    const { events: got, bytes } = await seen('error', events);
    assert.equal(got.at(-1).type, 'RUN_ERROR');
    assert.equal(got.at(-1).code, 'TOOL_DENIED');
    assert.deepEqual(traces(bytes).filter(trace => trace !== DENIED), []);
    assert.ok(!bytes.includes('After.'), 'nothing follows');
  });

  test('arguments that a rule matches deny their call', async () => {
    const { report, bytes } = await seen('arguments', events);
    assert.equal(report.error, null);
    assert.deepEqual(traces(bytes), []);
    assert.deepEqual(callsOf(report), [SEEN.call]);
  });

  test('arguments that no rule matches let their call through', async () => {
    const fine = JSON.parse(JSON.stringify(events).replaceAll('precious', 'worthless'));
    const [{ report }, direct] = [await seen('arguments', fine), await seen('plain', fine)];
    assert.deepEqual(report.messages, direct.report.messages);
  });

  test('a result that a rule matches is not shown', async () => {
    const { report, bytes } = await seen('results', events);
    assert.equal(report.error, null);
    assert.ok(!bytes.includes('it-is-gone'), bytes);
    assert.ok(bytes.includes('found'), 'the other result is');
  });
});
