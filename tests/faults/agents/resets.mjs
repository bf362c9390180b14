// Agents that break the connection, at every moment of an exchange.
import { END, FINISHED, START, STARTED, delta, frame } from '../lib/agent.mjs';
import { longInput, head } from '../lib/peer.mjs';

const CUT = '502 UPSTREAM_TRUNCATED';
const BROKEN = '200, 1 event, RUN_ERROR UPSTREAM_TRUNCATED';

/** Once with a reset and once with a proper close, after `before`. */
const both = (when, before, got, runs, rest) => [
  {
    name: `resets ${when}`,
    agent: async c => {
      await before(c);
      c.reset();
    },
    got,
    runs,
    ...rest,
  },
  {
    name: `closes ${when}`,
    agent: async c => {
      await before(c);
      c.end();
      await c.gone();
    },
    got,
    runs,
    ...rest,
  },
];

const begun = async c => {
  await c.head();
  await c.events(STARTED, START);
  await c.sleep(150);
};

export const resets = [
  { name: 'refuses the connection', path: '/nobody', got: '502 UPSTREAM_UNREACHABLE', runs: 'agent_unreachable', seen: 0 },
  {
    name: 'resets as soon as it has accepted',
    agent: { at: 'connect', does: c => c.reset() },
    got: [CUT, '502 UPSTREAM_UNREACHABLE'],
    runs: ['truncated', 'agent_unreachable'],
  },
  {
    name: 'closes as soon as it has accepted',
    agent: { at: 'connect', does: c => c.end() },
    got: [CUT, '502 UPSTREAM_UNREACHABLE'],
    runs: ['truncated', 'agent_unreachable'],
  },
  {
    name: 'resets in the middle of an upload',
    agent: { at: 'head', does: c => c.reset() },
    client: halfUpload,
    got: CUT,
    runs: ['', 'truncated'],
  },
  ...both('before the head', async () => {}, CUT, 'truncated', { seen: 1 }),
  ...both(
    'in the middle of the head',
    async c => {
      await c.write('HTTP/1.1 200 OK\r\ncontent-ty');
      await c.sleep(50);
    },
    CUT,
    'truncated',
    { seen: 1 },
  ),
  ...both(
    'after the head',
    async c => {
      await c.head();
      await c.sleep(150);
    },
    BROKEN,
    'truncated',
  ),
  ...both('between two events', begun, '200, 3 events, RUN_ERROR UPSTREAM_TRUNCATED', 'truncated'),
  ...both(
    'in the middle of the first event',
    async c => {
      await c.head();
      await c.chunk('data: {"type":"RUN_ST');
      await c.sleep(100);
    },
    BROKEN,
    'truncated',
  ),
  ...both(
    'in the middle of an event',
    async c => {
      await begun(c);
      await c.chunk('data: {"type":"TEXT_MES');
      await c.sleep(100);
    },
    '200, 3 events, RUN_ERROR UPSTREAM_TRUNCATED',
    'truncated',
  ),
  ...both(
    'in the middle of a chunk',
    async c => {
      await begun(c);
      await c.write('ff\r\ndata: {"type');
      await c.sleep(100);
    },
    '200, 3 events, RUN_ERROR UPSTREAM_TRUNCATED',
    'truncated',
  ),
  ...both(
    'in the middle of the size of a chunk',
    async c => {
      await begun(c);
      await c.write('1');
      await c.sleep(100);
    },
    '200, 3 events, RUN_ERROR UPSTREAM_TRUNCATED',
    'truncated',
  ),
  ...both(
    'inside a character',
    async c => {
      await begun(c);
      await c.chunk(Buffer.from(frame(delta('é'))).subarray(0, -7));
      await c.sleep(100);
    },
    '200, 3 events, RUN_ERROR UPSTREAM_TRUNCATED',
    'truncated',
  ),
  ...both(
    'after the terminal event, without the last chunk',
    async c => {
      await begun(c);
      await c.events(END, FINISHED);
      await c.sleep(150);
    },
    '200, 4 events, RUN_FINISHED',
    'finished',
  ),
  ...both(
    'after the last chunk',
    async c => {
      await begun(c);
      await c.events(END, FINISHED);
      await c.last();
    },
    '200, 4 events, RUN_FINISHED',
    'finished',
  ),
  ...both(
    'in the second run of a stream',
    async c => {
      await begun(c);
      await c.events(END, FINISHED, STARTED);
      await c.sleep(150);
    },
    '200, 6 events, RUN_ERROR UPSTREAM_TRUNCATED',
    { finished: 1, truncated: 1 },
  ),
  ...both(
    'after the head, where faults pass',
    async c => {
      await c.head();
      await c.events(STARTED);
      await c.sleep(150);
    },
    '200, 1 event, RUN_STARTED, NOT ENDED',
    'truncated',
    { path: '/pass' },
  ),
  ...both(
    'while text is held by a throttle',
    async c => {
      await begun(c);
      await c.events(delta('a'), delta('sk-12'));
    },
    /^200, [3-5] events, RUN_ERROR UPSTREAM_TRUNCATED$/,
    'truncated',
    { path: '/merge' },
  ),
  {
    name: 'ends without a terminal event',
    agent: async c => {
      await c.head();
      await c.events(STARTED);
      await c.last();
    },
    got: '200, 2 events, RUN_ERROR UPSTREAM_TRUNCATED',
    runs: 'truncated',
  },
  {
    name: 'ends without any event',
    agent: async c => {
      await c.head();
      await c.last();
    },
    got: BROKEN,
    runs: 'truncated',
  },
];

async function halfUpload({ connect }) {
  const peer = await connect();
  const body = longInput(60_000);
  await peer.send(head({ length: body.length }) + body.slice(0, 30_000));
  return peer.answers();
}
