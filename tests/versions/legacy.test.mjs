// Agents of old releases serve current clients through Tidegate, and current agents old clients: recordings of
// frameworks, and small agents that read and write only with a released ag-ui-protocol.
import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { startGateway } from '../clients/lib/gateway.mjs';
import { exchange } from '../clients/lib/net.mjs';
import { VENVS } from '../clients/lib/paths.mjs';
import { startPythonAgent } from '../clients/lib/python-agent.mjs';
import { startReplayAgent } from '../clients/lib/replay-agent.mjs';
import { recorded } from './lib/agents.mjs';
import { startClient } from './lib/client.mjs';
import { configOf, GUARD } from './lib/config.mjs';
import { lacks } from './lib/judge.mjs';
import { pick, viewOf } from './lib/view.mjs';

/** The releases that are installed by tests/run, with what each of them knows. */
const RELEASES = {
  '0.1.5': { result: false, thinking: false, reasoning: false, activity: false, parts: 'none' },
  '0.1.8': { result: true, thinking: true, reasoning: false, activity: false, parts: 'none' },
  '0.1.10': { result: true, thinking: true, reasoning: false, activity: true, parts: 'binary' },
  '0.1.13': { result: true, thinking: true, reasoning: true, activity: true, parts: 'binary' },
  '0.1.18': { result: true, thinking: true, reasoning: true, activity: true, parts: 'media' },
  '1.0.0': { result: true, thinking: false, reasoning: true, activity: true, parts: 'all' },
};
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const IMAGE = { type: 'image', source: { type: 'data', value: PIXEL, mimeType: 'image/png' } };
const PAPER = { type: 'document', source: { type: 'url', value: 'https://example.com/a.pdf', mimeType: 'application/pdf' } };
const text = words => ({ type: 'text', text: words });
const versioned = version => version === '1.0.0' ? '1.0' : version;

let gateway, current;
const agents = {}, clients = {};
const replay = await startReplayAgent();
const old = recorded().filter(stream => stream.spoken !== '1.0');

before(async () => {
  await Promise.all(Object.keys(RELEASES).map(async version => {
    const sdk = path.join(VENVS, '../released', version);
    agents[version] = await startPythonAgent('released', { env: { SDK: sdk } });
  }));
  const spoken = [...new Set(old.map(stream => stream.spoken))];
  gateway = await startGateway(configOf({
    guard: GUARD,
    agents: {
      ...Object.fromEntries(spoken.map(version => [`recorded-${version}`, { url: replay.url, version }])),
      ...Object.fromEntries(Object.entries(agents).map(([version, { url }]) => [`live-${version}`, { url, version: versioned(version) }])),
    },
    routes: [
      ...spoken.map(version => ({ path: `recorded/${version}`, agent: `recorded-${version}` })),
      ...Object.keys(agents).map(version => ({ path: `live/${version}`, agent: `live-${version}` })),
      ...['0.0.45', '0.0.47'].map(client => ({ path: `from/${client}`, agent: 'live-1.0.0', client })),
    ],
  }));
  [current, clients['0.0.45'], clients['0.0.47']] = await Promise.all(['1.0.0', '0.0.45', '0.0.47'].map(startClient));
});
after(async () => {
  for (const client of [current, ...Object.values(clients)]) client?.close();
  const code = await gateway?.stop();
  await Promise.all([replay.close(), ...Object.values(agents).map(agent => agent.stop())]);
  if (gateway) assert.equal(code, 0, 'the gateway ends with 0 when asked to stop');
});

describe('client 1.0.0 shows what a recorded old agent said', { skip: old.length === 0 && 'no recordings' }, () => {
  for (const stream of old) {
    test(`${stream.agent} ${stream.word}, which speaks ${stream.spoken}`, async () => {
      replay.put(stream.name, stream);
      const report = await current.run({ ...stream.job, url: `${gateway.url}recorded/${stream.spoken}`, headers: { 'x-script': stream.name } });
      assert.deepEqual(lacks(stream.events, viewOf(report), { reasons: true }), []);
      assert.equal(current.unhandled(), 0);
    });
  }
});

