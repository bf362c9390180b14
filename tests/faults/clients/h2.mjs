// Clients that break HTTP/2, and requests that only HTTP/2 can spell.
import { until } from '../../clients/lib/net.mjs';
import { payloads } from '../../clients/lib/sse.mjs';
import { END, FINISHED, START, STARTED, delta, frame } from '../lib/agent.mjs';
import { stream as describe } from '../lib/answer.mjs';
import { CONTINUATION, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, PING, PREFACE, PRIORITY, PUSH_PROMISE, RST_STREAM, SETTINGS, WINDOW_UPDATE,
  code, dial, field, frameOf, nameOf, number, setting, statusOf } from '../lib/h2.mjs';
import { INPUT, longInput } from '../lib/peer.mjs';

const WINDOW = frameOf(WINDOW_UPDATE, 0, 0, number(1 << 28));
const HELLO = Buffer.concat([PREFACE, frameOf(SETTINGS, 0, 0, setting(4, 1 << 24)), WINDOW]);
const POST = Buffer.from([0x83, 0x86]);
const PATH = Buffer.from([0x84]);
const REST = Buffer.concat([field(':authority', 'gate'), field('content-type', 'application/json'), field('accept', 'text/event-stream')]);
const block = (...more) => Buffer.concat([POST, PATH, REST, ...more]);
const asks = (stream, head = block(), body = INPUT) => Buffer.concat([frameOf(HEADERS, END_HEADERS, stream, head), ...parts(stream, body)]);
const parts = (stream, body) => {
  const bytes = Buffer.from(body), frames = [];
  for (let at = 0; at < bytes.length || at === 0; at += 16_384) frames.push(frameOf(DATA, at + 16_384 >= bytes.length ? END_STREAM : 0, stream, bytes.subarray(at, at + 16_384)));
  return frames;
};

/** What came on a stream, in words, or of the whole connection. */
function words(wire, stream) {
  const own = wire.frames.filter(got => got.stream === stream);
  const head = own.find(got => got.type === HEADERS), reset = own.find(got => got.type === RST_STREAM);
  const goaway = wire.frames.find(got => got.type === GOAWAY);
  const body = Buffer.concat(own.filter(got => got.type === DATA).map(got => got.payload));
  const ended = own.some(got => (got.type === DATA || got.type === HEADERS) && got.flags & END_STREAM);
  const status = head && statusOf(head.payload);
  const problem = /"code":"([A-Z_]+)"/.exec(status === 200 ? '' : body.toString())?.[1];
  const said = status && (status === 200 ? `200, ${describe(payloads(body, { loose: true }))}` : `${status}${problem ? ` ${problem}` : ''}`);
  const stop = reset && `RST_STREAM ${nameOf(reset.payload.readUInt32BE())}`;
  const bye = goaway && `GOAWAY ${nameOf(goaway.payload.readUInt32BE(4))}`;
  return { text: [said && (ended || stop ? said : `${said}, NOT ENDED`), stop, bye].filter(Boolean).join(', ') || wire.how || 'NOTHING', isOver: ended || reset || goaway || wire.isGone };
}

/** Says all this on a new connection and waits for the end of a stream. */
const says = (frames, { stream = 1, ms = 7000, hello = HELLO } = {}) => async ({ port }) => {
  const wire = await dial(port);
  await wire.send(hello);
  if (hello === HELLO) await until(2000, async () => wire.frames.some(got => got.type === SETTINGS));
  await wire.send(...[frames].flat());
  await until(ms, async () => words(wire, stream).isOver);
  const { text } = words(wire, stream);
  wire.close();
  return text;
};
const pours = (first, part, ms = 4000) => async ({ port }) => {
  const wire = await dial(port);
  await wire.send(HELLO, first);
  const end = Date.now() + ms;
  while (!words(wire, 1).isOver && Date.now() < end && await wire.send(part)) await new Promise(setImmediate);
  await until(3000, async () => words(wire, 1).isOver);
  const { text } = words(wire, 1);
  wire.close();
  return text;
};

