// Agents that break HTTP/2.
import { END, FINISHED, START, STARTED, delta, frame } from '../lib/agent.mjs';
import { healthyH2 } from '../lib/h2agent.mjs';
import { ACK, CONTINUATION, DATA, END_HEADERS, HEADERS, PING, PUSH_PROMISE, SETTINGS, WINDOW_UPDATE, field, frameOf, number, setting } from '../lib/h2.mjs';
import { longInput, post } from '../lib/peer.mjs';

const NO_HEAD = { got: /^502 UPSTREAM_(TRUNCATED|UNREACHABLE)$/, runs: ['truncated', 'agent_unreachable'] };
const BROKEN = { got: '200, 3 events, RUN_ERROR UPSTREAM_TRUNCATED', runs: 'truncated' };
const WHOLE = { got: '200, 5 events, RUN_FINISHED', runs: 'finished' };
const OPEN = Buffer.from([0x88]);

/** After two events, this. */
const midway = (does, how = BROKEN) => ({ agent: async (w, s) => { await w.head(s); await w.events(s, STARTED, START); await w.sleep(100); await does(w, s); }, ...how });
const instead = (does, how = NO_HEAD) => ({ agent: async (w, s) => { await does(w, s); }, ...how });
const rest = async (w, s) => w.data(s, [delta('x'), END, FINISHED].map(frame).join(''), true);

