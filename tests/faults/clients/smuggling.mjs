// Requests that two readers may take for different ones. The agent must see exactly those that were meant, in a
// spelling that has one meaning; or the client is refused and the agent sees nothing.
import { head, INPUT, post } from '../lib/peer.mjs';
import { BODY, CHUNKED, either, HEAD, HIDDEN, LENGTH, mustRefuse, none, one, refused, sends, sized, taken, WHOLE } from './requests.mjs';

const lengthSaid = (name, value, how = refused) => ({
  name: `content-length ${name}`,
  client: sends(`${HEAD}content-length: ${value}\r\n\r\n${INPUT}${how === refused ? HIDDEN : ''}`),
  ...how,
});
const coding = (name, value, how = refused) => ({
  name: `transfer-encoding ${name}`,
  client: sends(`${HEAD}transfer-encoding: ${value}\r\n\r\n${BODY}${how === refused ? HIDDEN : ''}`),
  ...how,
});
const chunks = (name, body, how) => ({ name, client: sends(`${HEAD}${CHUNKED}${body}`), ...how });
const broken = {
  got: '400 BODY_BROKEN',
  refused: 'malformed',
  seen: seen => seen.some(request => !request.cut) && 'a request that looks whole',
};

export const framing = [
  {
    name: 'content-length, then chunks',
    client: sends(`${HEAD}${LENGTH}${CHUNKED}${BODY}`),
    got: '400 BAD_FRAMING',
    refused: 'malformed',
    seen: none,
  },
  {
    name: 'chunks, then content-length',
    client: sends(`${HEAD}transfer-encoding: chunked\r\n${LENGTH}\r\n${BODY}`),
    got: '400 BAD_FRAMING',
    refused: 'malformed',
    seen: none,
  },
  {
    name: 'CL.TE: a request hidden behind the last chunk',
    client: sends(`${HEAD}content-length: ${5 + HIDDEN.length}\r\n${CHUNKED}0\r\n\r\n${HIDDEN}`),
    got: '400 BAD_FRAMING',
    refused: 'malformed',
    seen: none,
  },
  {
    name: 'TE.CL: a request hidden in a chunk',
    client: sends(`${HEAD}content-length: 4\r\n${CHUNKED}${sized(HIDDEN)}0\r\n\r\n`),
    got: '400 BAD_FRAMING',
    refused: 'malformed',
    seen: none,
  },
  { name: 'two different content-lengths', client: sends(`${HEAD}${LENGTH}content-length: 5\r\n\r\n${INPUT}${HIDDEN}`), ...refused },
  { name: 'two equal content-lengths', client: sends(`${HEAD}${LENGTH}${LENGTH}\r\n${INPUT}`), ...either },
  lengthSaid('with a plus', `+${INPUT.length}`),
  lengthSaid('below zero', '-1'),
  lengthSaid('in hexadecimal', '0x5f'),
  lengthSaid('as a list', `${INPUT.length}, ${INPUT.length}`, either),
  lengthSaid('as a list at odds', `${INPUT.length}, 5`),
  lengthSaid('past 64 bits', '99999999999999999999'),
  lengthSaid('of nothing', ''),
  lengthSaid('with a unit', `${INPUT.length} bytes`),
  lengthSaid('with zeros before it', `000${INPUT.length}`, either),
  lengthSaid('with a tab before it', `\t${INPUT.length}`, either),
  coding('xchunked', 'xchunked'),
  coding('identity', 'identity'),
  coding('chunked, identity', 'chunked, identity'),
  coding('gzip, chunked', 'gzip, chunked', mustRefuse),
  coding('chunked twice', 'chunked, chunked', mustRefuse),
  coding('in capitals', 'CHUNKED', taken()),
  coding('in quotes', '"chunked"'),
  coding('after a vertical tab', '\x0bchunked'),
  coding('with a NUL', 'chunked\0'),
  coding('as an empty list', ','),
  coding('of nothing', ''),
  coding('with a parameter', 'chunked;q=1'),
  coding('with a tab behind it', 'chunked\t', taken()),
  {
    name: 'transfer-encoding in two lines',
    client: sends(`${HEAD}transfer-encoding: chunked\r\ntransfer-encoding: identity\r\n\r\n${BODY}`),
    ...refused,
  },
  {
    name: 'transfer-encoding in two lines, the last one chunked',
    client: sends(`${HEAD}transfer-encoding: identity\r\n${CHUNKED}${BODY}`),
    ...mustRefuse,
  },
  { name: 'a space before the colon of transfer-encoding', client: sends(`${HEAD}transfer-encoding : chunked\r\n\r\n${BODY}`), ...refused },
  {
    name: 'a space before the colon of content-length',
    client: sends(`${HEAD}content-length : ${INPUT.length}\r\n\r\n${INPUT}`),
    ...refused,
  },
  {
    name: 'a space before the name of transfer-encoding',
    client: sends(`${HEAD} transfer-encoding: chunked\r\n${LENGTH}\r\n${INPUT}`),
    ...refused,
  },
  { name: 'transfer-encoding, folded', client: sends(`${HEAD}transfer-encoding:\r\n chunked\r\n\r\n${BODY}`), ...refused },
  {
    name: 'transfer-encoding after a bare carriage return',
    client: sends(`${HEAD}x-a: b\rtransfer-encoding: chunked\r\n${LENGTH}\r\n${INPUT}`),
    ...refused,
  },
  {
    name: 'transfer-encoding after a bare line feed',
    client: sends(`${HEAD}x-a: b\ntransfer-encoding: chunked\r\n${LENGTH}\r\n${INPUT}`),
    got: [refused.got, '400 BAD_FRAMING'],
    refused: ['', 'malformed'],
    seen: none,
  },
  { name: 'transfer_encoding with an underscore', client: sends(`${HEAD}transfer_encoding: chunked\r\n${LENGTH}\r\n${INPUT}`), ...taken() },
  { name: 'chunks in HTTP/1.0', client: sends(`${HEAD.replace('HTTP/1.1', 'HTTP/1.0')}${CHUNKED}${BODY}`), ...either },
  {
    name: 'a body without a length',
    client: sends(`${HEAD}\r\n${INPUT}`),
    got: /^(4\d\d|200)/,
    runs: ['', 'agent_status', 'finished', 'truncated'],
    refused: ['', 'malformed'],
    seen: seen => seen.some(r => r.body.length > 0) && 'a body',
  },
  {
    name: 'a GET with a body',
    client: sends(`GET /get HTTP/1.1\r\nhost: gate\r\naccept: text/event-stream\r\n${LENGTH}\r\n${INPUT}`),
    got: WHOLE,
    runs: 'finished',
    seen: one(),
  },

  chunks('extensions of chunks', `${INPUT.length.toString(16)};a=b;c="d"\r\n${INPUT}\r\n0;last\r\n\r\n`, taken()),
  chunks('an extension with a bare line feed', `${INPUT.length.toString(16)};a\nb\r\n${INPUT}\r\n0\r\n\r\n`, {
    got: [broken.got, WHOLE],
    runs: ['', 'finished'],
    refused: ['', 'malformed'],
    seen: seen => seen.some(r => r.target.includes('hidden')) && 'what was hidden',
  }),
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
  chunks(
    'trailers that name what frames and admits',
    `${sized(INPUT)}0\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\nhost: other\r\nauthorization: x\r\nx-forwarded-for: 9.9.9.9\r\n\r\n`,
    {
      got: WHOLE,
      runs: 'finished',
      seen: one(
        r =>
          (r.trailers ?? []).find(line => /^(content-length|transfer-encoding|host|authorization|x-forwarded)/i.test(line)) &&
          `the trailers ${r.trailers}`,
      ),
    },
  ),
];

