// Requests that two readers may take for different ones. The agent must see exactly those that were meant, in a
// spelling that has one meaning; or the client is refused and the agent sees nothing.
import { INPUT, head, post } from '../lib/peer.mjs';

const WHOLE = '200, 5 events, RUN_FINISHED';
const HEAD = 'POST / HTTP/1.1\r\nhost: gate\r\ncontent-type: application/json\r\naccept: text/event-stream\r\n';
const HIDDEN = 'GET /hidden HTTP/1.1\r\nhost: gate\r\n\r\n';
const sized = text => `${text.length.toString(16)}\r\n${text}\r\n`;
const CHUNKED = 'transfer-encoding: chunked\r\n\r\n';
const BODY = `${sized(INPUT)}0\r\n\r\n`;
const LENGTH = `content-length: ${INPUT.length}\r\n`;

/** Sends these bytes and reads so many answers. */
const sends = (bytes, n = 1, method) => async ({ connect }) => {
  const peer = await connect();
  await peer.send(Buffer.from(bytes, 'latin1'));
  return peer.answers(n, 5000, method);
};

/** The agent sees the run that was meant, once, in plain framing; then `more` is asked of it. */
const one = (more = () => undefined) => seen => {
  if (seen.length !== 1) return `${seen.length} requests: ${seen.map(request => request.target)}`;
  const [request] = seen;
  if (request.body.toString() !== INPUT) return `the body ${JSON.stringify(request.body.toString().slice(0, 80))}`;
  if (seen.some(({ target }) => target.includes('hidden'))) return 'what was hidden';
  return more(request);
};
const none = 0;
/** It is refused: by the gateway's own answer, or by that of the HTTP library, which has no body. */
const refused = { got: /^4\d\d( [A-Z_]+|, no body)$/, refused: ['', 'malformed'], seen: none };
const mustRefuse = { ...refused, known: 'it is taken as if it were chunked alone' };
const taken = (more, got = WHOLE) => ({ got, runs: 'finished', seen: one(more) });
const either = { got: [refused.got, WHOLE], runs: ['', 'finished'], refused: ['', 'malformed'], seen: seen => (seen.length ? one()(seen) : undefined) };
const without = name => request => (request.header(name) === undefined ? undefined : `the header ${name}: ${request.header(name)}`);
const having = (name, value) => request => (request.header(name) === value ? undefined : `the header ${name}: ${request.header(name)}`);

const lengthSaid = (name, value, how = refused) => ({ name: `content-length ${name}`, client: sends(`${HEAD}content-length: ${value}\r\n\r\n${INPUT}${how === refused ? HIDDEN : ''}`), ...how });
const coding = (name, value, how = refused) => ({ name: `transfer-encoding ${name}`, client: sends(`${HEAD}transfer-encoding: ${value}\r\n\r\n${BODY}${how === refused ? HIDDEN : ''}`), ...how });
const chunks = (name, body, how) => ({ name, client: sends(`${HEAD}${CHUNKED}${body}`), ...how });
const broken = { got: '400 BODY_BROKEN', refused: 'malformed', seen: seen => seen.some(request => !request.cut) && 'a request that looks whole' };

