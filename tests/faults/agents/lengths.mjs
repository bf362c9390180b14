// Agents that lie about how long what they send is.
import { END, FINISHED, START, STARTED, delta, frame } from '../lib/agent.mjs';

const RUN = [STARTED, START, delta('x'), END, FINISHED].map(frame).join('');
const HALF = [STARTED, START].map(frame).join('');
const TRUNCATED = { got: '200, 3 events, RUN_ERROR UPSTREAM_TRUNCATED', runs: 'truncated' };
const NO_HEAD = { got: '502 UPSTREAM_TRUNCATED', runs: 'truncated' };
const WHOLE = { got: '200, 5 events, RUN_FINISHED', runs: 'finished' };

/** A stream with this framing in its head, and this after it. */
const raw = (framing, body) => async c => {
  await c.write(`HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n${framing}\r\n`);
  await c.write(body);
};
const closing = script => async c => {
  await script(c);
  await c.sleep(100);
  c.end();
  await c.gone();
};
const staying = script => async c => {
  await script(c);
  await c.gone(3000);
};
const chunks = body => raw('transfer-encoding: chunked\r\n', body);
const length = (n, body) => raw(`content-length: ${n}\r\n`, body);
const sized = text => `${text.length.toString(16)}\r\n${text}\r\n`;