const WHOLE = '200, 5 events, RUN_FINISHED';
const run = { got: WHOLE, runs: 'finished', seen: 1 };
/** It is refused, one way or the other, and the agent sees nothing. */
const refused = { got: /^(4\d\d.*|RST_STREAM PROTOCOL_ERROR|GOAWAY PROTOCOL_ERROR|RST_STREAM PROTOCOL_ERROR, GOAWAY.*)$/, refused: ['', 'malformed', 'not_found'], seen: 0 };
const ends = why => ({ got: new RegExp(`(GOAWAY ${why}|closed|reset)$`), seen: 0 });
const bad = (...more) => ({ client: says(asks(1, block(...more))), ...refused });
const odd = head => ({ client: says(asks(1, head)), ...refused });
const plain = seen => (seen.length !== 1 ? `${seen.length} requests` : undefined);
const flood = async c => { await c.head(); await c.events(STARTED, START); const big = frame(delta('x'.repeat(10_000))); await c.pours(`${big.length.toString(16)}\r\n${big}\r\n`, 9000); };
const waits = async c => { await c.head(); await c.events(STARTED, START); await c.gone(9000); };
const onlyGone = most => counts => Object.keys(counts).every(key => key === 'client_gone') && (counts.client_gone ?? 0) <= most;

/** Whether the run of a client that takes nothing has ended by now, past its limit. */
async function stuck(wire, gateway) {
  const active = await gateway.metric('tidegate_runs_active');
  wire.close();
  return active ? 'the run goes on' : 'the run is over';
}

