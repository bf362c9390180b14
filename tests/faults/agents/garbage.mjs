// Agents that speak no HTTP, or break its grammar in the head of an answer.
import { randomBytes } from 'node:crypto';
import { END, FINISHED, START, STARTED, delta, frame } from '../lib/agent.mjs';

const RUN = [STARTED, START, delta('x'), END, FINISHED].map(frame).join('');
const NO_HEAD = { got: '502 UPSTREAM_TRUNCATED', runs: 'truncated' };
const WHOLE = { got: '200, 5 events, RUN_FINISHED', runs: 'finished' };
const REST = `content-type: text/event-stream\r\ncontent-length: ${RUN.length}\r\n\r\n${RUN}`;
const says =
  (bytes, ms = 3000) =>
  async c => {
    await c.write(bytes);
    await c.gone(ms);
  };
const either = { got: [WHOLE.got, NO_HEAD.got], runs: ['finished', 'truncated'] };

export const garbage = [
  { name: 'random bytes', agent: says(Buffer.concat([Buffer.from([0xff]), randomBytes(5000)])), ...NO_HEAD },
  { name: 'NUL bytes', agent: says(Buffer.alloc(3000)), ...NO_HEAD },
  { name: 'the greeting of an SSH server', agent: says('SSH-2.0-OpenSSH_9.6\r\n'), ...NO_HEAD },
  { name: 'a TLS alert', agent: says(Buffer.from([0x15, 3, 1, 0, 2, 2, 70])), ...NO_HEAD },
  { name: 'frames of HTTP/2', agent: says(Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 4, 1, 0, 0, 0, 0])), ...NO_HEAD },
  { name: 'a page without a head', agent: says('<html><body>hello</body></html>\r\n\r\n'), ...NO_HEAD },
  { name: 'events without a head', agent: says(RUN), ...NO_HEAD },
  { name: 'its own request back', agent: says('POST / HTTP/1.1\r\nhost: x\r\n\r\n'), ...NO_HEAD },
  {
    name: 'an answer before it is asked',
    agent: { at: 'connect', does: says(`HTTP/1.1 200 OK\r\n${REST}`) },
    got: [...either.got, '502 UPSTREAM_UNREACHABLE'],
    runs: ['finished', 'truncated', 'agent_unreachable'],
  },
  ...[
    'HTTP/1.1 20 OK',
    'HTTP/1.1 2000 OK',
    'HTTP/1.1 000 OK',
    'HTTP/1.1 ok',
    'HTTP/7.7 200 OK',
    'HTTP/1.1200 OK',
    'ICY 200 OK',
    'HTTP/1.1 200\x00OK',
  ].map(start => ({ name: `status line ${JSON.stringify(start)}`, agent: says(`${start}\r\n${REST}`), ...NO_HEAD })),
  { name: 'status line without a reason', agent: says(`HTTP/1.1 200\r\n${REST}`), ...WHOLE },
  { name: 'status 999', agent: says('HTTP/1.1 999 What\r\ncontent-length: 2\r\n\r\nhi'), got: '999', runs: 'agent_status' },
  { name: 'a NUL in a header', agent: says(`HTTP/1.1 200 OK\r\nx-a: b\x00c\r\n${REST}`), ...NO_HEAD },
  { name: 'a space in the name of a header', agent: says(`HTTP/1.1 200 OK\r\nx a: b\r\n${REST}`), ...NO_HEAD },
  { name: 'a header without a colon', agent: says(`HTTP/1.1 200 OK\r\nnonsense\r\n${REST}`), ...NO_HEAD },
  { name: 'a carriage return inside a header', agent: says(`HTTP/1.1 200 OK\r\nx-a: b\rset-cookie: c\r\n${REST}`), ...NO_HEAD },
  { name: 'a folded header', agent: says(`HTTP/1.1 200 OK\r\nx-a: b\r\n c\r\n${REST}`), ...WHOLE },
  {
    name: 'a head with bare line feeds',
    agent: says(`HTTP/1.1 200 OK\n${REST.replace('\r\n\r\n', '\n\n').replace('\r\n', '\n')}`),
    ...WHOLE,
  },
  { name: 'bytes above ASCII in a header', agent: says(Buffer.from(`HTTP/1.1 200 OK\r\nx-a: \xe9\xff\r\n${REST}`, 'latin1')), ...WHOLE },
  {
    name: 'endless headers',
    agent: async c => {
      await c.write('HTTP/1.1 200 OK\r\n');
      await c.pours('x-h: 1\r\n'.repeat(100), 5000);
    },
    ...NO_HEAD,
  },
  {
    name: 'an endless header line',
    agent: async c => {
      await c.write('HTTP/1.1 200 OK\r\nx-h: ');
      await c.pours('y'.repeat(10_000), 5000);
    },
    ...NO_HEAD,
  },
  {
    name: 'an endless status line',
    agent: async c => {
      await c.write('HTTP/1.1 200 ');
      await c.pours('O'.repeat(10_000), 5000);
    },
    ...NO_HEAD,
  },
  {
    name: 'a thousand interim answers before the real one',
    agent: says(`${'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'.repeat(1000)}HTTP/1.1 200 OK\r\n${REST}`),
    ...WHOLE,
  },
  {
    name: 'endless interim answers',
    agent: c => c.pours('HTTP/1.1 102 Processing\r\n\r\n'.repeat(10), 6000),
    got: '504 FIRST_EVENT_TIMEOUT',
    runs: 'timeout_first_event',
  },
  {
    name: 'an interim answer with a length',
    agent: says(`HTTP/1.1 100 Continue\r\ncontent-length: 5\r\n\r\nHTTP/1.1 200 OK\r\n${REST}`),
    ...either,
  },
  {
    name: 'switches protocols, unasked',
    agent: says('HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n\x81\x05hello'),
    got: /^502 UPSTREAM_/,
    runs: ['truncated', 'agent_status'],
  },
];
