// Clients that send more than the gateway takes.
import { chunkedHead, head, longInput, post } from '../lib/peer.mjs';

const sends =
  (...parts) =>
  async ({ connect }) => {
    const peer = await connect();
    for (const part of parts) await peer.send(part);
    return peer.answers(1, 9000);
  };
const pours =
  (first, part, times) =>
  async ({ connect }) => {
    const peer = await connect();
    await peer.send(first);
    for (let n = 0; n < times && !peer.how && !peer.length; n++) {
      await peer.send(part);
      await new Promise(setImmediate);
    }
    return peer.answers(1, 9000);
  };
// A close while bytes are still coming is a reset, which may overtake the answer.
const TOO_LARGE = { got: '413 BODY_TOO_LARGE', refused: 'body' };
const refused = { got: /^(4\d\d [A-Z_]+|reset)$/, refused: 'malformed', seen: 0 };
const FLOODED = { ...TOO_LARGE, got: [TOO_LARGE.got, 'reset'] };
const chunk = `400\r\n${'x'.repeat(1024)}\r\n`;

export const limits = [
  { name: 'a length over the limit, and the body', client: sends(post({ body: longInput(66_000) })), ...TOO_LARGE, seen: 0 },
  { name: 'a length over the limit, and no body', client: sends(head({ length: 66_000 })), ...TOO_LARGE, seen: 0 },
  { name: 'a length of 9 EiB', client: sends(head({ length: '9223372036854775807' })), ...TOO_LARGE, seen: 0 },
  {
    name: 'a body as long as the limit',
    client: sends(post({ body: longInput(65_536) })),
    got: '200, 5 events, RUN_FINISHED',
    runs: 'finished',
    seen: 1,
  },
  { name: 'chunks over the limit', client: pours(chunkedHead(), chunk, 70), ...TOO_LARGE },
  { name: 'endless chunks', client: pours(chunkedHead(), chunk, 20_000), ...FLOODED },
  { name: 'an endless chunk', client: pours(`${chunkedHead()}ffffffff\r\n`, 'x'.repeat(10_000), 2000), ...FLOODED },
  {
    name: 'an endless size of a chunk',
    client: pours(chunkedHead(), '0'.repeat(5000), 2000),
    got: /^4(00|08) BODY_(BROKEN|TIMEOUT)$/,
    refused: 'malformed',
    within: 7000,
  },
  {
    name: 'an endless extension of a chunk',
    client: pours(`${chunkedHead()}5;a=`, 'x'.repeat(5000), 2000),
    got: ['400 BODY_BROKEN', 'reset'],
    refused: 'malformed',
  },
  {
    name: 'endless trailers',
    client: pours(`${chunkedHead()}0\r\n`, 'x-t: 1\r\n'.repeat(100), 2000),
    got: ['400 BODY_BROKEN', 'reset'],
    refused: 'malformed',
  },
  { name: 'endless headers', client: pours('POST / HTTP/1.1\r\nhost: gate\r\n', 'x-h: 1\r\n'.repeat(100), 2000), ...refused },
  { name: 'an endless header line', client: pours('POST / HTTP/1.1\r\nhost: gate\r\nx-h: ', 'y'.repeat(10_000), 2000), ...refused },
  { name: 'an endless request line', client: pours('POST /', 'y'.repeat(10_000), 2000), ...refused },
  { name: 'endless empty lines', client: pours('', '\r\n'.repeat(1000), 500), got: /^(4\d\d|closed|reset|NOTHING)/, refused: 'malformed', seen: 0 },
  {
    name: 'two hundred headers',
    client: sends(post({ more: Array.from({ length: 200 }, (_, n) => `x-${n}: 1\r\n`).join('') })),
    ...refused,
  },
  {
    name: 'ninety headers',
    client: sends(post({ more: Array.from({ length: 90 }, (_, n) => `x-${n}: 1\r\n`).join('') })),
    got: '200, 5 events, RUN_FINISHED',
    runs: 'finished',
    seen: 1,
  },
];
