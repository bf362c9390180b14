// Agents that answer in protobuf and lie about the lengths or the content of frames. The client reads SSE.
import { frame, STARTED } from '../lib/agent.mjs';

const text = s => Buffer.from([s.length, ...Buffer.from(s)]);
/** A field of a message: its number, and bytes. */
const field = (n, bytes) =>
  Buffer.concat([
    Buffer.from([(n << 3) | 2]),
    bytes.length < 128 ? Buffer.from([bytes.length]) : Buffer.from([(bytes.length & 127) | 128, bytes.length >> 7]),
    bytes,
  ]);
const framed = bytes => {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
};
const length = n => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(n);
  return bytes;
};

// RUN_STARTED and RUN_FINISHED as the arms of the event's message, with their base event's type, threadId and runId.
const base = type => field(1, Buffer.from([8, type]));
const started = framed(field(12, Buffer.concat([base(11), Buffer.from([18]), text('t'), Buffer.from([26]), text('r')])));
const finished = framed(field(13, Buffer.concat([base(12), Buffer.from([18]), text('t'), Buffer.from([26]), text('r')])));

const says =
  (...parts) =>
  async c => {
    const body = Buffer.concat(parts);
    await c.write(`HTTP/1.1 200 OK\r\ncontent-type: application/vnd.ag-ui.event+proto\r\ncontent-length: ${body.length}\r\n\r\n`);
    await c.write(body);
  };
const TRUNCATED = { got: '200, 2 events, RUN_ERROR UPSTREAM_TRUNCATED', runs: 'truncated' };
const MALFORMED = { got: '200, 2 events, RUN_ERROR MALFORMED_FRAME', runs: 'violation' };
const TOO_LARGE = { got: '200, 2 events, RUN_ERROR FRAME_TOO_LARGE', runs: 'violation' };

export const binary = [
  { name: 'a whole run', agent: says(started, finished), got: '200, 2 events, RUN_FINISHED', runs: 'finished' },
  { name: 'half a length', agent: says(started, Buffer.from([0, 0])), ...TRUNCATED },
  { name: 'a length longer than what follows', agent: says(started, length(500), finished), ...TRUNCATED },
  { name: 'a length of 4 GiB', agent: says(started, length(0xffffffff), finished), ...TOO_LARGE },
  { name: 'a length a byte past the limit', agent: says(started, length(256 * 1024 + 1), finished), ...TOO_LARGE },
  {
    name: 'a length shorter than its frame',
    agent: says(started, length(5), finished.subarray(4)),
    got: [MALFORMED.got, TOO_LARGE.got, TRUNCATED.got],
    runs: ['violation', 'truncated'],
  },
  {
    name: 'a frame of no bytes',
    agent: says(started, length(0), finished),
    got: [MALFORMED.got, '200, 2 events, RUN_FINISHED'],
    runs: ['violation', 'finished'],
  },
  {
    name: 'a hundred thousand frames of no bytes',
    agent: says(started, Buffer.alloc(400_000), finished),
    got: [MALFORMED.got, '200, 2 events, RUN_FINISHED'],
    runs: ['violation', 'finished'],
  },
  { name: 'garbage in a frame', agent: says(started, framed(Buffer.from('\xff\xff\xff\xff nonsense', 'latin1')), finished), ...MALFORMED },
  { name: 'an endless varint in a frame', agent: says(started, framed(Buffer.alloc(50, 0xff)), finished), ...MALFORMED },
  { name: 'a field longer than its frame', agent: says(started, framed(Buffer.from([(12 << 3) | 2, 100, 1])), finished), ...MALFORMED },
  {
    name: 'groups, 10,000 deep',
    agent: says(started, framed(Buffer.alloc(10_000, 0x0b)), finished),
    got: [MALFORMED.got, '200, 2 events, RUN_FINISHED'],
    runs: ['violation', 'finished'],
  },
  {
    name: 'an arm that nobody knows',
    agent: says(started, framed(Buffer.concat([Buffer.from([0xf2, 0x07, 0])])), finished),
    got: ['200, 2 events, RUN_FINISHED', '200, 3 events, RUN_FINISHED'],
    runs: 'finished',
  },
  {
    name: 'invalid UTF-8 in an id',
    agent: says(framed(field(12, Buffer.concat([base(11), Buffer.from([18, 2, 0xff, 0xfe])]))), finished),
    got: /^200, [12] events?, RUN_/,
    runs: ['finished', 'violation', 'truncated'],
  },
  {
    name: 'SSE called protobuf',
    agent: says(Buffer.from(frame(STARTED))),
    got: '200, 1 event, RUN_ERROR FRAME_TOO_LARGE',
    runs: 'violation',
  },
  {
    name: 'protobuf called SSE',
    agent: async c => {
      await c.write(`HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: ${started.length}\r\n\r\n`);
      await c.write(started);
    },
    got: '200, 1 event, RUN_ERROR UPSTREAM_TRUNCATED',
    runs: 'truncated',
  },
];