export const lengths = [
  { name: 'content-length longer than the body', agent: closing(length(HALF.length + 9, HALF)), ...TRUNCATED },
  { name: 'content-length longer than a whole run', agent: closing(length(RUN.length + 9, RUN)), ...WHOLE },
  { name: 'content-length that cuts an event', agent: staying(length(HALF.length + 9, RUN)), ...TRUNCATED },
  {
    name: 'content-length of 0 before a run',
    agent: staying(length(0, RUN)),
    got: '200, 1 event, RUN_ERROR UPSTREAM_TRUNCATED',
    runs: 'truncated',
  },
  { name: 'content-length that is not a number', agent: staying(length('many', RUN)), ...NO_HEAD },
  { name: 'content-length below zero', agent: staying(length(-1, RUN)), ...NO_HEAD },
  { name: 'content-length past 64 bits', agent: staying(length('99999999999999999999', RUN)), ...NO_HEAD },
  { name: 'two different content-lengths', agent: staying(raw(`content-length: ${RUN.length}\r\ncontent-length: 5\r\n`, RUN)), ...NO_HEAD },
  {
    name: 'two equal content-lengths',
    agent: staying(raw(`content-length: ${RUN.length}\r\n`.repeat(2), RUN)),
    got: [WHOLE.got, NO_HEAD.got],
    runs: ['finished', 'truncated'],
  },
  { name: 'a list of content-lengths', agent: staying(length(`${RUN.length}, 5`, RUN)), ...NO_HEAD },
  {
    name: 'content-length beside chunks',
    agent: staying(raw('content-length: 5\r\ntransfer-encoding: chunked\r\n', `${sized(RUN)}0\r\n\r\n`)),
    ...WHOLE,
  },
  {
    name: 'a transfer coding beside chunked that nobody knows',
    agent: closing(raw('transfer-encoding: rot13, chunked\r\n', `${sized(RUN)}0\r\n\r\n`)),
    got: [WHOLE.got, NO_HEAD.got],
    runs: ['finished', 'truncated'],
  },
  {
    name: 'chunks without saying so',
    agent: closing(raw('', `${sized(HALF)}0\r\n\r\n`)),
    got: /RUN_ERROR UPSTREAM_TRUNCATED$/,
    runs: 'truncated',
  },
  { name: 'a size of a chunk that is not a number', agent: staying(chunks(`${sized(HALF)}zz\r\nx\r\n`)), ...TRUNCATED },
  { name: 'a size of a chunk below zero', agent: staying(chunks(`${sized(HALF)}-5\r\nx\r\n`)), ...TRUNCATED },
  { name: 'a size of a chunk past 64 bits', agent: staying(chunks(`${sized(HALF)}fffffffffffffffff\r\nx\r\n`)), ...TRUNCATED },
  { name: 'a size of a chunk of 16 EiB', agent: closing(chunks(`${sized(HALF)}ffffffffffffffff\r\nx\r\n`)), ...TRUNCATED },
  { name: 'an empty size of a chunk', agent: staying(chunks(`${sized(HALF)}\r\nx\r\n`)), ...TRUNCATED },
  { name: 'a chunk longer than its size', agent: staying(chunks(`${sized(HALF)}5\r\n${frame(delta('x'))}\r\n`)), ...TRUNCATED },
  { name: 'a chunk without its line end', agent: staying(chunks(`${sized(HALF)}2\r\n\n\n5\r\n`)), ...TRUNCATED },
  {
    name: 'an endless size of a chunk',
    agent: async c => {
      await chunks(sized(HALF))(c);
      await c.pours('0'.repeat(1000));
    },
    got: [TRUNCATED.got, '200, 3 events, RUN_ERROR IDLE_TIMEOUT'],
    runs: ['truncated', 'timeout_idle'],
    within: 4500,
  },
  {
    name: 'an endless extension of a chunk',
    agent: async c => {
      await chunks(`${sized(HALF)}5;x=`)(c);
      await c.pours('y'.repeat(4000), 4000);
    },
    ...TRUNCATED,
  },
  {
    name: 'endless trailers after a whole run',
    agent: async c => {
      await chunks(`${sized(RUN)}0\r\n`)(c);
      await c.pours('x-t: 1\r\n'.repeat(100), 4000);
    },
    ...WHOLE,
  },
  {
    name: 'an endless trailer after a whole run',
    agent: async c => {
      await chunks(`${sized(RUN)}0\r\nx-t: `)(c);
      await c.pours('y'.repeat(4000), 4000);
    },
    ...WHOLE,
  },
  {
    name: 'endless trailers after half a run',
    agent: async c => {
      await chunks(`${sized(HALF)}0\r\n`)(c);
      await c.pours('x-t: 1\r\n'.repeat(100), 4000);
    },
    ...TRUNCATED,
  },
  {
    name: 'one byte a chunk',
    agent: async c => {
      await c.head();
      for (const byte of RUN) await c.chunk(byte);
      await c.last();
    },
    ...WHOLE,
  },
  {
    name: 'a second answer right after the first',
    agent: staying(async c => {
      await c.write(
        `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: ${RUN.length}\r\n\r\n${RUN}HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nwrong`,
      );
    }),
    ...WHOLE,
  },
  { name: 'a run to the close of the connection', agent: closing(raw('connection: close\r\n', RUN)), ...WHOLE },
  { name: 'half a run to the close of the connection', agent: closing(raw('connection: close\r\n', HALF)), ...TRUNCATED },
  { name: 'a run in HTTP/1.0', agent: closing(c => c.write(`HTTP/1.0 200 OK\r\ncontent-type: text/event-stream\r\n\r\n${RUN}`)), ...WHOLE },
  {
    name: 'half a run in HTTP/1.0',
    agent: closing(c => c.write(`HTTP/1.0 200 OK\r\ncontent-type: text/event-stream\r\n\r\n${HALF}`)),
    ...TRUNCATED,
  },
  {
    name: 'chunks in HTTP/1.0',
    agent: closing(c =>
      c.write(`HTTP/1.0 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n${sized(RUN)}0\r\n\r\n`),
    ),
    got: [WHOLE.got, NO_HEAD.got],
    runs: ['finished', 'truncated'],
  },
  { name: 'a run to the close, without the last blank line', agent: closing(raw('connection: close\r\n', RUN.slice(0, -1))), ...WHOLE },
  {
    name: 'a run to the close, cut inside its last event',
    agent: closing(raw('connection: close\r\n', RUN.slice(0, -6))),
    got: '200, 5 events, RUN_ERROR UPSTREAM_TRUNCATED',
    runs: 'truncated',
  },
];
