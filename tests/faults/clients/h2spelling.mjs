// Frames out of place, and requests that only HTTP/2 can spell: none may become another request in HTTP/1.1.
import { DATA, END_HEADERS, END_STREAM, field, frameOf, HEADERS, number, PING, PUSH_PROMISE, SETTINGS, WINDOW_UPDATE } from '../lib/h2.mjs';
import { INPUT } from '../lib/peer.mjs';
import { asks, bad, block, ends, odd, PATH, plain, POST, refused, REST, run, says, WHOLE } from './frames.mjs';

export const h2spelling = [
  { name: 'DATA on no stream', client: says(frameOf(DATA, 0, 0, 'x')), ...ends('PROTOCOL_ERROR') },
  { name: 'DATA on a stream that is not open', client: says(frameOf(DATA, 0, 1, 'x')), got: /(PROTOCOL_ERROR|STREAM_CLOSED)$/, seen: 0 },
  { name: 'a stream with an even number', client: says(asks(2), { stream: 2 }), ...ends('PROTOCOL_ERROR') },
  {
    name: 'a stream number that goes down',
    client: says([asks(5), asks(3)], { stream: 3 }),
    got: /(PROTOCOL_ERROR|STREAM_CLOSED|200.*)/,
    runs: ['', 'client_gone', 'finished'],
    refused: ['', 'malformed'],
  },
  {
    name: 'a frame longer than agreed',
    client: says([frameOf(HEADERS, END_HEADERS, 1, block()), frameOf(DATA, 0, 1, 'x'.repeat(20_000))]),
    got: /FRAME_SIZE_ERROR$/,
    refused: ['', 'malformed'],
  },
  { name: 'SETTINGS of an odd length', client: says(frameOf(SETTINGS, 0, 0, 'odd')), ...ends('(FRAME_SIZE|PROTOCOL)_ERROR') },
  { name: 'a window of nothing', client: says(frameOf(WINDOW_UPDATE, 0, 0, number(0))), ...ends('PROTOCOL_ERROR') },
  {
    name: 'a window past its limit',
    client: says(Array(3).fill(frameOf(WINDOW_UPDATE, 0, 0, number(0x7fffffff)))),
    ...ends('FLOW_CONTROL_ERROR'),
  },
  {
    name: 'a promise from a client',
    client: says(frameOf(PUSH_PROMISE, END_HEADERS, 1, Buffer.concat([number(2), block()]))),
    ...ends('PROTOCOL_ERROR'),
  },
  {
    name: 'another frame between HEADERS and CONTINUATION',
    client: says([frameOf(HEADERS, END_STREAM, 1, block()), frameOf(PING, 0, 0, Buffer.alloc(8))]),
    ...ends('PROTOCOL_ERROR'),
  },
  {
    name: 'a head that no table has',
    client: says(frameOf(HEADERS, END_HEADERS, 1, Buffer.from([0xff, 0xff, 0xff, 0x0f]))),
    ...ends('(COMPRESSION|PROTOCOL)_ERROR'),
  },
  { name: 'frames of a kind that nobody knows', client: says([frameOf(99, 255, 0, 'what'), asks(1)]), ...run },

  { name: 'a line end in the value of a header', ...bad(field('x-a', 'b\r\ntransfer-encoding: chunked')) },
  { name: 'a bare line feed in the value of a header', ...bad(field('x-a', 'b\nx-c: d')) },
  { name: 'a NUL in the value of a header', ...bad(field('x-a', 'b\0c')) },
  { name: 'a line end in the name of a header', ...bad(field('x-a: b\r\nx-c', 'd')) },
  { name: 'a colon in the name of a header', ...bad(field('x-a:b', 'd')) },
  { name: 'a name in capitals', ...bad(field('X-A', 'b')) },
  { name: 'a header without a name', ...bad(field('', 'b')) },
  { name: 'transfer-encoding', ...bad(field('transfer-encoding', 'chunked')) },
  { name: 'connection', ...bad(field('connection', 'close')) },
  { name: 'te of another kind than trailers', ...bad(field('te', 'gzip')) },
  { name: 'a pseudo header after the others', ...bad(field(':path', '/hidden')) },
  { name: 'a pseudo header that nobody knows', ...odd(Buffer.concat([POST, PATH, field(':what', 'x'), REST])) },
  { name: 'two methods', ...odd(Buffer.concat([POST, Buffer.from([0x82]), PATH, REST])) },
  { name: 'no path', ...odd(Buffer.concat([POST, REST])) },
  { name: 'an empty path', ...odd(Buffer.concat([POST, field(':path', ''), REST])) },
  { name: 'a path with a line end', ...odd(Buffer.concat([POST, field(':path', '/ HTTP/1.1\r\nx: y'), REST])) },
  { name: 'a path with a space', ...odd(Buffer.concat([POST, field(':path', '/ HTTP/1.1'), REST])) },
  {
    name: 'a path that climbs',
    client: says(asks(1, Buffer.concat([POST, field(':path', '/a/../b'), REST]))),
    got: '400 BAD_PATH',
    refused: 'malformed',
    seen: 0,
  },
  { name: 'a method with a space', ...odd(Buffer.concat([field(':method', 'GET /x HTTP/1.1'), Buffer.from([0x86]), PATH, REST])) },
  { name: 'an authority with a line end', ...odd(Buffer.concat([POST, PATH, field(':authority', 'gate\r\nx: y')])) },
  {
    name: 'a host at odds with the authority',
    client: says(asks(1, block(field('host', 'other')))),
    got: [WHOLE, refused.got],
    runs: ['', 'finished'],
    refused: ['', 'malformed'],
    seen: seen => (seen.length ? plain(seen) : undefined),
  },
  {
    name: 'two lengths',
    client: says(asks(1, block(field('content-length', String(INPUT.length)), field('content-length', '5')))),
    got: /PROTOCOL_ERROR|400/,
    refused: ['', 'malformed'],
    seen: seen => seen.some(r => !r.cut) && 'a request that looks whole',
  },
  {
    name: 'a request that pretends to be one of HTTP/1.1',
    client: says([], {
      hello: Buffer.from(
        `POST / HTTP/1.1\r\nhost: gate\r\nconnection: upgrade, http2-settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQAAP__\r\naccept: text/event-stream\r\ncontent-length: ${INPUT.length}\r\n\r\n${INPUT}`,
      ),
      ms: 1500,
    }),
    got: /./,
    runs: 'finished',
    seen: seen => plain(seen) ?? (seen[0].header('upgrade') && 'an upgrade'),
  },
];