export const h2agents = [
  ...['CANCEL', 'INTERNAL_ERROR', 'NO_ERROR', 'ENHANCE_YOUR_CALM'].map(why => ({ name: `RST_STREAM ${why} before the head`, ...instead((w, s) => w.stop(s, why)) })),
  { name: 'RST_STREAM REFUSED_STREAM before the head', ...instead((w, s) => w.stop(s, 'REFUSED_STREAM'), { got: [NO_HEAD.got, WHOLE.got], runs: ['truncated', 'agent_unreachable', 'finished'] }) },
  { name: 'RST_STREAM after the head', agent: async (w, s) => { await w.head(s); await w.sleep(100); await w.stop(s, 'CANCEL'); }, got: '200, 1 event, RUN_ERROR UPSTREAM_TRUNCATED', runs: 'truncated' },
  { name: 'RST_STREAM between two events', ...midway((w, s) => w.stop(s, 'CANCEL')) },
  { name: 'RST_STREAM NO_ERROR between two events', ...midway((w, s) => w.stop(s, 'NO_ERROR')) },
  { name: 'RST_STREAM in the middle of an event', ...midway(async (w, s) => { await w.data(s, 'data: {"ty'); await w.stop(s, 'CANCEL'); }) },
  { name: 'RST_STREAM after the terminal event', ...midway(async (w, s) => { await w.events(s, END, FINISHED); await w.sleep(100); await w.stop(s, 'CANCEL'); }, { got: '200, 4 events, RUN_FINISHED', runs: 'finished' }) },
  { name: 'GOAWAY, and the run goes on', ...midway(async (w, s) => { await w.goaway(s, 'NO_ERROR'); await w.sleep(100); await rest(w, s); }, WHOLE) },
  { name: 'GOAWAY that names no stream, before the head', ...instead(async (w) => { await w.goaway(0, 'NO_ERROR'); await w.sleep(100); w.socket.end(); }, { got: [NO_HEAD.got, WHOLE.got], runs: ['truncated', 'agent_unreachable', 'finished'] }) },
  { name: 'GOAWAY with an error, and a close', ...midway(async (w, s) => { await w.goaway(s, 'INTERNAL_ERROR'); w.socket.end(); }) },
  { name: 'GOAWAY that drops the stream', ...midway(async (w) => { await w.goaway(0, 'NO_ERROR'); await w.sleep(50); w.socket.end(); }) },
  { name: 'resets the connection between two events', ...midway(w => w.reset()) },
  { name: 'closes the connection between two events', ...midway(w => w.socket.end()) },
  { name: 'resets the connection before the head', ...instead(w => w.reset()) },
  { name: 'ends the stream without a terminal event', ...midway((w, s) => w.data(s, '', true)) },
  { name: 'ends the stream with its head', ...instead((w, s) => w.send(frameOf(HEADERS, 5, s, Buffer.concat([OPEN, field('content-type', 'text/event-stream')]))), { got: '200, 1 event, RUN_ERROR UPSTREAM_TRUNCATED', runs: 'truncated' }) },
  { name: 'half a frame, then a close', ...midway(async (w, s) => { await w.send(frameOf(DATA, 0, s, frame(delta('x'))).subarray(0, 20)); w.socket.end(); }) },
  { name: 'half a frame, then silence', ...midway(async (w, s) => { await w.send(frameOf(DATA, 0, s, frame(delta('x'))).subarray(0, 20)); }, { cut: true, got: '200, 3 events, RUN_ERROR IDLE_TIMEOUT', runs: 'timeout_idle' }) },
  { name: 'never answers', ...instead(async () => {}, { got: '504 FIRST_EVENT_TIMEOUT', runs: 'timeout_first_event' }) },
  { name: 'never gives a window for the request', agent: { at: 'request', stingy: true, settings: [setting(4, 0)], does: () => {} }, fresh: true, cut: true, path: '/big', body: longInput(200_000), got: '504 FIRST_EVENT_TIMEOUT',
    runs: 'timeout_first_event', known: 'the client is said to be slow: 408' },
  { name: 'takes the window back, in the middle of the request', agent: { at: 'head', stingy: true, does: w => w.send(frameOf(SETTINGS, 0, 0, setting(4, 0))) }, fresh: true, cut: true, path: '/big', body: longInput(200_000), got: '504 FIRST_EVENT_TIMEOUT',
    runs: 'timeout_first_event', known: 'the client is said to be slow: 408' },
  { name: 'gives the window back', ...instead(async (w, s) => { await w.send(frameOf(SETTINGS, 0, 0, setting(4, 1 << 20))); await healthyH2(w, s); }, WHOLE) },
  { name: 'a flood of SETTINGS', ...midway(async (w, s) => { for (let n = 0; n < 300; n++) await w.send(...Array(20).fill(frameOf(SETTINGS, 0, 0))); await rest(w, s); }, { got: [BROKEN.got, WHOLE.got], runs: ['truncated', 'finished'] }) },
  { name: 'a flood of acknowledgements', ...midway(async (w, s) => { for (let n = 0; n < 20; n++) await w.send(frameOf(SETTINGS, ACK, 0)); await rest(w, s); }, { got: [BROKEN.got, WHOLE.got], runs: ['truncated', 'finished'] }) },
  { name: 'a flood of PING', ...midway(async (w, s) => { for (let n = 0; n < 300; n++) await w.send(...Array(20).fill(frameOf(PING, 0, 0, Buffer.alloc(8)))); await rest(w, s); }, { got: [BROKEN.got, WHOLE.got], runs: ['truncated', 'finished'] }) },
  { name: 'a flood of empty DATA', ...midway(async (w, s) => { for (let n = 0; n < 300; n++) await w.send(...Array(20).fill(frameOf(DATA, 0, s))); await rest(w, s); }, { got: [BROKEN.got, WHOLE.got], runs: ['truncated', 'finished'] }) },
  { name: 'endless CONTINUATION', agent: async (w, s) => { await w.head(s, OPEN, 0); await w.pours(frameOf(CONTINUATION, 0, s, Buffer.concat(Array(100).fill(field('x-h', 'y'.repeat(100)))))); }, ...NO_HEAD },
  { name: 'a head of 1 MiB', agent: async (w, s) => { await w.head(s, OPEN, 0); for (let n = 0; n < 100; n++) await w.send(frameOf(CONTINUATION, n === 99 ? END_HEADERS : 0, s, field('x-h', 'y'.repeat(10_000)))); }, ...NO_HEAD },
  { name: 'a head that breaks off', agent: async (w, s) => { await w.head(s, OPEN, 0); await w.sleep(100); w.reset(); }, ...NO_HEAD },
  { name: 'a head that no table has', ...instead((w, s) => w.head(s, Buffer.from([0xff, 0xff, 0xff, 0x0f]))) },
  { name: 'a head without a status', ...instead((w, s) => w.head(s, field('content-type', 'text/event-stream'))) },
  { name: 'a header in capitals', ...instead((w, s) => w.head(s, Buffer.concat([OPEN, field('X-Big', '1')])), { got: /^(502 |200, 1 event, RUN_ERROR)/, runs: ['truncated', 'timeout_first_event'] }) },
  { name: 'a header with a line end', ...instead((w, s) => w.head(s, Buffer.concat([OPEN, field('x-a', 'b\r\nset-cookie: c')]))) },
  { name: 'a transfer coding', ...instead((w, s) => w.head(s, Buffer.concat([OPEN, field('transfer-encoding', 'chunked')]))) },
  { name: 'DATA before the head', ...instead((w, s) => w.events(s, STARTED)) },
  { name: 'DATA on no stream', ...midway(w => w.send(frameOf(DATA, 0, 0, 'x'))) },
  { name: 'DATA on a stream that was never opened', ...midway(w => w.send(frameOf(DATA, 0, 9999, 'x'))) },
  { name: 'a frame longer than agreed', ...midway((w, s) => w.send(frameOf(DATA, 0, s, 'x'.repeat(20_000)))) },
  { name: 'a window of nothing', ...midway(async (w, s) => { await w.send(frameOf(WINDOW_UPDATE, 0, s, number(0))); }) },
  { name: 'a window past its limit', ...midway(async w => { await w.send(...Array(3).fill(frameOf(WINDOW_UPDATE, 0, 0, number(0x7fffffff)))); }) },
  { name: 'a promise that nobody asked for', ...midway((w, s) => w.send(frameOf(PUSH_PROMISE, END_HEADERS, s, Buffer.concat([number(2), OPEN])))) },
  { name: 'frames of a kind that nobody knows', ...midway(async (w, s) => { await w.send(frameOf(99, 255, s, 'what'), frameOf(200, 0, 0, 'what')); await rest(w, s); }, WHOLE) },
  { name: 'a content-length that is too long', agent: async (w, s) => { await w.head(s, Buffer.concat([OPEN, field('content-type', 'text/event-stream'), field('content-length', '9999')])); await w.events(s, STARTED, START); await w.data(s, '', true); }, ...BROKEN },
  { name: 'a content-length that is too short', agent: async (w, s) => { await w.head(s, Buffer.concat([OPEN, field('content-type', 'text/event-stream'), field('content-length', '9')])); await w.events(s, STARTED, START); },
    got: /^200, [123] events?, RUN_ERROR UPSTREAM_TRUNCATED$/, runs: 'truncated' },
  { name: 'endless interim answers', agent: async (w, s) => { await w.pours(frameOf(HEADERS, END_HEADERS, s, Buffer.from([0x08, 3, 0x31, 0x30, 0x33])), 3000); }, got: /^(504 FIRST_EVENT_TIMEOUT|502 UPSTREAM_TRUNCATED)$/, runs: ['timeout_first_event', 'truncated'] },
  { name: 'HTTP/1.1 to HTTP/2', agent: { at: 'connect', does: w => { w.acks = false; w.socket.write('HTTP/1.1 400 Bad Request\r\n\r\n'); } }, fresh: true, ...NO_HEAD },
  { name: 'no SETTINGS at all', agent: { at: 'connect', does: async w => { w.acks = false; await w.sleep(100); w.send(frameOf(PING, 0, 0, Buffer.alloc(8))); } }, fresh: true, got: /^50[24] /, runs: ['truncated', 'agent_unreachable', 'timeout_first_event'] },
];

/** Its own lane: it takes two intervals of pings. */
export const silentH2agents = [
  { name: 'answers no PING in the middle of a run', agent: { at: 'request', acks: false, does: async (w, s) => { await w.head(s); await w.events(s, STARTED, START); } }, ...BROKEN, within: 50_000,
    client: async ({ connect }) => { const peer = await connect(); await peer.send(post()); return peer.answers(1, 48_000); } },
];
