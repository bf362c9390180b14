// Clients that break HTTP/2: that flood, stop, and never open a window.
import { until } from '../../clients/lib/net.mjs';
import { delta, END, FINISHED, frame, START, STARTED } from '../lib/agent.mjs';
import {
  code,
  CONTINUATION,
  DATA,
  dial,
  END_HEADERS,
  END_STREAM,
  field,
  frameOf,
  GOAWAY,
  HEADERS,
  nameOf,
  number,
  PING,
  PREFACE,
  PRIORITY,
  RST_STREAM,
  setting,
  SETTINGS,
} from '../lib/h2.mjs';
import { INPUT, longInput } from '../lib/peer.mjs';
import { asks, block, HELLO, pours, run, says, WHOLE, words } from './frames.mjs';

const flood = async c => {
  await c.head();
  await c.events(STARTED, START);
  const big = frame(delta('x'.repeat(10_000)));
  await c.pours(`${big.length.toString(16)}\r\n${big}\r\n`, 9000);
};
const waits = async c => {
  await c.head();
  await c.events(STARTED, START);
  await c.gone(9000);
};
const onlyGone = most => counts => Object.keys(counts).every(key => key === 'client_gone') && (counts.client_gone ?? 0) <= most;

/** Whether the run of a client that takes nothing has ended by now, past its limit. */
async function stuck(wire, gateway) {
  const active = await gateway.metric('tidegate_runs_active');
  wire.close();
  return active ? 'the run goes on' : 'the run is over';
}

