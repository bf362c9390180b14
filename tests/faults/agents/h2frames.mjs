// Agents that flood with frames of HTTP/2, or send ones that it forbids.
import { START, STARTED } from '../lib/agent.mjs';
import {
  ACK,
  CONTINUATION,
  DATA,
  END_HEADERS,
  field,
  frameOf,
  HEADERS,
  number,
  PING,
  PUSH_PROMISE,
  SETTINGS,
  WINDOW_UPDATE,
} from '../lib/h2.mjs';
import { BROKEN, instead, midway, NO_HEAD, OPEN, rest, WHOLE } from './midway.mjs';

export const h2frames = [
  {
    name: 'a flood of SETTINGS',
    ...midway(
      async (w, s) => {
        for (let n = 0; n < 300; n++) await w.send(...Array(20).fill(frameOf(SETTINGS, 0, 0)));
        await rest(w, s);
      },
      { got: [BROKEN.got, WHOLE.got], runs: ['truncated', 'finished'] },
    ),
  },
  {
    name: 'a flood of acknowledgements',
    ...midway(
      async (w, s) => {
        for (let n = 0; n < 20; n++) await w.send(frameOf(SETTINGS, ACK, 0));
        await rest(w, s);
      },
      { got: [BROKEN.got, WHOLE.got], runs: ['truncated', 'finished'] },
    ),
  },
  {
    name: 'a flood of PING',
    ...midway(
      async (w, s) => {
        for (let n = 0; n < 300; n++) await w.send(...Array(20).fill(frameOf(PING, 0, 0, Buffer.alloc(8))));
        await rest(w, s);
      },
      { got: [BROKEN.got, WHOLE.got], runs: ['truncated', 'finished'] },
    ),
  },
  {
    name: 'a flood of empty DATA',
    ...midway(
      async (w, s) => {
        for (let n = 0; n < 300; n++) await w.send(...Array(20).fill(frameOf(DATA, 0, s)));
        await rest(w, s);
      },
      { got: [BROKEN.got, WHOLE.got], runs: ['truncated', 'finished'] },
    ),
  },
  {
    name: 'endless CONTINUATION',
    agent: async (w, s) => {
      await w.head(s, OPEN, 0);
      await w.pours(frameOf(CONTINUATION, 0, s, Buffer.concat(Array(100).fill(field('x-h', 'y'.repeat(100))))));
    },
    ...NO_HEAD,
  },
  {
    name: 'a head of 1 MiB',
    agent: async (w, s) => {
      await w.head(s, OPEN, 0);
      for (let n = 0; n < 100; n++) await w.send(frameOf(CONTINUATION, n === 99 ? END_HEADERS : 0, s, field('x-h', 'y'.repeat(10_000))));
    },
    ...NO_HEAD,
  },
  {
    name: 'a head that breaks off',
    agent: async (w, s) => {
      await w.head(s, OPEN, 0);
      await w.sleep(100);
      w.reset();
    },
    ...NO_HEAD,
  },
  { name: 'a head that no table has', ...instead((w, s) => w.head(s, Buffer.from([0xff, 0xff, 0xff, 0x0f]))) },
  { name: 'a head without a status', ...instead((w, s) => w.head(s, field('content-type', 'text/event-stream'))) },
  {
    name: 'a header in capitals',
    ...instead((w, s) => w.head(s, Buffer.concat([OPEN, field('X-Big', '1')])), {
      got: /^(502 |200, 1 event, RUN_ERROR)/,
      runs: ['truncated', 'timeout_first_event'],
    }),
  },
  { name: 'a header with a line end', ...instead((w, s) => w.head(s, Buffer.concat([OPEN, field('x-a', 'b\r\nset-cookie: c')]))) },
  { name: 'a transfer coding', ...instead((w, s) => w.head(s, Buffer.concat([OPEN, field('transfer-encoding', 'chunked')]))) },
  { name: 'DATA before the head', ...instead((w, s) => w.events(s, STARTED)) },
  { name: 'DATA on no stream', ...midway(w => w.send(frameOf(DATA, 0, 0, 'x'))) },
  { name: 'DATA on a stream that was never opened', ...midway(w => w.send(frameOf(DATA, 0, 9999, 'x'))) },
  { name: 'a frame longer than agreed', ...midway((w, s) => w.send(frameOf(DATA, 0, s, 'x'.repeat(20_000)))) },
  {
    name: 'a window of nothing',
    ...midway(async (w, s) => {
      await w.send(frameOf(WINDOW_UPDATE, 0, s, number(0)));
    }),
  },
  {
    name: 'a window past its limit',
    ...midway(async w => {
      await w.send(...Array(3).fill(frameOf(WINDOW_UPDATE, 0, 0, number(0x7fffffff))));
    }),
  },
  {
    name: 'a promise that nobody asked for',
    ...midway((w, s) => w.send(frameOf(PUSH_PROMISE, END_HEADERS, s, Buffer.concat([number(2), OPEN])))),
  },
  {
    name: 'frames of a kind that nobody knows',
    ...midway(async (w, s) => {
      await w.send(frameOf(99, 255, s, 'what'), frameOf(200, 0, 0, 'what'));
      await rest(w, s);
    }, WHOLE),
  },
  {
    name: 'a content-length that is too long',
    agent: async (w, s) => {
      await w.head(s, Buffer.concat([OPEN, field('content-type', 'text/event-stream'), field('content-length', '9999')]));
      await w.events(s, STARTED, START);
      await w.data(s, '', true);
    },
    ...BROKEN,
  },
  {
    name: 'a content-length that is too short',
    agent: async (w, s) => {
      await w.head(s, Buffer.concat([OPEN, field('content-type', 'text/event-stream'), field('content-length', '9')]));
      await w.events(s, STARTED, START);
    },
    got: /^200, [123] events?, RUN_ERROR UPSTREAM_TRUNCATED$/,
    runs: 'truncated',
  },
  {
    name: 'endless interim answers',
    agent: async (w, s) => {
      await w.pours(frameOf(HEADERS, END_HEADERS, s, Buffer.from([0x08, 3, 0x31, 0x30, 0x33])), 3000);
    },
    got: /^(504 FIRST_EVENT_TIMEOUT|502 UPSTREAM_TRUNCATED)$/,
    runs: ['timeout_first_event', 'truncated'],
  },
  {
    name: 'HTTP/1.1 to HTTP/2',
    agent: {
      at: 'connect',
      does: w => {
        w.acks = false;
        w.socket.write('HTTP/1.1 400 Bad Request\r\n\r\n');
      },
    },
    fresh: true,
    ...NO_HEAD,
  },
  {
    name: 'no SETTINGS at all',
    agent: {
      at: 'connect',
      does: async w => {
        w.acks = false;
        await w.sleep(100);
        w.send(frameOf(PING, 0, 0, Buffer.alloc(8)));
      },
    },
    fresh: true,
    got: /^50[24] /,
    runs: ['truncated', 'agent_unreachable', 'timeout_first_event'],
  },
];
