// Clients that leave, at every moment of an exchange, or read and write slowly.
import { END, FINISHED, START, STARTED, delta, frame, healthy } from '../lib/agent.mjs';
import { until } from '../../clients/lib/net.mjs';
import { chunkedHead, head, longInput, post } from '../lib/peer.mjs';

/** Leaves by a close and by a reset, after `before` has been done with its connection. */
const both = (when, before, rest) =>
  ['closes', 'resets'].map(how => ({
    name: `${how} ${when}`,
    got: 'left',
    ...rest,
    client: async (context, fault) => {
      const peer = await context.connect();
      await before(peer, context);
      if (how === 'closes') peer.leave();
      else peer.reset();
      if (fault.runs === 'client_gone' && !(await until(4000, async () => context.agent.open.size === 0)))
        return 'left, and the agent goes on';
      return 'left';
    },
  }));

const waits = async c => {
  await c.gone(9000);
};
const begins = async c => {
  await c.head();
  await c.events(STARTED, START);
  await c.gone(9000);
};
const sees = text => peer => peer.has(text);
const asks = async peer => {
  await peer.send(post());
};
const seen = ({ agent }) => until(4000, async () => agent.seen.length > 0);

export const leaving = [
  ...both('as soon as it has connected', async () => {}, { seen: 0 }),
  ...both('in the middle of the request line', peer => peer.send('POST / HT'), { seen: 0 }),
  ...both('in the middle of the head', peer => peer.send(head().slice(0, 60)), { seen: 0 }),
  ...both(
    'after the head',
    async (peer, context) => {
      await peer.send(head());
      await seen(context);
    },
    { refused: ['', 'malformed'], seen: 1 },
  ),
  ...both(
    'in the middle of the body',
    async (peer, context) => {
      await peer.send(head({ length: 50_000 }) + longInput(50_000).slice(0, 30_000));
      await seen(context);
    },
    { refused: ['', 'malformed'], seen: 1 },
  ),
  ...both(
    'in the middle of a chunk',
    async (peer, context) => {
      await peer.send(`${chunkedHead()}ff\r\n{"threadId":"t"`);
      await seen(context);
    },
    { refused: ['', 'malformed'], seen: 1 },
  ),
  ...both(
    'before the agent answers',
    async (peer, context) => {
      await asks(peer);
      await seen(context);
    },
    { agent: waits, runs: 'client_gone', seen: 1 },
  ),
  ...both(
    'as soon as the head is there',
    async peer => {
      await asks(peer);
      await sees('200 OK')(peer);
    },
    {
      agent: async c => {
        await c.head();
        await waits(c);
      },
      runs: 'client_gone',
    },
  ),
  ...both(
    'between two events',
    async peer => {
      await asks(peer);
      await sees('TEXT_MESSAGE_START')(peer);
    },
    { agent: begins, runs: 'client_gone' },
  ),
  ...both(
    'while an event comes',
    async peer => {
      await asks(peer);
      await sees('TEXT_MESSAGE_START')(peer);
    },
    {
      agent: async c => {
        await c.head();
        await c.events(STARTED, START);
        await c.chunk('data: {"type":"TEXT_MES');
        await waits(c);
      },
      runs: 'client_gone',
    },
  ),
  ...both(
    'in the middle of a flood',
    async peer => {
      await asks(peer);
      await sees('and on')(peer);
    },
    {
      agent: async c => {
        await c.head();
        await c.events(STARTED, START);
        await c.pours(`${frame(delta('and on')).repeat(50).length.toString(16)}\r\n${frame(delta('and on')).repeat(50)}\r\n`);
      },
      runs: 'client_gone',
    },
  ),
  ...both(
    'at the terminal event, before the body ends',
    async peer => {
      await asks(peer);
      await sees('RUN_FINISHED')(peer);
    },
    {
      agent: async c => {
        await c.head();
        await c.events(STARTED, START, END, FINISHED);
        await waits(c);
      },
      runs: 'finished',
    },
  ),
  ...both(
    'after the whole answer',
    async peer => {
      await asks(peer);
      await sees('0\r\n\r\n')(peer);
    },
    {
      agent: async c => {
        await c.head();
        await c.events(STARTED, START, END, FINISHED);
        await c.last();
      },
      runs: 'finished',
    },
  ),
  ...both(
    'with three requests under way on one connection',
    async (peer, context) => {
      await peer.send(post().repeat(3));
      await seen(context);
    },
    { agent: waits, runs: 'client_gone', seen: 1 },
  ),
  {
    name: 'shuts down its writing side after the request',
    client: async ({ connect }) => {
      const peer = await connect();
      await peer.send(post());
      peer.socket.end();
      return peer.answers();
    },
    agent: async (c, request) => {
      await c.sleep(200);
      await healthy(c, request);
    },
    got: ['200, 5 events, RUN_FINISHED', 'closed'],
    runs: ['finished', 'client_gone'],
  },
];