export const h2clients = [
  { name: 'a run', client: says(asks(1)), ...run },
  {
    name: 'a preface that goes wrong',
    client: says([], { hello: Buffer.from('PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n'), ms: 3000 }),
    got: /^(closed|reset|GOAWAY.*)$/,
    refused: 'malformed',
    seen: 0,
  },
  {
    name: 'half a preface, then a close',
    client: async ({ port }) => {
      const wire = await dial(port);
      await wire.send(PREFACE.subarray(0, 10));
      wire.close();
      return 'left';
    },
    got: 'left',
    seen: 0,
  },
  {
    name: 'a request before SETTINGS',
    client: says(asks(1), { hello: PREFACE }),
    got: [WHOLE, /(GOAWAY PROTOCOL_ERROR|closed|reset)$/],
    runs: ['', 'finished'],
  },
  {
    name: 'rapid resets',
    client: async ({ port }) => {
      const wire = await dial(port);
      await wire.send(HELLO);
      for (let n = 0; n < 2000 && !wire.isGone && !wire.frames.some(got => got.type === GOAWAY); n++)
        await wire.send(asks(2 * n + 1), frameOf(RST_STREAM, 0, 2 * n + 1, code('CANCEL')));
      await wire.gone(1500);
      const { text } = words(wire, 0);
      wire.close();
      return text;
    },
    agent: waits,
    got: /^(GOAWAY ENHANCE_YOUR_CALM|closed|reset|NOTHING)$/,
    runs: onlyGone(2000),
    refused: counts => Object.keys(counts).every(key => key === 'malformed'),
  },
  {
    name: 'leaves with fifty runs under way',
    client: async ({ port }) => {
      const wire = await dial(port);
      await wire.send(HELLO, ...Array.from({ length: 50 }, (_, n) => asks(2 * n + 1)));
      const some = await until(
        6000,
        async () => wire.frames.filter(got => got.type === DATA && got.payload.includes('TEXT_MESSAGE_START')).length === 50,
      );
      wire.reset();
      return some ? 'left' : 'not all began';
    },
    agent: waits,
    got: 'left',
    runs: { client_gone: 50 },
    seen: 50,
  },
  {
    name: 'resets one of two runs',
    client: async ({ port }) => {
      const wire = await dial(port);
      await wire.send(HELLO, asks(1), asks(3));
      await until(
        4000,
        async () => wire.frames.filter(got => got.type === DATA && got.payload.includes('TEXT_MESSAGE_START')).length === 2,
      );
      await wire.send(frameOf(RST_STREAM, 0, 1, code('CANCEL')));
      await until(6000, async () => words(wire, 3).isOver);
      const { text } = words(wire, 3);
      wire.close();
      return text;
    },
    agent: async c => {
      await c.head();
      await c.events(STARTED, START);
      await c.sleep(700);
      await c.events(delta('x'), END, FINISHED);
      await c.last();
    },
    got: WHOLE,
    runs: { finished: 1, client_gone: 1 },
    seen: 2,
  },
  {
    name: 'says GOAWAY in the middle of a run',
    client: says([asks(1), frameOf(GOAWAY, 0, 0, Buffer.concat([number(0), number(0)]))]),
    got: [WHOLE, /^200, .*GOAWAY NO_ERROR$/],
    runs: ['finished', 'client_gone'],
  },
  {
    name: 'never opens the window of its stream',
    client: async ({ port, gateway }) => {
      const wire = await dial(port);
      await wire.send(PREFACE, frameOf(SETTINGS, 0, 0, setting(4, 0)), asks(1));
      await until(8000, async () => words(wire, 1).isOver);
      return stuck(wire, gateway);
    },
    agent: flood,
    got: 'the run is over',
    runs: 'timeout_run',
    within: 9000,
  },
  {
    name: 'never opens the window of its connection',
    client: async ({ port, gateway }) => {
      const wire = await dial(port);
      await wire.send(PREFACE, frameOf(SETTINGS, 0, 0, setting(4, 1 << 24)), asks(1));
      await until(8000, async () => words(wire, 1).isOver);
      return stuck(wire, gateway);
    },
    agent: flood,
    got: 'the run is over',
    runs: 'timeout_run',
    within: 9000,
  },
  {
    name: 'a body over the limit',
    client: says(asks(1, block(), longInput(70_000))),
    got: /^413 BODY_TOO_LARGE/,
    refused: 'body',
    seen: seen => seen.some(r => !r.cut) && 'a request that looks whole',
  },
  {
    name: 'a length over the limit',
    client: says(frameOf(HEADERS, END_HEADERS, 1, block(field('content-length', '70000')))),
    got: /^413 BODY_TOO_LARGE/,
    refused: 'body',
    seen: 0,
  },
  {
    name: 'a length longer than the body',
    client: says(asks(1, block(field('content-length', '500')))),
    got: /PROTOCOL_ERROR|400/,
    refused: ['', 'malformed'],
    seen: seen => seen.some(r => !r.cut) && 'a request that looks whole',
  },
  {
    name: 'a length shorter than the body',
    client: says(asks(1, block(field('content-length', '5')))),
    got: /PROTOCOL_ERROR|400/,
    refused: ['', 'malformed'],
    seen: seen => seen.some(r => !r.cut) && 'a request that looks whole',
  },
  {
    name: 'stops in the middle of its body',
    client: says([frameOf(HEADERS, END_HEADERS, 1, block()), frameOf(DATA, 0, 1, INPUT.slice(0, 30))]),
    got: '408 BODY_TIMEOUT, RST_STREAM NO_ERROR',
    refused: 'malformed',
  },
  {
    name: 'endless CONTINUATION',
    client: pours(
      frameOf(HEADERS, END_STREAM, 1, block()),
      frameOf(CONTINUATION, 0, 1, Buffer.concat(Array(100).fill(field('x-h', 'y'.repeat(100))))),
    ),
    got: /(ENHANCE_YOUR_CALM|COMPRESSION_ERROR|PROTOCOL_ERROR|closed|reset|431.*)$/,
    seen: 0,
  },
  {
    name: 'endless empty CONTINUATION',
    client: pours(frameOf(HEADERS, END_STREAM, 1, block()), Buffer.concat(Array(50).fill(frameOf(CONTINUATION, 0, 1)))),
    got: /(ENHANCE_YOUR_CALM|PROTOCOL_ERROR|closed|reset)$/,
    seen: 0,
  },
  {
    name: 'a head of 1 MiB from one entry of the table',
    client: says(
      frameOf(
        HEADERS,
        END_HEADERS | END_STREAM,
        1,
        block(Buffer.concat([Buffer.from([0x40]), field('x-h', 'y'.repeat(3000)).subarray(1)]), Buffer.alloc(350, 0xbe)),
      ),
    ),
    got: /^431|ENHANCE|PROTOCOL|COMPRESSION/,
    seen: 0,
  },
  {
    name: 'a flood of SETTINGS',
    client: pours(Buffer.alloc(0), Buffer.concat(Array(200).fill(frameOf(SETTINGS, 0, 0))), 2000),
    got: /^(GOAWAY ENHANCE_YOUR_CALM|closed|reset|NOTHING)$/,
    seen: 0,
  },
  {
    name: 'a flood of PING',
    client: pours(Buffer.alloc(0), Buffer.concat(Array(200).fill(frameOf(PING, 0, 0, Buffer.alloc(8)))), 2000),
    got: /^(GOAWAY ENHANCE_YOUR_CALM|closed|reset|NOTHING)$/,
    seen: 0,
  },
  {
    name: 'a flood of PRIORITY',
    client: pours(Buffer.alloc(0), Buffer.concat(Array(200).fill(frameOf(PRIORITY, 0, 3, Buffer.alloc(5)))), 1000),
    got: /^(GOAWAY.*|closed|reset|NOTHING)$/,
    seen: 0,
  },
  {
    name: 'a flood of empty DATA',
    client: pours(frameOf(HEADERS, END_HEADERS, 1, block()), Buffer.concat(Array(200).fill(frameOf(DATA, 0, 1))), 3000),
    got: /^(408 BODY_TIMEOUT|504 RUN_TIMEOUT|GOAWAY.*|RST.*|closed|reset)/,
    refused: ['', 'malformed'],
  },
  {
    name: 'more streams than it may',
    client: async ({ port }) => {
      const wire = await dial(port);
      await wire.send(HELLO, ...Array.from({ length: 1100 }, (_, n) => frameOf(HEADERS, END_HEADERS, 2 * n + 1, block())));
      const some = await until(3000, async () => wire.frames.some(got => got.type === RST_STREAM || got.type === GOAWAY) || wire.isGone);
      const why = wire.frames.filter(got => got.type === RST_STREAM).map(got => nameOf(got.payload.readUInt32BE()));
      wire.close();
      return some ? `RST_STREAM ${[...new Set(why)]}` : 'NOTHING';
    },
    got: /^RST_STREAM (REFUSED_STREAM)?$/,
    refused: counts => Object.keys(counts).every(key => key === 'malformed'),
  },
];