/** The history of a thread as client 1.0.0 keeps it. */
const HISTORY = [
  { id: 's1', role: 'system', content: 'Be kind.' },
  { id: 'u1', role: 'user', content: [text('What is '), { ...IMAGE, id: 'part-1' }, text('this?'), PAPER], metadata: { from: 'phone' } },
  { id: 'q1', role: 'reasoning', content: 'I had better look.', encryptedValue: 'c2VhbGVk' },
  {
    id: 'h1', role: 'assistant', content: 'I look.', metadata: { tone: 'calm' },
    toolCalls: [{ id: 'c1', type: 'function', function: { name: 'see', arguments: '{"x":1}' }, metadata: { cost: 1 } }],
  },
  { id: 'o1', role: 'tool', toolCallId: 'c1', content: [text('a '), text('dot'), IMAGE] },
  { id: 'a1', role: 'activity', activityType: 'PLAN', content: { done: 0 } },
  { id: 'u2', role: 'user', content: 'And?', name: 'Ann' },
];
const TOOLS = [{ name: 'confirm', description: 'Asks the user', parameters: { type: 'object', properties: {} } }];
const CONTEXT = [{ description: 'place', value: 'Bern' }];

/** What an agent of that release reads of the history. */
function read({ parts, reasoning }, { activity = false } = {}) {
  const binary = [
    text('What is '), { type: 'binary', mimeType: 'image/png', data: PIXEL }, text('this?'),
    { type: 'binary', mimeType: 'application/pdf', url: 'https://example.com/a.pdf' },
  ];
  const user = { none: 'What is this?', binary, media: [text('What is '), IMAGE, text('this?'), PAPER], all: [text('What is '), IMAGE, text('this?'), PAPER] };
  return [
    { id: 's1', role: 'system', content: 'Be kind.' },
    { id: 'u1', role: 'user', content: user[parts] },
    ...reasoning ? [{ id: 'q1', role: 'reasoning', content: 'I had better look.' }] : [],
    { id: 'h1', role: 'assistant', content: 'I look.', toolCalls: [{ id: 'c1', type: 'function', function: { name: 'see', arguments: '{"x":1}' } }] },
    { id: 'o1', role: 'tool', content: parts === 'all' ? [text('a '), text('dot'), IMAGE] : 'a dot', toolCallId: 'c1' },
    ...activity ? [{ id: 'a1', role: 'activity', content: { done: 0 } }] : [],
    { id: 'u2', role: 'user', content: 'And?', name: 'Ann' },
  ];
}

/** A message without what only some releases keep and nobody reads. */
function plain(message) {
  const shown = pick(message, ['id', 'role', 'content', 'name', 'toolCallId', 'toolCalls']);
  if (Array.isArray(shown.content)) shown.content = shown.content.map(part => pick(part, ['type', 'text', 'source', 'mimeType', 'data', 'url']));
  if (shown.toolCalls) shown.toolCalls = shown.toolCalls.map(call => pick(call, ['id', 'type', 'function']));
  return shown;
}