/** Reads a byte a second while the agent floods; other runs must not wait for it. */
async function readsSlowly(context) {
  const peer = await context.connect();
  peer.socket.removeAllListeners('data');
  peer.socket.on('readable', () => {});
  await peer.send(post());
  const begun = Date.now();
  let read = 0;
  while (Date.now() - begun < 7000 && !peer.how) {
    if (peer.socket.read(1)) read++;
    await new Promise(done => setTimeout(done, 1000));
  }
  const held = await context.gateway.metric('tidegate_held_bytes');
  peer.leave();
  return held > 4 << 20 ? `${held} bytes are held for it` : read > 2 ? 'some bytes' : 'no bytes';
}

/** Says this, then a byte every so many milliseconds, until it is answered. */
const writesSlowly =
  (first, rest, ms) =>
  async ({ connect }) => {
    const peer = await connect();
    await peer.send(first);
    for (const byte of rest) {
      if (peer.how || peer.length) break;
      await peer.send(byte);
      await new Promise(done => setTimeout(done, ms));
    }
    return peer.answers(1, 9000);
  };

const big = frame(delta('x'.repeat(30_000)));
export const slow = [
  {
    name: 'reads a byte a second of a flood',
    client: readsSlowly,
    agent: async c => {
      await c.head();
      await c.events(STARTED, START);
      await c.pours(`${big.length.toString(16)}\r\n${big}\r\n`, 7000);
    },
    got: 'some bytes',
    runs: ['timeout_run', 'client_gone'],
    within: 9000,
  },
  {
    name: 'reads nothing of a flood',
    client: async ({ connect }) => {
      const peer = await connect();
      peer.socket.pause();
      await peer.send(post());
      await peer.closed(8000);
      peer.leave();
      return 'left';
    },
    agent: async c => {
      await c.head();
      await c.events(STARTED, START);
      await c.pours(`${big.length.toString(16)}\r\n${big}\r\n`, 9000);
    },
    got: 'left',
    runs: 'timeout_run',
  },
  {
    name: 'writes its body a byte every 200 ms',
    client: writesSlowly(head(), post().slice(head().length), 200),
    got: '408 BODY_TIMEOUT',
    refused: 'malformed',
  },
  {
    name: 'stops in the middle of its body',
    client: writesSlowly(head({ length: 500 }) + longInput(500).slice(0, 300), '', 100),
    got: '408 BODY_TIMEOUT',
    refused: 'malformed',
  },
  {
    name: 'stops in the middle of a chunk',
    client: writesSlowly(`${chunkedHead()}ff\r\n{"threadId":"t"`, '', 100),
    got: '408 BODY_TIMEOUT',
    refused: 'malformed',
  },
  {
    name: 'stops before the last chunk',
    client: writesSlowly(`${chunkedHead()}${longInput(200).length.toString(16)}\r\n${longInput(200)}\r\n`, '', 100),
    got: '408 BODY_TIMEOUT',
    refused: 'malformed',
  },
  {
    name: 'writes a chunk of one byte every 200 ms',
    client: writesSlowly(`${chunkedHead()}`, Array(40).fill('1\r\n{\r\n'), 200),
    got: '408 BODY_TIMEOUT',
    refused: 'malformed',
  },
];