export const h2clients = [
  { name: 'a run', client: says(asks(1)), ...run },
  { name: 'a preface that goes wrong', client: says([], { hello: Buffer.from('PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n'), ms: 3000 }), got: /^(closed|reset|GOAWAY.*)$/, seen: 0 },
  { name: 'half a preface, then a close', client: async ({ port }) => { const wire = await dial(port); await wire.send(PREFACE.subarray(0, 10)); wire.close(); return 'left'; }, got: 'left', seen: 0 },
  { name: 'a request before SETTINGS', client: says(asks(1), { hello: PREFACE }), got: [WHOLE, /(GOAWAY PROTOCOL_ERROR|closed|reset)$/], runs: ['', 'finished'] },
  { name: 'rapid resets', client: async ({ port }) => {
    const wire = await dial(port);
    await wire.send(HELLO);
    for (let n = 0; n < 2000 && !wire.isGone && !wire.frames.some(got => got.type === GOAWAY); n++) await wire.send(asks(2 * n + 1), frameOf(RST_STREAM, 0, 2 * n + 1, code('CANCEL')));
    await wire.gone(1500);
    const { text } = words(wire, 0);
    wire.close();
    return text;
  }, agent: waits, got: /^(GOAWAY ENHANCE_YOUR_CALM|closed|reset|NOTHING)$/, runs: onlyGone(2000), refused: counts => Object.keys(counts).every(key => key === 'malformed') },
  { name: 'leaves with fifty runs under way', client: async ({ port }) => {
    const wire = await dial(port);
    await wire.send(HELLO, ...Array.from({ length: 50 }, (_, n) => asks(2 * n + 1)));
    const some = await until(6000, async () => wire.frames.filter(got => got.type === DATA && got.payload.includes('TEXT_MESSAGE_START')).length === 50);
    wire.reset();
    return some ? 'left' : 'not all began';
  }, agent: waits, got: 'left', runs: { client_gone: 50 }, seen: 50 },
  { name: 'resets one of two runs', client: async ({ port }) => {
    const wire = await dial(port);
    await wire.send(HELLO, asks(1), asks(3));
    await until(4000, async () => wire.frames.filter(got => got.type === DATA && got.payload.includes('TEXT_MESSAGE_START')).length === 2);
    await wire.send(frameOf(RST_STREAM, 0, 1, code('CANCEL')));
    await until(6000, async () => words(wire, 3).isOver);
    const { text } = words(wire, 3);
    wire.close();
    return text;
  }, agent: async c => { await c.head(); await c.events(STARTED, START); await c.sleep(700); await c.events(delta('x'), END, FINISHED); await c.last(); }, got: WHOLE, runs: { finished: 1, client_gone: 1 }, seen: 2 },
  { name: 'says GOAWAY in the middle of a run', client: says([asks(1), frameOf(GOAWAY, 0, 0, Buffer.concat([number(0), number(0)]))]), got: [WHOLE, /^200, .*GOAWAY NO_ERROR$/], runs: ['finished', 'client_gone'] },
  { name: 'never opens the window of its stream', client: async ({ port, gateway }) => {
    const wire = await dial(port);
    await wire.send(PREFACE, frameOf(SETTINGS, 0, 0, setting(4, 0)), asks(1));
    await until(8000, async () => words(wire, 1).isOver);
    return stuck(wire, gateway);
  }, agent: flood, got: 'the run is over', runs: 'timeout_run', within: 9000, known: 'no limit of time ends it' },
  { name: 'never opens the window of its connection', client: async ({ port, gateway }) => {
    const wire = await dial(port);
    await wire.send(PREFACE, frameOf(SETTINGS, 0, 0, setting(4, 1 << 24)), asks(1));
    await until(8000, async () => words(wire, 1).isOver);
    return stuck(wire, gateway);
  }, agent: flood, got: 'the run is over', runs: 'timeout_run', within: 9000, known: 'no limit of time ends it' },
  { name: 'a body over the limit', client: says(asks(1, block(), longInput(70_000))), got: /^413 BODY_TOO_LARGE/, refused: 'body', seen: seen => seen.some(r => !r.cut) && 'a request that looks whole' },
  { name: 'a length over the limit', client: says(frameOf(HEADERS, END_HEADERS, 1, block(field('content-length', '70000')))), got: /^413 BODY_TOO_LARGE/, refused: 'body', seen: 0 },
  { name: 'a length longer than the body', client: says(asks(1, block(field('content-length', '500')))), got: /PROTOCOL_ERROR|400/, refused: ['', 'malformed'], seen: seen => seen.some(r => !r.cut) && 'a request that looks whole' },
  { name: 'a length shorter than the body', client: says(asks(1, block(field('content-length', '5')))), got: /PROTOCOL_ERROR|400/, refused: ['', 'malformed'], seen: seen => seen.some(r => !r.cut) && 'a request that looks whole' },
  { name: 'stops in the middle of its body', client: says([frameOf(HEADERS, END_HEADERS, 1, block()), frameOf(DATA, 0, 1, INPUT.slice(0, 30))]), got: '408 BODY_TIMEOUT, RST_STREAM NO_ERROR', refused: 'malformed' },
  { name: 'endless CONTINUATION', client: pours(frameOf(HEADERS, END_STREAM, 1, block()), frameOf(CONTINUATION, 0, 1, Buffer.concat(Array(100).fill(field('x-h', 'y'.repeat(100)))))), got: /(ENHANCE_YOUR_CALM|COMPRESSION_ERROR|PROTOCOL_ERROR|closed|reset|431.*)$/, seen: 0 },
  { name: 'endless empty CONTINUATION', client: pours(frameOf(HEADERS, END_STREAM, 1, block()), Buffer.concat(Array(50).fill(frameOf(CONTINUATION, 0, 1)))), got: /(ENHANCE_YOUR_CALM|PROTOCOL_ERROR|closed|reset)$/, seen: 0 },
  { name: 'a head of 1 MiB from one entry of the table', client: says(frameOf(HEADERS, END_HEADERS | END_STREAM, 1, block(Buffer.concat([Buffer.from([0x40]), field('x-h', 'y'.repeat(3000)).subarray(1)]), Buffer.alloc(350, 0xbe)))),
    got: /^431|ENHANCE|PROTOCOL|COMPRESSION/, seen: 0 },
  { name: 'a flood of SETTINGS', client: pours(Buffer.alloc(0), Buffer.concat(Array(200).fill(frameOf(SETTINGS, 0, 0))), 2000), got: /^(GOAWAY ENHANCE_YOUR_CALM|closed|reset|NOTHING)$/, seen: 0 },
  { name: 'a flood of PING', client: pours(Buffer.alloc(0), Buffer.concat(Array(200).fill(frameOf(PING, 0, 0, Buffer.alloc(8)))), 2000), got: /^(GOAWAY ENHANCE_YOUR_CALM|closed|reset|NOTHING)$/, seen: 0 },
  { name: 'a flood of PRIORITY', client: pours(Buffer.alloc(0), Buffer.concat(Array(200).fill(frameOf(PRIORITY, 0, 3, Buffer.alloc(5)))), 1000), got: /^(GOAWAY.*|closed|reset|NOTHING)$/, seen: 0 },
  { name: 'a flood of empty DATA', client: pours(frameOf(HEADERS, END_HEADERS, 1, block()), Buffer.concat(Array(200).fill(frameOf(DATA, 0, 1))), 3000), got: /^(408 BODY_TIMEOUT|504 RUN_TIMEOUT|GOAWAY.*|RST.*|closed|reset)/, refused: ['', 'malformed'] },
  { name: 'more streams than it may', client: async ({ port }) => {
    const wire = await dial(port);
    await wire.send(HELLO, ...Array.from({ length: 1100 }, (_, n) => frameOf(HEADERS, END_HEADERS, 2 * n + 1, block())));
    const some = await until(3000, async () => wire.frames.some(got => got.type === RST_STREAM || got.type === GOAWAY) || wire.isGone);
    const why = wire.frames.filter(got => got.type === RST_STREAM).map(got => nameOf(got.payload.readUInt32BE()));
    wire.close();
    return some ? `RST_STREAM ${[...new Set(why)]}` : 'NOTHING';
  }, got: /^RST_STREAM (REFUSED_STREAM)?$/, refused: counts => Object.keys(counts).every(key => key === 'malformed') },

  { name: 'DATA on no stream', client: says(frameOf(DATA, 0, 0, 'x')), ...ends('PROTOCOL_ERROR') },
  { name: 'DATA on a stream that is not open', client: says(frameOf(DATA, 0, 1, 'x')), got: /(PROTOCOL_ERROR|STREAM_CLOSED)$/, seen: 0 },
  { name: 'a stream with an even number', client: says(asks(2), { stream: 2 }), ...ends('PROTOCOL_ERROR') },
  { name: 'a stream number that goes down', client: says([asks(5), asks(3)], { stream: 3 }), got: /(PROTOCOL_ERROR|STREAM_CLOSED|200.*)/, runs: ['', 'client_gone', 'finished'], refused: ['', 'malformed'] },
  { name: 'a frame longer than agreed', client: says([frameOf(HEADERS, END_HEADERS, 1, block()), frameOf(DATA, 0, 1, 'x'.repeat(20_000))]), got: /FRAME_SIZE_ERROR$/, refused: ['', 'malformed'] },
  { name: 'SETTINGS of an odd length', client: says(frameOf(SETTINGS, 0, 0, 'odd')), ...ends('(FRAME_SIZE|PROTOCOL)_ERROR') },
  { name: 'a window of nothing', client: says(frameOf(WINDOW_UPDATE, 0, 0, number(0))), ...ends('PROTOCOL_ERROR') },
  { name: 'a window past its limit', client: says(Array(3).fill(frameOf(WINDOW_UPDATE, 0, 0, number(0x7fffffff)))), ...ends('FLOW_CONTROL_ERROR') },
  { name: 'a promise from a client', client: says(frameOf(PUSH_PROMISE, END_HEADERS, 1, Buffer.concat([number(2), block()]))), ...ends('PROTOCOL_ERROR') },
  { name: 'another frame between HEADERS and CONTINUATION', client: says([frameOf(HEADERS, END_STREAM, 1, block()), frameOf(PING, 0, 0, Buffer.alloc(8))]), ...ends('PROTOCOL_ERROR') },
  { name: 'a head that no table has', client: says(frameOf(HEADERS, END_HEADERS, 1, Buffer.from([0xff, 0xff, 0xff, 0x0f]))), ...ends('(COMPRESSION|PROTOCOL)_ERROR') },
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
  { name: 'a path that climbs', client: says(asks(1, Buffer.concat([POST, field(':path', '/a/../b'), REST]))), got: '400 BAD_PATH', refused: 'malformed', seen: 0 },
  { name: 'a method with a space', ...odd(Buffer.concat([field(':method', 'GET /x HTTP/1.1'), Buffer.from([0x86]), PATH, REST])) },
  { name: 'an authority with a line end', ...odd(Buffer.concat([POST, PATH, field(':authority', 'gate\r\nx: y')])) },
  { name: 'a host at odds with the authority', client: says(asks(1, block(field('host', 'other')))), got: [WHOLE, refused.got], runs: ['', 'finished'], refused: ['', 'malformed'], seen: seen => (seen.length ? plain(seen) : undefined) },
  { name: 'two lengths', client: says(asks(1, block(field('content-length', String(INPUT.length)), field('content-length', '5')))), got: /PROTOCOL_ERROR|400/, refused: ['', 'malformed'], seen: seen => seen.some(r => !r.cut) && 'a request that looks whole' },
  { name: 'a request that pretends to be one of HTTP/1.1', client: says([], { hello: Buffer.from(`POST / HTTP/1.1\r\nhost: gate\r\nconnection: upgrade, http2-settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQAAP__\r\naccept: text/event-stream\r\ncontent-length: ${INPUT.length}\r\n\r\n${INPUT}`), ms: 1500 }),
    got: /./, runs: 'finished', seen: seen => plain(seen) ?? (seen[0].header('upgrade') && 'an upgrade') },
];