export const framing = [
  { name: 'content-length, then chunks', client: sends(`${HEAD}${LENGTH}${CHUNKED}${BODY}`), got: '400 BAD_FRAMING', refused: 'malformed', seen: none },
  { name: 'chunks, then content-length', client: sends(`${HEAD}transfer-encoding: chunked\r\n${LENGTH}\r\n${BODY}`), got: '400 BAD_FRAMING', refused: 'malformed', seen: none },
  { name: 'CL.TE: a request hidden behind the last chunk', client: sends(`${HEAD}content-length: ${5 + HIDDEN.length}\r\n${CHUNKED}0\r\n\r\n${HIDDEN}`), got: '400 BAD_FRAMING', refused: 'malformed', seen: none },
  { name: 'TE.CL: a request hidden in a chunk', client: sends(`${HEAD}content-length: 4\r\n${CHUNKED}${sized(HIDDEN)}0\r\n\r\n`), got: '400 BAD_FRAMING', refused: 'malformed', seen: none },
  { name: 'two different content-lengths', client: sends(`${HEAD}${LENGTH}content-length: 5\r\n\r\n${INPUT}${HIDDEN}`), ...refused },
  { name: 'two equal content-lengths', client: sends(`${HEAD}${LENGTH}${LENGTH}\r\n${INPUT}`), ...either },
  lengthSaid('with a plus', `+${INPUT.length}`), lengthSaid('below zero', '-1'), lengthSaid('in hexadecimal', '0x5f'),
  lengthSaid('as a list', `${INPUT.length}, ${INPUT.length}`, either), lengthSaid('as a list at odds', `${INPUT.length}, 5`),
  lengthSaid('past 64 bits', '99999999999999999999'), lengthSaid('of nothing', ''), lengthSaid('with a unit', `${INPUT.length} bytes`),
  lengthSaid('with zeros before it', `000${INPUT.length}`, either), lengthSaid('with a tab before it', `\t${INPUT.length}`, either),
  coding('xchunked', 'xchunked'), coding('identity', 'identity'), coding('chunked, identity', 'chunked, identity'), coding('gzip, chunked', 'gzip, chunked', mustRefuse),
  coding('chunked twice', 'chunked, chunked', mustRefuse), coding('in capitals', 'CHUNKED', taken()), coding('in quotes', '"chunked"'),
  coding('after a vertical tab', '\x0bchunked'), coding('with a NUL', 'chunked\0'), coding('as an empty list', ','), coding('of nothing', ''),
  coding('with a parameter', 'chunked;q=1'), coding('with a tab behind it', 'chunked\t', taken()),
  { name: 'transfer-encoding in two lines', client: sends(`${HEAD}transfer-encoding: chunked\r\ntransfer-encoding: identity\r\n\r\n${BODY}`), ...refused },
  { name: 'transfer-encoding in two lines, the last one chunked', client: sends(`${HEAD}transfer-encoding: identity\r\n${CHUNKED}${BODY}`), ...mustRefuse },
  { name: 'a space before the colon of transfer-encoding', client: sends(`${HEAD}transfer-encoding : chunked\r\n\r\n${BODY}`), ...refused },
  { name: 'a space before the colon of content-length', client: sends(`${HEAD}content-length : ${INPUT.length}\r\n\r\n${INPUT}`), ...refused },
  { name: 'a space before the name of transfer-encoding', client: sends(`${HEAD} transfer-encoding: chunked\r\n${LENGTH}\r\n${INPUT}`), ...refused },
  { name: 'transfer-encoding, folded', client: sends(`${HEAD}transfer-encoding:\r\n chunked\r\n\r\n${BODY}`), ...refused },
  { name: 'transfer-encoding after a bare carriage return', client: sends(`${HEAD}x-a: b\rtransfer-encoding: chunked\r\n${LENGTH}\r\n${INPUT}`), ...refused },
  { name: 'transfer-encoding after a bare line feed', client: sends(`${HEAD}x-a: b\ntransfer-encoding: chunked\r\n${LENGTH}\r\n${INPUT}`), got: [refused.got, '400 BAD_FRAMING'], refused: ['', 'malformed'], seen: none },
  { name: 'transfer_encoding with an underscore', client: sends(`${HEAD}transfer_encoding: chunked\r\n${LENGTH}\r\n${INPUT}`), ...taken() },
  { name: 'chunks in HTTP/1.0', client: sends(`${HEAD.replace('HTTP/1.1', 'HTTP/1.0')}${CHUNKED}${BODY}`), ...either },
  { name: 'a body without a length', client: sends(`${HEAD}\r\n${INPUT}`), got: /^(4\d\d|200)/, runs: ['', 'agent_status', 'finished', 'truncated'], refused: ['', 'malformed'], seen: seen => seen.some(r => r.body.length > 0) && 'a body' },
  { name: 'a GET with a body', client: sends(`GET /get HTTP/1.1\r\nhost: gate\r\naccept: text/event-stream\r\n${LENGTH}\r\n${INPUT}`), got: WHOLE, runs: 'finished', seen: one() },

  chunks('extensions of chunks', `${INPUT.length.toString(16)};a=b;c="d"\r\n${INPUT}\r\n0;last\r\n\r\n`, taken()),
  chunks('an extension with a bare line feed', `${INPUT.length.toString(16)};a\nb\r\n${INPUT}\r\n0\r\n\r\n`, { got: [broken.got, WHOLE], runs: ['', 'finished'], refused: ['', 'malformed'], seen: seen => seen.some(r => r.target.includes('hidden')) && 'what was hidden' }),
  chunks('a size in capitals with zeros', `000${INPUT.length.toString(16).toUpperCase()}\r\n${INPUT}\r\n0\r\n\r\n`, taken()),
  chunks('a size after 0x', `0x${INPUT.length.toString(16)}\r\n${INPUT}\r\n0\r\n\r\n`, broken),
  chunks('a size below zero', `-1\r\n${INPUT}\r\n0\r\n\r\n`, broken),
  chunks('a size with a space before it', ` ${INPUT.length.toString(16)}\r\n${INPUT}\r\n0\r\n\r\n`, broken),
  chunks('a size past 64 bits', `ffffffffffffffff1\r\n${INPUT}\r\n0\r\n\r\n`, broken),
  chunks('a size that wraps around', `1000000000000005f\r\n${INPUT}\r\n0\r\n\r\n`, broken),
  chunks('a chunk longer than its size', `5\r\n${INPUT}\r\n0\r\n\r\n`, broken),
  chunks('a chunk that ends with a bare line feed', `${INPUT.length.toString(16)}\r\n${INPUT}\n0\r\n\r\n`, broken),
  chunks('sizes with bare line feeds', `${INPUT.length.toString(16)}\n${INPUT}\r\n0\r\n\r\n`, broken),
  chunks('a NUL in a size', `\0${INPUT.length.toString(16)}\r\n${INPUT}\r\n0\r\n\r\n`, broken),
  chunks('trailers that name what frames and admits', `${sized(INPUT)}0\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\nhost: other\r\nauthorization: x\r\nx-forwarded-for: 9.9.9.9\r\n\r\n`,
    { got: WHOLE, runs: 'finished', seen: one(r => (r.trailers ?? []).find(line => /^(content-length|transfer-encoding|host|authorization|x-forwarded)/i.test(line)) && `the trailers ${r.trailers}`) }),
];