for (const [version, knows] of Object.entries(RELEASES)) {
  describe(`an agent with ag-ui-protocol ${version}`, () => {
    test('reads the history of client 1.0.0 and is shown whole', async () => {
      const report = await current.run({
        url: `${gateway.url}live/${version}`, headers: {}, threadId: 't1', runId: `rich-${version}`, state: { title: 'Old' },
        messages: HISTORY, tools: TOOLS, more: { context: CONTEXT, forwardedProps: { a: 1 } },
      });
      assert.equal(report.error, null);
      const view = viewOf(report), added = view.messages.slice(HISTORY.length);
      const ofRole = role => added.filter(one => one.role === role);
      assert.deepEqual(ofRole('assistant').map(one => [one.content, one.toolCalls?.map(call => pick(call, ['id', 'name', 'arguments']))]),
        [['Grüezi', [{ id: 'call-1', name: 'look', arguments: '{"at":1}' }]], ['Bye', undefined]]);
      assert.deepEqual(ofRole('tool').map(one => [one.toolCallId, one.content]), knows.result ? [['call-1', 'seen']] : []);
      assert.deepEqual(ofRole('reasoning').map(one => one.content),
        [...knows.thinking ? ['Let me think.'] : [], ...knows.reasoning ? ['Because.'] : []]);
      assert.equal(new Set(added.map(one => one.id)).size, added.length, 'no two messages share an identifier');
      assert.deepEqual(ofRole('activity').map(one => one.content), knows.activity ? [{ done: 1 }] : []);
      assert.deepEqual(view.state, { title: 'Zürich ✓', none: null });
      assert.deepEqual(view.custom, [{ name: 'nothing', value: null }]);
      assert.deepEqual(view.raw, [{ event: null, source: 'model' }]);
      assert.deepEqual(view.steps.map(step => step.name), ['look', 'look']);
      assert.equal(view.runs.length, 1);
      assert.equal(view.runs[0].end, 'finished');

      const seen = await agents[version].seen(`rich-${version}`);
      assert.deepEqual(seen.messages.map(plain), read(knows));
      assert.deepEqual(seen.tools.map(tool => pick(tool, ['name', 'description', 'parameters'])), TOOLS);
      assert.deepEqual(seen.context, CONTEXT);
      assert.deepEqual(seen.state, { title: 'Old' });
      assert.deepEqual(seen.forwardedProps, { a: 1 });
    });

    test('reads an input that has everything, and one that has as little as 1.0 allows', async () => {
      const inputs = {
        everything: {
          threadId: 't1', runId: `all-${version}`, parentRunId: 'r0', protocolVersion: '1.0', state: null, messages: HISTORY,
          tools: [...TOOLS, { name: 'bare', description: 'Takes nothing', metadata: { a: 1 } }], context: CONTEXT, forwardedProps: {},
          resume: [{ interruptId: 'i1', status: 'resolved', payload: { ok: true } }],
        },
        little: { threadId: 't1', runId: `few-${version}`, messages: [] },
      };
      for (const [what, input] of Object.entries(inputs)) {
        const answer = await exchange(`${gateway.url}live/${version}`, {
          method: 'POST', headers: { 'content-type': 'application/json', accept: 'text/event-stream' }, body: JSON.stringify(input),
        });
        assert.equal(answer.status, 200, `${what}: ${answer.body}`);
        const seen = await agents[version].seen(input.runId);
        // Nothing is converted between two of one version, so what client 1.0.0 keeps to itself gets through there.
        assert.deepEqual(seen.messages.map(plain), what === 'little' ? [] : read(knows, { activity: version === '1.0.0' }), what);
        assert.deepEqual((seen.tools ?? []).map(tool => tool.name), (input.tools ?? []).map(tool => tool.name), what);
        assert.deepEqual(seen.context ?? [], input.context ?? [], what);
      }
    });
  });
}

describe('an agent of 1.0.0 sees the image that an old client sends', () => {
  for (const version of ['0.0.45', '0.0.47']) {
    test(version, async () => {
      const messages = [{ id: 'u1', role: 'user', content: [text('What is this?'), { type: 'binary', mimeType: 'image/png', data: PIXEL }] }];
      const report = await clients[version].run({ url: `${gateway.url}from/${version}`, headers: {}, threadId: 't1', runId: `image-${version}`, messages });
      assert.equal(report.error, null);
      assert.deepEqual(viewOf(report).messages.filter(one => one.role === 'assistant').map(one => one.content), ['Grüezi', 'Bye']);
      const seen = await agents['1.0.0'].seen(`image-${version}`);
      assert.deepEqual(seen.messages.map(plain), [{ id: 'u1', role: 'user', content: [text('What is this?'), IMAGE] }]);
    });
  }
});
