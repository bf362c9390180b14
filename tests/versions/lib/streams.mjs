// The streams that agents of today are made to say: the project's collection, the specification's conformance
// streams, recordings of agents that speak 1.0 and mixed runs of our own, all in one shape: `{ name, kind, events, pieces, headers, job }`.
import fs from 'node:fs';
import path from 'node:path';
import { EventEncoder } from '@ag-ui/encoder';
import { conformance, SHARED } from '../../clients/lib/paths.mjs';
import { frame } from '../../clients/lib/sse.mjs';
import { recorded } from './agents.mjs';
import { mixed } from './mixed.mjs';

const SSE = 'text/event-stream', PROTOBUF = 'application/vnd.ag-ui.event+proto';

/** What the first letter of a stream's name in the collection says it is about. */
const KINDS = {
  a: 'text and tools', b: 'reasoning', c: 'thinking', d: 'subagents', e: 'activities', f: 'chunks', g: 'tool results',
  h: 'outcomes', i: 'unknown events', j: 'unknown members', k: 'snapshots', m: 'empty deltas', n: 'ends of runs',
  o: 'truncated', p: 'run members', s: 'nulls', t: 'state and order', v: 'of tomorrow', l: 'framing',
};

const sse = events => events.map(event => frame(JSON.stringify(event)));
const encoder = new EventEncoder({ accept: PROTOBUF });

/** What the request has to say so that the answer fits it. */
const jobOf = events => ({
  threadId: events.find(event => event.threadId)?.threadId ?? 't1',
  runId: events.findLast(event => event.type === 'RUN_STARTED')?.runId ?? 'r1',
});

const stream = (name, kind, events, more = {}) =>
  ({ name, kind, events, pieces: sse(events), headers: { 'content-type': SSE }, job: jobOf(events), ...more });

/** The project's collection. Samples of bytes are cut short there, and of protobuf only the types are given. */
function collected() {
  const file = path.join(SHARED, 'agui/streams.json');
  if (!fs.existsSync(file)) return [];
  return Object.entries(JSON.parse(fs.readFileSync(file, 'utf8')).cases)
    .filter(([, one]) => one.events && !one.proto)
    .map(([name, one]) => stream(name, KINDS[name[0]] ?? name[0], one.events));
}

/** One stream in the framings that the standard allows and current clients read. */
function framed() {
  const events = [
    { type: 'RUN_STARTED', threadId: 't1', runId: 'r1' },
    { type: 'TEXT_MESSAGE_START', messageId: 'm1', role: 'assistant' },
    { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm1', delta: 'Grüezi 日本 👋' },
    { type: 'TEXT_MESSAGE_END', messageId: 'm1' },
    { type: 'RUN_FINISHED', threadId: 't1', runId: 'r1' },
  ];
  const text = events.map(event => JSON.stringify(event));
  const pieces = {
    'comments between': text.map(one => `: ping\n\n: keep-alive\ndata: ${one}\n\n`),
    'other fields': text.map((one, at) => `retry: 1000\nevent: message\nid: ${at}\ndata: ${one}\n\n`),
    'several lines': events.map(event => `${JSON.stringify(event, null, 1).split('\n').map(line => `data: ${line}`).join('\n')}\n\n`),
    'a mark at the front': text.map((one, at) => `${at ? '' : '\ufeff'}data: ${one}\n\n`),
    'no space': text.map(one => `data:${one}\n\n`),
    'no last blank line': text.map((one, at) => `data: ${one}\n${at === text.length - 1 ? '' : '\n'}`),
    'three line ends': text.map(one => `data: ${one}\n\n\n`),
    'in one piece': [text.map(one => `data: ${one}\n\n`).join('')],
    'byte by byte': [...Buffer.from(text.map(one => `data: ${one}\n\n`).join(''))].map(byte => Buffer.from([byte])),
  };
  return Object.entries(pieces).map(([how, list]) => stream(`framing/${how}`, KINDS.l, events, { pieces: list.map(one => Buffer.from(one)) }));
}

/** The mixed runs as protobuf. */
const binary = () => mixed().filter(({ json }) => !json).map(({ name, events }) => stream(`protobuf/${name}`, 'protobuf', events, {
  pieces: events.map(event => Buffer.from(encoder.encodeBinary(event))), headers: { 'content-type': PROTOBUF },
}));

/** Whether the last run of a stream is ended by an event. */
export const isEnded = events => ['RUN_FINISHED', 'RUN_ERROR'].includes(
  events.findLast(event => ['RUN_STARTED', 'RUN_FINISHED', 'RUN_ERROR'].includes(event.type))?.type);

/** All of them. */
export function streams() {
  return [
    ...collected(),
    ...framed(),
    ...conformance().map(file => stream(`conformance/${file.name}`, 'conformance', file.stream)),
    ...mixed().map(({ name, events }) => stream(`mixed/${name}`, 'mixed runs', events)),
    ...binary(),
    ...recorded().filter(one => one.spoken === '1.0').map(one => ({ ...one, kind: 'frameworks' })),
  ];
}