const with_ = (lines, more) => ({ client: sends(`${HEAD}${LENGTH}${lines}\r\n${INPUT}`), ...taken(more) });
const bad = lines => ({ client: sends(`${HEAD}${LENGTH}${lines}\r\n${INPUT}`), ...refused });
const target = (start, how) => ({ client: sends(`${start}\r\nhost: gate\r\naccept: text/event-stream\r\ncontent-type: application/json\r\n${LENGTH}\r\n${INPUT}`), ...how });
const asked = wanted => request => (`${request.method} ${request.target}` === wanted ? undefined : `${request.method} ${request.target}`);

export const heads = [
  { name: 'connection names content-length', ...with_('connection: close, content-length\r\n') },
  { name: 'connection names host', ...with_('connection: close, host\r\n') },
  { name: 'connection names x-forwarded-for', ...with_('connection: close, x-forwarded-for, x-forwarded-host\r\nx-forwarded-for: 9.9.9.9\r\n', having('x-forwarded-for', '127.0.0.1')) },
  { name: 'connection names a header of its own', ...with_('connection: close, x-secret\r\nx-secret: 1\r\n', without('x-secret')) },
  { name: 'keep-alive, te, proxy-connection, upgrade', ...with_('keep-alive: 5\r\nte: gzip\r\nproxy-connection: close\r\nupgrade: h2c\r\nhttp2-settings: AAMA\r\nconnection: upgrade, http2-settings\r\n',
    r => ['keep-alive', 'te', 'proxy-connection', 'upgrade', 'http2-settings', 'connection'].map(name => without(name)(r)).find(Boolean)) },
  { name: 'an upgrade to a web socket', ...with_('upgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-key: x\r\n', without('upgrade')) },
  { name: 'names who it speaks for', ...with_('x-forwarded-for: 9.9.9.9\r\nforwarded: for=9.9.9.9\r\nx-forwarded-proto: https\r\n', r => having('x-forwarded-for', '127.0.0.1')(r) ?? having('x-forwarded-proto', 'http')(r)) },
  { name: 'expects 100-continue', ...with_('expect: 100-continue\r\n', without('expect')) },
  { name: 'a NUL in a header', ...bad('x-a: b\0c\r\n') },
  { name: 'a carriage return in a header', ...bad('x-a: b\rc\r\n') },
  { name: 'a folded header', ...bad('x-a: b\r\n c\r\n') },
  { name: 'a header without a colon', ...bad('nonsense\r\n') },
  { name: 'a header without a name', ...bad(': b\r\n') },
  { name: 'a name with a space', ...bad('x a: b\r\n') },
  { name: 'a name above ASCII', ...bad('x-\xe9: b\r\n') },
  { name: 'a value above ASCII', ...with_('x-a: \xe9\xff\r\n', having('x-a', '\xe9\xff')) },
  { name: 'a head with bare line feeds', client: sends(`${HEAD}${LENGTH}\r\n`.replaceAll('\r\n', '\n') + INPUT), ...either },
  { name: 'empty lines before the request', client: sends(`\r\n\r\n${post()}`), ...either },
  { name: 'two hosts', client: sends(`${HEAD}host: other\r\n${LENGTH}\r\n${INPUT}`), got: '400 BAD_HOST', refused: 'malformed', seen: none },
  { name: 'no host', client: sends(`${HEAD.replace('host: gate\r\n', '')}${LENGTH}\r\n${INPUT}`), ...either },
  { name: 'a host that is none', client: sends(`${HEAD.replace('host: gate', 'host: a b/c@d')}${LENGTH}\r\n${INPUT}`), ...either },
  { name: 'absolute form with another authority', ...target('POST http://other.example/x?y=1 HTTP/1.1', taken(asked('POST /agui/x?y=1'))) },
  { name: 'absolute form with a user', ...target('POST http://user:pass@other/x HTTP/1.1', either) },
  { name: 'two slashes before the path', ...target('POST //evil/x HTTP/1.1', { ...either, seen: seen => seen.some(r => !r.target.startsWith('/agui')) && seen[0].target }) },
  { name: 'a segment that climbs', ...target('POST /a/../../x HTTP/1.1', { got: '400 BAD_PATH', refused: 'malformed', seen: none }) },
  { name: 'a segment that climbs, in percents', ...target('POST /a/%2e%2E/x HTTP/1.1', { got: '400 BAD_PATH', refused: 'malformed', seen: none }) },
  { name: 'a segment that climbs, with a backslash', ...target('POST /a/..\\x HTTP/1.1', { got: /^4\d\d|^200/, runs: ['', 'finished'], refused: ['', 'malformed'] }) },
  { name: 'a fragment', ...target('POST /x#y HTTP/1.1', either) },
  { name: 'a NUL in the path', ...target('POST /x\0y HTTP/1.1', refused) },
  { name: 'a space in the path', ...target('POST /x y HTTP/1.1', refused) },
  { name: 'a tab in the path', ...target('POST /x\ty HTTP/1.1', refused) },
  { name: 'bytes above ASCII in the path', ...target('POST /\xff\xfe HTTP/1.1', either) },
  { name: 'a path that is no path', ...target('POST x HTTP/1.1', { ...refused, refused: ['', 'malformed', 'not_found'] }) },
  { name: 'a path of 60 KiB', ...target(`POST /${'x'.repeat(60_000)} HTTP/1.1`, { got: /^(414|431|200)/, runs: ['', 'finished'] }) },
  { name: 'a method that is none', ...target('P@ST / HTTP/1.1', refused) },
  { name: 'a method in small letters', ...target('post / HTTP/1.1', { got: /^(4\d\d|200)/, runs: ['', 'finished'] }) },
  { name: 'CONNECT', client: sends('CONNECT gate:80 HTTP/1.1\r\nhost: gate\r\n\r\n', 1, 'CONNECT'), got: /^4\d\d/, refused: ['', 'malformed', 'not_found'], seen: none },
  { name: 'the asterisk', client: sends('OPTIONS * HTTP/1.1\r\nhost: gate\r\n\r\n'), got: /^(4\d\d|200)/, runs: ['', 'finished'], refused: ['', 'malformed', 'not_found'] },
  { name: 'HTTP/0.9', client: sends('GET /\r\n\r\n'), got: [refused.got, 'closed'], seen: none },
  { name: 'HTTP/1.2', ...target('POST / HTTP/1.2', { ...either, got: [WHOLE, /^(4|5)\d\d/] }) },
  { name: 'HTTP/9.9', ...target('POST / HTTP/9.9', { ...refused, got: /^(4|5)\d\d|closed/ }) },
  { name: 'spaces in the request line', ...target('POST  /  HTTP/1.1', either) },
  { name: 'TLS where none is spoken', client: sends('\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'), got: [refused.got, 'closed', 'reset'], seen: none },
  { name: 'random bytes', client: sends(`\xfe\xff${'\x01\x80'.repeat(500)}\r\n\r\n`), got: [refused.got, 'closed', 'reset'], seen: none },
];

