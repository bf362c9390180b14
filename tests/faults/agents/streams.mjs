// Agents whose answer is proper HTTP, and whose stream is not what it should be: endless, coded, broken, or no stream.
import zlib from 'node:zlib';
import { END, FINISHED, START, STARTED, delta, frame } from '../lib/agent.mjs';

const RUN = [STARTED, START, delta('x'), END, FINISHED].map(frame).join('');
const HALF = [STARTED, START].map(frame).join('');
const WHOLE = { got: '200, 5 events, RUN_FINISHED', runs: 'finished' };
const TOO_LARGE = { got: '200, 3 events, RUN_ERROR FRAME_TOO_LARGE', runs: 'violation' };
const TRUNCATED = { got: '200, 3 events, RUN_ERROR UPSTREAM_TRUNCATED', runs: 'truncated' };
const MALFORMED = { path: '/strict', got: '200, 3 events, RUN_ERROR MALFORMED_FRAME', runs: 'violation' };

/** A whole answer with this body. */
const answers =
  (body, { status = '200 OK', type = 'text/event-stream', more = '' } = {}) =>
  async c => {
    const bytes = Buffer.from(body);
    await c.write(`HTTP/1.1 ${status}\r\n${type && `content-type: ${type}\r\n`}${more}content-length: ${bytes.length}\r\n\r\n`);
    await c.write(bytes);
  };
const pours =
  (text, ms = 6000) =>
  async c => {
    await c.head();
    await c.events(STARTED, START);
    const part = text.repeat(Math.ceil(20_000 / text.length));
    await c.write('fffffff\r\n');
    await pour(c, part, ms);
  };
const pour = async (c, part, ms) => {
  await c.write(part.startsWith('+') ? part.slice(1) : part);
  await c.pours(part, ms);
};
const opens = (opening, text) => async c => {
  await c.head();
  await c.events(STARTED, START);
  await c.write(`fffffff\r\n${opening}`);
  await c.pours(text.repeat(20_000), 6000);
};
const inside = payload => answers(`${HALF}${frame(payload)}${frame(END)}${frame(FINISHED)}`);

const coded = (name, bytes) => answers(bytes, { more: `content-encoding: ${name}\r\n` });
const bombs = {
  gzip: body => zlib.gzipSync(body, { level: 1 }),
  deflate: body => zlib.deflateSync(body, { level: 1 }),
  br: body => zlib.brotliCompressSync(body, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 1 } }),
};
const zeros = Buffer.alloc(16 << 20, 0x30);
const bomb = Buffer.concat([Buffer.from(`${HALF}data: {"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"`), zeros]);
const quietBomb = Buffer.concat([Buffer.from(`${HALF}: `), zeros, Buffer.from(`\n\n${frame(END)}${frame(FINISHED)}`)]);

const odd = [
  ['NUL bytes', '{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a\0b"}'],
  ['NaN', '{"type":"STATE_SNAPSHOT","snapshot":{"x":NaN}}'],
  ['half a JSON text', '{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","del'],
  ['no JSON at all', '\x01\x02 nonsense'],
  ['brackets, 100,000 deep', '['.repeat(100_000)],
];

