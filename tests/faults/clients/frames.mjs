// Clients of HTTP/2 by the frame: what they say, what they got in words, and what may become of it.
import { until } from '../../clients/lib/net.mjs';
import { payloads } from '../../clients/lib/sse.mjs';
import { stream as describe } from '../lib/answer.mjs';
import {
  code,
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
  PREFACE,
  RST_STREAM,
  setting,
  SETTINGS,
  statusOf,
  WINDOW_UPDATE,
} from '../lib/h2.mjs';
import { head, INPUT } from '../lib/peer.mjs';

export const WINDOW = frameOf(WINDOW_UPDATE, 0, 0, number(1 << 28));
export const HELLO = Buffer.concat([PREFACE, frameOf(SETTINGS, 0, 0, setting(4, 1 << 24)), WINDOW]);
export const POST = Buffer.from([0x83, 0x86]);
export const PATH = Buffer.from([0x84]);
export const REST = Buffer.concat([
  field(':authority', 'gate'),
  field('content-type', 'application/json'),
  field('accept', 'text/event-stream'),
]);
export const block = (...more) => Buffer.concat([POST, PATH, REST, ...more]);
export const asks = (stream, head = block(), body = INPUT) =>
  Buffer.concat([frameOf(HEADERS, END_HEADERS, stream, head), ...parts(stream, body)]);
export const parts = (stream, body) => {
  const bytes = Buffer.from(body),
    frames = [];
  for (let at = 0; at < bytes.length || at === 0; at += 16_384)
    frames.push(frameOf(DATA, at + 16_384 >= bytes.length ? END_STREAM : 0, stream, bytes.subarray(at, at + 16_384)));
  return frames;
};

/** What came on a stream, in words, or of the whole connection. */
export function words(wire, stream) {
  const own = wire.frames.filter(got => got.stream === stream);
  const head = own.find(got => got.type === HEADERS),
    reset = own.find(got => got.type === RST_STREAM);
  const goaway = wire.frames.find(got => got.type === GOAWAY);
  const body = Buffer.concat(own.filter(got => got.type === DATA).map(got => got.payload));
  const ended = own.some(got => (got.type === DATA || got.type === HEADERS) && got.flags & END_STREAM);
  const status = head && statusOf(head.payload);
  const problem = /"code":"([A-Z_]+)"/.exec(status === 200 ? '' : body.toString())?.[1];
  const said =
    status && (status === 200 ? `200, ${describe(payloads(body, { loose: true }))}` : `${status}${problem ? ` ${problem}` : ''}`);
  const stop = reset && `RST_STREAM ${nameOf(reset.payload.readUInt32BE())}`;
  const bye = goaway && `GOAWAY ${nameOf(goaway.payload.readUInt32BE(4))}`;
  return {
    text: [said && (ended || stop ? said : `${said}, NOT ENDED`), stop, bye].filter(Boolean).join(', ') || wire.how || 'NOTHING',
    isOver: ended || reset || goaway || wire.isGone,
  };
}

/** Says all this on a new connection and waits for the end of a stream. */
export const says =
  (frames, { stream = 1, ms = 7000, hello = HELLO } = {}) =>
  async ({ port }) => {
    const wire = await dial(port);
    await wire.send(hello);
    if (hello === HELLO) await until(2000, async () => wire.frames.some(got => got.type === SETTINGS));
    await wire.send(...[frames].flat());
    await until(ms, async () => words(wire, stream).isOver);
    const { text } = words(wire, stream);
    wire.close();
    return text;
  };
export const pours =
  (first, part, ms = 4000) =>
  async ({ port }) => {
    const wire = await dial(port);
    await wire.send(HELLO, first);
    const end = Date.now() + ms;
    while (!words(wire, 1).isOver && Date.now() < end && (await wire.send(part))) await new Promise(setImmediate);
    await until(3000, async () => words(wire, 1).isOver);
    const { text } = words(wire, 1);
    wire.close();
    return text;
  };

export const WHOLE = '200, 5 events, RUN_FINISHED';
export const run = { got: WHOLE, runs: 'finished', seen: 1 };
/** It is refused, one way or the other, and the agent sees nothing. */
export const refused = {
  got: /^(4\d\d.*|RST_STREAM PROTOCOL_ERROR|GOAWAY PROTOCOL_ERROR|RST_STREAM PROTOCOL_ERROR, GOAWAY.*)$/,
  refused: ['', 'malformed', 'not_found'],
  seen: 0,
};
export const ends = why => ({ got: new RegExp(`(GOAWAY ${why}|closed|reset)$`), seen: 0 });
export const bad = (...more) => ({ client: says(asks(1, block(...more))), ...refused });
export const odd = head => ({ client: says(asks(1, head)), ...refused });
export const plain = seen => (seen.length !== 1 ? `${seen.length} requests` : undefined);