const three = n => post({ path: `/?p=${n}` });
export const pipelines = [
  { name: 'three requests at once', client: sends(three(1) + three(2) + three(3), 3), got: `${WHOLE} + ${WHOLE} + ${WHOLE}`, runs: { finished: 3 }, seen: 3 },
  { name: 'fifty requests at once', client: sends(three(1).repeat(50), 50), got: Array(50).fill(WHOLE).join(' + '), runs: { finished: 50 }, seen: 50 },
  { name: 'a refused request, then one that is not', client: sends(`${HEAD}${LENGTH}${CHUNKED}${BODY}${three(1)}`, 2), got: '400 BAD_FRAMING + closed', refused: 'malformed', seen: 0 },
  { name: 'a good request, then contradictory framing', client: sends(`${three(1)}${HEAD}${LENGTH}${CHUNKED}${BODY}`, 2), got: [`${WHOLE} + 400 BAD_FRAMING`], runs: 'finished', refused: 'malformed', seen: 1,
    known: 'the head of a request that came with the one before it is not looked at' },
  { name: 'a good request, then garbage', client: sends(`${three(1)}\x01\x02\r\n\r\n`, 2), got: new RegExp(`^${WHOLE} \\+ (400, no body|closed)`), runs: 'finished', seen: 1 },
  { name: 'a request behind a body with a length of 0', client: sends(`${HEAD}content-length: 0\r\n\r\n${three(1)}`, 2), got: /^(4\d\d|200).* \+ 200, 5 events, RUN_FINISHED$/, runs: ['finished', { finished: 2 }], seen: 2 },
  { name: 'a body over the limit, then a request', client: sends(`${head({ length: 70_000 })}${'x'.repeat(70_000)}${three(1)}`, 2), got: /^413 BODY_TOO_LARGE \+ (closed|reset)$/, refused: 'body', seen: 0 },
];
