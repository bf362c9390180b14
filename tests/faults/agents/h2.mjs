// Agents that break off, stall or keep back over HTTP/2.
import { delta, END, FINISHED, frame, START, STARTED } from '../lib/agent.mjs';
import { DATA, field, frameOf, HEADERS, RST_STREAM, setting, SETTINGS } from '../lib/h2.mjs';
import { healthyH2 } from '../lib/h2agent.mjs';
import { head, longInput, post } from '../lib/peer.mjs';
import { BROKEN, instead, midway, NO_HEAD, OPEN, rest, WHOLE } from './midway.mjs';

export const h2agents = [
  ...['CANCEL', 'INTERNAL_ERROR', 'NO_ERROR', 'ENHANCE_YOUR_CALM'].map(why => ({
    name: `RST_STREAM ${why} before the head`,
    ...instead((w, s) => w.stop(s, why)),
  })),
  {
    name: 'RST_STREAM REFUSED_STREAM before the head',
    ...instead((w, s) => w.stop(s, 'REFUSED_STREAM'), {
      got: [NO_HEAD.got, WHOLE.got],
      runs: ['truncated', 'agent_unreachable', 'finished'],
    }),
  },
  {
    name: 'RST_STREAM after the head',
    agent: async (w, s) => {
      await w.head(s);
      await w.sleep(100);
      await w.stop(s, 'CANCEL');
    },
    got: '200, 1 event, RUN_ERROR UPSTREAM_TRUNCATED',
    runs: 'truncated',
  },
  { name: 'RST_STREAM between two events', ...midway((w, s) => w.stop(s, 'CANCEL')) },
  { name: 'RST_STREAM NO_ERROR between two events', ...midway((w, s) => w.stop(s, 'NO_ERROR')) },
  {
    name: 'RST_STREAM in the middle of an event',
    ...midway(async (w, s) => {
      await w.data(s, 'data: {"ty');
      await w.stop(s, 'CANCEL');
    }),
  },
  {
    name: 'RST_STREAM after the terminal event',
    ...midway(
      async (w, s) => {
        await w.events(s, END, FINISHED);
        await w.sleep(100);
        await w.stop(s, 'CANCEL');
      },
      { got: '200, 4 events, RUN_FINISHED', runs: 'finished' },
    ),
  },
  {
    name: 'GOAWAY, and the run goes on',
    ...midway(async (w, s) => {
      await w.goaway(s, 'NO_ERROR');
      await w.sleep(100);
      await rest(w, s);
    }, WHOLE),
  },
  {
    name: 'GOAWAY that names no stream, before the head',
    ...instead(
      async w => {
        await w.goaway(0, 'NO_ERROR');
        await w.sleep(100);
        w.socket.end();
      },
      { got: [NO_HEAD.got, WHOLE.got], runs: ['truncated', 'agent_unreachable', 'finished'] },
    ),
  },
  {
    name: 'GOAWAY with an error, and a close',
    ...midway(async (w, s) => {
      await w.goaway(s, 'INTERNAL_ERROR');
      w.socket.end();
    }),
  },
  {
    name: 'GOAWAY that drops the stream',
    ...midway(async w => {
      await w.goaway(0, 'NO_ERROR');
      await w.sleep(50);
      w.socket.end();
    }),
  },
  { name: 'resets the connection between two events', ...midway(w => w.reset()) },
  { name: 'closes the connection between two events', ...midway(w => w.socket.end()) },
  { name: 'resets the connection before the head', ...instead(w => w.reset()) },
  { name: 'ends the stream without a terminal event', ...midway((w, s) => w.data(s, '', true)) },
  {
    name: 'ends the stream with its head',
    ...instead((w, s) => w.send(frameOf(HEADERS, 5, s, Buffer.concat([OPEN, field('content-type', 'text/event-stream')]))), {
      got: '200, 1 event, RUN_ERROR UPSTREAM_TRUNCATED',
      runs: 'truncated',
    }),
  },
  {
    name: 'half a frame, then a close',
    ...midway(async (w, s) => {
      await w.send(frameOf(DATA, 0, s, frame(delta('x'))).subarray(0, 20));
      w.socket.end();
    }),
  },
  {
    name: 'half a frame, then silence',
    ...midway(
      async (w, s) => {
        await w.send(frameOf(DATA, 0, s, frame(delta('x'))).subarray(0, 20));
      },
      { cut: true, got: '200, 3 events, RUN_ERROR IDLE_TIMEOUT', runs: 'timeout_idle' },
    ),
  },
  { name: 'never answers', ...instead(async () => {}, { got: '504 FIRST_EVENT_TIMEOUT', runs: 'timeout_first_event' }) },
  {
    name: 'never gives a window for the request',
    agent: { at: 'request', stingy: true, settings: [setting(4, 0)], does: () => {} },
    fresh: true,
    cut: true,
    path: '/big',
    body: longInput(200_000),
    got: '504 FIRST_EVENT_TIMEOUT',
    runs: 'timeout_first_event',
  },
  {
    name: 'takes the window back, in the middle of the request',
    agent: { at: 'head', stingy: true, does: w => w.send(frameOf(SETTINGS, 0, 0, setting(4, 0))) },
    fresh: true,
    cut: true,
    path: '/big',
    body: longInput(200_000),
    got: '504 FIRST_EVENT_TIMEOUT',
    runs: 'timeout_first_event',
  },
  {
    name: 'gives the window back',
    ...instead(async (w, s) => {
      await w.send(frameOf(SETTINGS, 0, 0, setting(4, 1 << 20)));
      await healthyH2(w, s);
    }, WHOLE),
  },
];

/** Its own lane: it takes two intervals of pings. */
export const silentH2agents = [
  {
    name: 'answers no PING in the middle of a run',
    agent: {
      at: 'request',
      acks: false,
      does: async (w, s) => {
        await w.head(s);
        await w.events(s, STARTED, START);
      },
    },
    ...BROKEN,
    within: 50_000,
    client: async ({ connect }) => {
      const peer = await connect();
      await peer.send(post());
      return peer.answers(1, 48_000);
    },
  },
];
