// A secret is in no byte that the real client is sent, nor in what it puts together of the deltas, wherever the agent
// cut it; all other text is, and arguments stay JSON.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { frame } from '../clients/lib/sse.mjs';
import { concurrently } from '../versions/lib/client.mjs';
import { watched } from './lib/watched.mjs';

const SECRET = 'sk-ABCDEFGHIJKLMNOPQRSTUVWX', WITH = '[redacted]';
const REDACT = `redact = [{ pattern = 'sk-[A-Za-z0-9]{20,}', with = "${WITH}" }]`;
const ROUTES = { redact: REDACT, throttled: `${REDACT}\nthrottle = { every = "33ms" }`, expanded: `${REDACT}\nexpand = true\nguard = "repair"` };

const run = { threadId: 't1', runId: 'r1' };
const around = events => [{ type: 'RUN_STARTED', ...run }, ...events, { type: 'RUN_FINISHED', ...run }];

/** How an agent may say a text in deltas: the events, and where the client shows it. */
const FORMS = {
  text: {
    say: deltas => [{ type: 'TEXT_MESSAGE_START', messageId: 'm', role: 'assistant' },
      ...deltas.map(delta => ({ type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta })), { type: 'TEXT_MESSAGE_END', messageId: 'm' }],
    shown: report => report.messages[0].content,
  },
  chunks: {
    say: deltas => deltas.map((delta, at) => ({ type: 'TEXT_MESSAGE_CHUNK', ...(at === 0 && { messageId: 'm', role: 'assistant' }), delta })),
    shown: report => report.messages[0].content,
  },
  reasoning: {
    say: deltas => [{ type: 'REASONING_START', messageId: 'm' }, { type: 'REASONING_MESSAGE_START', messageId: 'm', role: 'reasoning' },
      ...deltas.map(delta => ({ type: 'REASONING_MESSAGE_CONTENT', messageId: 'm', delta })),
      { type: 'REASONING_MESSAGE_END', messageId: 'm' }, { type: 'REASONING_END', messageId: 'm' }],
    shown: report => report.messages.find(message => message.role === 'reasoning').content,
  },
  arguments: {
    json: true,
    say: deltas => [{ type: 'TOOL_CALL_START', toolCallId: 'c', toolCallName: 'search' },
      ...deltas.map(delta => ({ type: 'TOOL_CALL_ARGS', toolCallId: 'c', delta })), { type: 'TOOL_CALL_END', toolCallId: 'c' }],
    shown: report => JSON.parse(report.messages[0].toolCalls[0].function.arguments).q,
  },
  result: {
    whole: true,
    say: ([content]) => [{ type: 'TOOL_CALL_START', toolCallId: 'c', toolCallName: 'search' }, { type: 'TOOL_CALL_ARGS', toolCallId: 'c', delta: '{}' },
      { type: 'TOOL_CALL_END', toolCallId: 'c' }, { type: 'TOOL_CALL_RESULT', messageId: 'r', toolCallId: 'c', content, role: 'tool' }],
    shown: report => report.messages.find(message => message.role === 'tool').content,
  },
  'a snapshot of messages': {
    whole: true,
    say: ([content]) => [{ type: 'MESSAGES_SNAPSHOT', messages: [{ id: 'm', role: 'assistant', content }] }],
    shown: report => report.messages[0].content,
  },
  'a snapshot of the state': {
    whole: true, say: ([note]) => [{ type: 'STATE_SNAPSHOT', snapshot: { deep: [{ note }] } }], shown: report => report.state.deep[0].note,
  },
  'a change of the state': {
    whole: true,
    say: ([note]) => [{ type: 'STATE_SNAPSHOT', snapshot: { note: '' } }, { type: 'STATE_DELTA', delta: [{ op: 'replace', path: '/note', value: note }] }],
    shown: report => report.state.note,
  },
};

const watch = watched(ROUTES);

/** The client's report and the bytes of a stream of these payloads. */
async function seen(path, payloads) {
  const { report, raw } = await watch(path, { pieces: payloads.map(frame) });
  assert.equal(report.error, null);
  return { report, bytes: raw.body.toString() };
}

/** All ways to cut a text in two, and each character by itself. */
const cuts = text => [...Array.from(text, (_, at) => at ? [text.slice(0, at), text.slice(at)] : [text]), [...text]];

for (const path of Object.keys(ROUTES)) {
  describe(`a secret is nowhere on /${path}`, () => {
    for (const [name, { say, shown, json, whole }] of Object.entries(FORMS)) {
      test(`${name}, ${whole ? 'whole' : 'however it is cut'}`, async t => {
        const text = `The key is ${SECRET}, keep it.`, wanted = text.replace(SECRET, WITH);
        const deltas = whole ? [[text]] : cuts(json ? JSON.stringify({ q: text }) : text);
        await concurrently(deltas, 8, async one => {
          const { report, bytes } = await seen(path, around(say(one)).map(event => JSON.stringify(event)));
          assert.equal(shown(report), wanted, JSON.stringify(one));
          assert.ok(!bytes.includes(SECRET), bytes);
          assert.ok(!JSON.stringify(report).includes(SECRET), 'the client has it');
        });
        t.diagnostic(`${deltas.length} cuts`);
      });
    }

    test('escapes within the event do not hide it', async () => {
      const say = deltas => around(FORMS.text.say(deltas)).map(event => JSON.stringify(event));
      const { report } = await seen(path, say(['A ', 'DELTA', ' B']).map(payload => payload.replace('DELTA', `\\u0073k-${SECRET.slice(3).replace('A', '\\u0041')}`)));
      assert.equal(report.messages[0].content, `A ${WITH} B`);
    });

    test('escapes within the arguments do not hide it', async () => {
      const escaped = `{"q":"\\u0073k\\u002d${SECRET.slice(3)}!"}`;
      await concurrently(cuts(escaped), 8, async one => {
        const { report } = await seen(path, around(FORMS.arguments.say(one)).map(event => JSON.stringify(event)));
        assert.equal(FORMS.arguments.shown(report), `${WITH}!`, JSON.stringify(one));
      });
    });

    test('halves in two messages are no secret', async () => {
      const [one, other] = [SECRET.slice(0, 14), SECRET.slice(14)];
      const say = (type, messageId, more) => ({ type: `TEXT_MESSAGE_${type}`, messageId, ...more });
      const { report } = await seen(path, around([say('START', 'a', { role: 'assistant' }), say('START', 'b', { role: 'assistant' }),
        say('CONTENT', 'a', { delta: one }), say('CONTENT', 'b', { delta: other }), say('END', 'a'), say('END', 'b')]).map(event => JSON.stringify(event)));
      assert.deepEqual(report.messages.map(message => message.content), [one, other]);
    });
  });
}