export const streams = [
  { name: 'an endless data line', agent: opens('data: {"type":"CUSTOM","name":"', 'x'), ...TOO_LARGE },
  { name: 'endless data lines of one event', agent: pours('data: "x",\n'), ...TOO_LARGE },
  {
    name: 'an event a byte past the limit',
    agent: inside(delta('x'.repeat(256 * 1024 + 1 - JSON.stringify(delta('')).length))),
    ...TOO_LARGE,
  },
  { name: 'an event as long as the limit', agent: inside(delta('x'.repeat(256 * 1024 - JSON.stringify(delta('')).length))), ...WHOLE },
  {
    name: 'an endless first event',
    agent: async c => {
      await c.head();
      await c.write('fffffff\r\ndata: ');
      await c.pours('x'.repeat(20_000), 6000);
    },
    got: '200, 1 event, RUN_ERROR FRAME_TOO_LARGE',
    runs: 'violation',
  },
  {
    name: 'a comment of 8 MiB',
    agent: answers(`${HALF}: ${'c'.repeat(8 << 20)}\n\n${frame(END)}${frame(FINISHED)}`),
    got: '200, 4 events, RUN_FINISHED',
    runs: 'finished',
  },
  {
    name: 'the name of a field of 8 MiB',
    agent: answers(`${HALF}${'n'.repeat(8 << 20)}: x\n\n${frame(END)}${frame(FINISHED)}`),
    got: '200, 4 events, RUN_FINISHED',
    runs: 'finished',
  },
  {
    name: 'an id of 8 MiB',
    agent: answers(`${HALF}id: ${'i'.repeat(8 << 20)}\n${frame(END)}${frame(FINISHED)}`),
    got: '200, 4 events, RUN_FINISHED',
    runs: 'finished',
  },
  {
    name: 'a million empty lines',
    agent: answers(`${HALF}${'\n'.repeat(1_000_000)}${frame(END)}${frame(FINISHED)}`),
    got: '200, 4 events, RUN_FINISHED',
    runs: 'finished',
  },
  {
    name: '20,000 empty data lines',
    agent: answers(`${HALF}${'data\n\n'.repeat(20_000)}${frame(END)}${frame(FINISHED)}`),
    got: /^200, (4|20004) events, RUN_FINISHED$/,
    runs: 'finished',
  },
  { name: 'a stream cut inside an event, properly ended', agent: answers(HALF + frame(delta('x')).slice(0, -6)), ...TRUNCATED },

  ...odd.map(([what, payload]) => ({ name: `${what} in an event`, agent: inside(payload), ...WHOLE })),
  ...odd.map(([what, payload]) => ({ name: `${what} in an event, held to the protocol`, agent: inside(payload), ...MALFORMED })),
  ...odd.map(([what, payload]) => ({
    name: `${what} in an event, to be repaired`,
    agent: inside(payload),
    path: '/repair',
    got: /^200, \d events, RUN_(ERROR MALFORMED_FRAME|FINISHED)$/,
    runs: ['finished', 'violation'],
  })),
  ...odd.map(([what, payload]) => ({
    name: `${what} in an event, with every stage`,
    agent: inside(payload),
    path: '/merge',
    got: /^200, \d events, RUN_(ERROR MALFORMED_FRAME|FINISHED)$/,
    runs: ['finished', 'violation'],
  })),
  {
    name: 'invalid UTF-8 in an event',
    agent: answers(
      Buffer.concat([
        Buffer.from(HALF),
        Buffer.from('data: {"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"\xff\xfe\xed\xa0\x80"}\n\n', 'latin1'),
        Buffer.from(frame(END) + frame(FINISHED)),
      ]),
    ),
    ...WHOLE,
  },
  {
    name: 'invalid UTF-8 in an event, held to the protocol',
    agent: answers(
      Buffer.concat([
        Buffer.from(HALF),
        Buffer.from('data: {"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"\xff"}\n\n', 'latin1'),
        Buffer.from(frame(END) + frame(FINISHED)),
      ]),
    ),
    path: '/strict',
    got: [WHOLE.got, MALFORMED.got],
    runs: ['finished', 'violation'],
  },
  { name: 'garbage as the first event', agent: answers(`data: \x00\x01\n\n${RUN}`), got: '200, 6 events, RUN_FINISHED', runs: 'finished' },
  {
    name: 'a page called a stream',
    agent: answers('<html>\n\n<body>busy</body>\n\n</html>\n'),
    got: '200, 1 event, RUN_ERROR UPSTREAM_TRUNCATED',
    runs: 'truncated',
  },

  ...Object.entries(bombs).flatMap(([name, code]) => [
    { name: `a run in ${name}, though it was asked for none`, agent: coded(name, code(RUN)), ...WHOLE },
    { name: `a bomb in ${name}: one event of 16 MiB`, agent: coded(name, code(bomb)), ...TOO_LARGE },
    {
      name: `a bomb in ${name}: a comment of 16 MiB`,
      agent: coded(name, code(quietBomb)),
      got: '200, 4 events, RUN_FINISHED',
      runs: 'finished',
    },
    {
      name: `${name} that breaks off`,
      agent: coded(name, code(RUN).subarray(0, -12)),
      got: /^200, \d events, RUN_ERROR UPSTREAM_TRUNCATED$/,
      runs: 'truncated',
    },
    {
      name: `garbage called ${name}`,
      agent: coded(name, 'this is not coded'),
      got: '200, 1 event, RUN_ERROR UPSTREAM_TRUNCATED',
      runs: 'truncated',
    },
  ]),
  {
    name: 'gzip inside gzip',
    agent: answers(zlib.gzipSync(zlib.gzipSync(RUN)), { more: 'content-encoding: gzip, gzip\r\n' }),
    got: /^200, /,
    runs: ['finished', 'truncated', 'agent_status'],
  },
  { name: 'a coding that nobody knows', agent: coded('rot13', RUN), got: /^(200|502)/, runs: ['finished', 'truncated', 'agent_status'] },
];