const three = n => post({ path: `/?p=${n}` });
export const pipelines = [
  {
    name: 'three requests at once',
    client: sends(three(1) + three(2) + three(3), 3),
    got: `${WHOLE} + ${WHOLE} + ${WHOLE}`,
    runs: { finished: 3 },
    seen: 3,
  },
  {
    name: 'fifty requests at once',
    client: sends(three(1).repeat(50), 50),
    got: Array(50).fill(WHOLE).join(' + '),
    runs: { finished: 50 },
    seen: 50,
  },
  {
    name: 'a refused request, then one that is not',
    client: sends(`${HEAD}${LENGTH}${CHUNKED}${BODY}${three(1)}`, 2),
    got: '400 BAD_FRAMING + closed',
    refused: 'malformed',
    seen: 0,
  },
  {
    name: 'a good request, then contradictory framing',
    client: sends(`${three(1)}${HEAD}${LENGTH}${CHUNKED}${BODY}`, 2),
    got: [`${WHOLE} + 400 BAD_FRAMING`],
    runs: 'finished',
    refused: 'malformed',
    seen: 1,
  },
  {
    name: 'a good request, then garbage',
    client: sends(`${three(1)}\x01\x02\r\n\r\n`, 2),
    got: new RegExp(`^${WHOLE} \\+ (400 BAD_REQUEST|closed)`),
    runs: 'finished',
    refused: 'malformed',
    seen: 1,
  },
  {
    name: 'a request behind a body with a length of 0',
    client: sends(`${HEAD}content-length: 0\r\n\r\n${three(1)}`, 2),
    got: /^(4\d\d|200).* \+ 200, 5 events, RUN_FINISHED$/,
    runs: ['finished', { finished: 2 }],
    seen: 2,
  },
  {
    name: 'a body over the limit, then a request',
    client: sends(`${head({ length: 70_000 })}${'x'.repeat(70_000)}${three(1)}`, 2),
    got: /^413 BODY_TOO_LARGE \+ (closed|reset)$/,
    refused: 'body',
    seen: 0,
  },
];
