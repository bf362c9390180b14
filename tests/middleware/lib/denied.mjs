// What an agent may say around a tool call that a policy denies: each story has that call in one of the forms that the
// protocol knows, and beside it a text and a call that nobody denies.
import { frame } from '../../clients/lib/sse.mjs';

/** The tool that is denied, and everything that must not be seen of a call of it. */
export const DENIED = 'delete_everything';
export const TRACES = [DENIED, 'call-denied-7', 'precious.db', 'it-is-gone', 'sealed-thought'];

const ID = 'call-denied-7', ARGS = '{"path":"precious.db"}', RESULT = 'it-is-gone';
const run = { threadId: 't1', runId: 'r1' };
const started = { type: 'RUN_STARTED', ...run }, finished = { type: 'RUN_FINISHED', ...run };
const text = (messageId, words) => [
  { type: 'TEXT_MESSAGE_START', messageId, role: 'assistant' },
  ...words.map(delta => ({ type: 'TEXT_MESSAGE_CONTENT', messageId, delta })),
  { type: 'TEXT_MESSAGE_END', messageId },
];
const start = (toolCallId, toolCallName, more = {}) => ({ type: 'TOOL_CALL_START', toolCallId, toolCallName, ...more });
const args = (toolCallId, delta) => ({ type: 'TOOL_CALL_ARGS', toolCallId, delta });
const end = toolCallId => ({ type: 'TOOL_CALL_END', toolCallId });
const result = (toolCallId, content) => ({ type: 'TOOL_CALL_RESULT', messageId: `result-of-${toolCallId}`, toolCallId, content, role: 'tool' });
const call = (id, name, json, content) => [start(id, name), args(id, json.slice(0, 7)), args(id, json.slice(7)), end(id), ...(content ? [result(id, content)] : [])];
const calls = (id, name, json) => ({ id, type: 'function', function: { name, arguments: json } });

/** What is to be seen in every story. */
export const SEEN = { texts: ['Before.', 'After.'], call: { name: 'search_web', arguments: '{"q":"tide"}' } };
const before = text('m1', ['Be', 'fore.']), after = text('m2', ['Af', 'ter.']);
const allowed = call('call-fine', 'search_web', SEEN.call.arguments, 'found');
const story = (...middle) => [started, ...before, ...allowed, ...middle.flat(), ...after, finished];

/** Every form of a call, by its name: the events of a stream. */
export const STORIES = {
  'start, arguments, end and result': story(call(ID, DENIED, ARGS, RESULT)),
  'interleaved with another call': [started, ...before,
    start('call-fine', 'search_web'), start(ID, DENIED), args(ID, ARGS.slice(0, 4)), args('call-fine', '{"q":"ti'), args(ID, ARGS.slice(4)),
    args('call-fine', 'de"}'), end(ID), end('call-fine'), result(ID, RESULT), result('call-fine', 'found'), ...after, finished],
  'chunks that say whose they are': story(
    [{ type: 'TOOL_CALL_CHUNK', toolCallId: ID, toolCallName: DENIED, delta: ARGS.slice(0, 9) }, { type: 'TOOL_CALL_CHUNK', toolCallId: ID, delta: ARGS.slice(9) }],
    [result(ID, RESULT)]),
  'chunks of which only the first says it': story(
    [{ type: 'TOOL_CALL_CHUNK', toolCallId: ID, toolCallName: DENIED }, { type: 'TOOL_CALL_CHUNK', delta: ARGS.slice(0, 9) }, { type: 'TOOL_CALL_CHUNK', delta: ARGS.slice(9) }]),
  'a part of the text before it': story([start(ID, DENIED, { parentMessageId: 'm1' }), args(ID, ARGS), end(ID)]),
  'a snapshot of the messages': [started, ...before, ...allowed, ...call(ID, DENIED, ARGS, RESULT), ...after,
    { type: 'MESSAGES_SNAPSHOT', messages: [
      { id: 'm1', role: 'assistant', content: 'Before.' },
      { id: 'call-fine', role: 'assistant', toolCalls: [calls('call-fine', 'search_web', SEEN.call.arguments), calls(ID, DENIED, ARGS)] },
      { id: 'result-of-call-fine', role: 'tool', toolCallId: 'call-fine', content: 'found' },
      { id: 'result-of-it', role: 'tool', toolCallId: ID, content: RESULT },
      { id: 'only-that', role: 'assistant', toolCalls: [calls(ID, DENIED, ARGS)] },
      { id: 'm2', role: 'assistant', content: 'After.' }] },
    finished],
  'the input that a run begins with': [{ ...started, input: { ...run, state: {}, context: [], forwardedProps: {},
    tools: [{ name: DENIED, description: 'precious.db', parameters: {} }, { name: 'search_web', description: '', parameters: {} }],
    messages: [
      { id: 'old', role: 'assistant', toolCalls: [calls(ID, DENIED, ARGS)] },
      { id: 'old-result', role: 'tool', toolCallId: ID, content: RESULT }] } },
  ...before, ...allowed, ...after, finished],
  'a result in a later run': [started, ...before, ...call(ID, DENIED, ARGS), finished,
    { ...started, runId: 'r2' }, ...allowed, result(ID, RESULT), ...after, { ...finished, runId: 'r2' }],
  'an encrypted value of it': story(call(ID, DENIED, ARGS), [{ type: 'REASONING_ENCRYPTED_VALUE', subtype: 'tool-call', entityId: ID, encryptedValue: 'sealed-thought' }]),
  'an interrupt that asks about it': [started, ...before, ...allowed, ...call(ID, DENIED, ARGS), ...after,
    { ...finished, outcome: { type: 'interrupt', interrupts: [
      { id: 'i1', reason: 'confirmation', message: 'precious.db?', toolCallId: ID }, { id: 'i2', reason: 'confirmation', toolCallId: 'call-fine' }] } }],
  'calls that wait for an answer': [started, ...before, ...allowed, ...call(ID, DENIED, ARGS), ...after,
    { ...finished, outcome: { type: 'success', pendingToolCallIds: [ID, 'call-fine'] } }],
  'raw events of the framework': story(call(ID, DENIED, ARGS).map(event => ({ ...event, rawEvent: { tool: DENIED, id: ID } })),
    [{ type: 'RAW', event: { tool_calls: [{ id: ID, name: DENIED, args: ARGS }] } }],
    [{ type: 'CUSTOM', name: 'note', value: 1, rawEvent: { tool: DENIED } }]),
  'a subagent of it': story(call(ID, DENIED, ARGS).slice(0, 3), [
    { type: 'SUBAGENT_STARTED', subagentRunId: 's1', name: 'helper', parentToolCallId: ID }, { type: 'SUBAGENT_FINISHED', subagentRunId: 's1' }], [end(ID)]),
};

/** A story as a stream for the agent. */
export const told = events => ({ pieces: events.map(event => frame(JSON.stringify(event))) });