export const answersOfOtherKinds = [
  { name: 'a page with 200', agent: answers('<html>login</html>', { type: 'text/html' }), got: '200 text/html', runs: 'agent_status' },
  {
    name: 'a page with 200, held to the protocol',
    agent: answers('<html>login</html>', { type: 'text/html' }),
    path: '/strict',
    got: '502 UPSTREAM_STATUS',
    runs: 'agent_status',
  },
  {
    name: 'a page with 200 that breaks off',
    agent: async c => {
      await c.write('HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 99\r\n\r\n<html>');
      await c.sleep(100);
      c.end();
    },
    got: '200 text/html, NOT ENDED',
    runs: 'agent_status',
  },
  {
    name: 'a page with 200 that stalls',
    agent: async c => {
      await c.write('HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 99\r\n\r\n<html>');
      await c.gone(9000);
    },
    got: '200 text/html, NOT ENDED',
    runs: 'agent_status',
    within: 9000,
  },
  { name: 'JSON with 200', agent: answers('{"ok":true}', { type: 'application/json' }), got: '200 application/json', runs: 'agent_status' },
  { name: 'a run without a content type', agent: answers(RUN, { type: '' }), got: '200', runs: 'agent_status' },
  { name: 'a run called text/plain', agent: answers(RUN, { type: 'text/plain' }), got: '200 text/plain', runs: 'agent_status' },
  { name: 'a stream with 500', agent: answers(RUN, { status: '500 Oops' }), got: '500 text/event-stream', runs: 'agent_status' },
  {
    name: 'a stream with 500, as an error',
    agent: answers(RUN, { status: '500 Oops' }),
    path: '/errors',
    got: '200, 1 event, RUN_ERROR UPSTREAM_STATUS',
    runs: 'agent_status',
  },
  {
    name: '500 with an endless body, as an error',
    agent: async c => {
      await c.write('HTTP/1.1 500 Oops\r\ncontent-type: text/html\r\n\r\n');
      await c.pours('x'.repeat(10_000), 6000);
    },
    path: '/errors',
    got: '200, 1 event, RUN_ERROR UPSTREAM_STATUS',
    runs: 'agent_status',
  },
  {
    name: '204 with a body',
    agent: answers(RUN, { status: '204 No Content' }),
    got: '204 text/event-stream, no body',
    runs: ['agent_status', 'truncated'],
  },
  {
    name: '304 with a body',
    agent: answers(RUN, { status: '304 Not Modified' }),
    got: '304 text/event-stream, no body',
    runs: 'agent_status',
  },
  {
    name: '205 with a body',
    agent: answers(RUN, { status: '205 Reset' }),
    got: /^20[05]/,
    runs: ['agent_status', 'finished', 'truncated'],
  },
  {
    name: 'a redirect',
    agent: answers('', { status: '302 Found', type: '', more: 'location: http://elsewhere/\r\n' }),
    got: '302, no body',
    runs: 'agent_status',
  },
  {
    name: '401 with a challenge',
    agent: answers('who?', { status: '401 Unauthorized', type: 'text/plain', more: 'www-authenticate: Basic\r\n' }),
    got: '401 text/plain',
    runs: 'agent_status',
  },
  {
    name: '429 as problem+json of its own',
    agent: answers('{"code":"SLOW_DOWN"}', { status: '429 Too Many', type: 'application/problem+json' }),
    got: '429 SLOW_DOWN',
    runs: 'agent_status',
  },
];
