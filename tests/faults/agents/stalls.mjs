// Agents that stop saying anything, or go on for ever, at every moment of an exchange.
import { END, FINISHED, START, STARTED, delta, frame } from '../lib/agent.mjs';
import { longInput, post } from '../lib/peer.mjs';

const LATE = '504 FIRST_EVENT_TIMEOUT';
const until = (does, more) => ({
  agent: async c => {
    await does(c);
    await c.gone();
  },
  ...more,
});
const begun = async c => {
  await c.head();
  await c.events(STARTED, START);
};

/** Says this every 100 ms until the gateway has had enough. */
const drip = pieces => async c => {
  for (let n = 0; !c.isGone && n < 90; n++) {
    await c.chunk(pieces(n));
    await c.sleep(100);
  }
};

export const stalls = [
  {
    name: 'never reads the request',
    agent: {
      at: 'connect',
      does: c => {
        c.socket.pause();
        return c.gone();
      },
    },
    got: LATE,
    runs: 'timeout_first_event',
  },
  {
    name: 'never reads a request of 16 MiB',
    agent: {
      at: 'connect',
      does: c => {
        c.socket.pause();
        return c.sleep(5000);
      },
    },
    path: '/big',
    body: longInput(16 << 20),
    got: LATE,
    runs: 'timeout_first_event',
  },
  { name: 'never answers', ...until(async () => {}), got: LATE, runs: 'timeout_first_event' },
  {
    name: 'stalls in the middle of the head',
    ...until(c => c.write('HTTP/1.1 200 OK\r\ncontent-type: te')),
    got: LATE,
    runs: 'timeout_first_event',
  },
  {
    name: 'drips its head, a byte every 100 ms',
    agent: async c => {
      for (const byte of `HTTP/1.1 200 OK\r\nx-slow: ${'s'.repeat(60)}`) {
        if (!(await c.write(byte))) return;
        await c.sleep(100);
      }
    },
    got: LATE,
    runs: 'timeout_first_event',
  },
  {
    name: 'stalls after the head',
    ...until(c => c.head()),
    got: '200, 1 event, RUN_ERROR FIRST_EVENT_TIMEOUT',
    runs: 'timeout_first_event',
  },
  {
    name: 'sends nothing but comments',
    agent: async c => {
      await c.head();
      await drip(() => ': still here\n')(c);
    },
    got: '200, 1 event, RUN_ERROR FIRST_EVENT_TIMEOUT',
    runs: 'timeout_first_event',
  },
  {
    name: 'stalls in the middle of the first event',
    ...until(async c => {
      await c.head();
      await c.chunk('data: {"type":"RUN');
    }),
    got: '200, 1 event, RUN_ERROR FIRST_EVENT_TIMEOUT',
    runs: 'timeout_first_event',
  },
  { name: 'stalls between two events', ...until(begun), got: '200, 3 events, RUN_ERROR IDLE_TIMEOUT', runs: 'timeout_idle' },
  {
    name: 'stalls in the middle of an event',
    ...until(async c => {
      await begun(c);
      await c.chunk(frame(delta('x')).slice(0, -9));
    }),
    got: '200, 3 events, RUN_ERROR IDLE_TIMEOUT',
    runs: 'timeout_idle',
  },
  {
    name: 'stalls in the middle of a chunk',
    ...until(async c => {
      await begun(c);
      await c.write('ff\r\ndata: {"ty');
    }),
    got: '200, 3 events, RUN_ERROR IDLE_TIMEOUT',
    runs: 'timeout_idle',
  },
  {
    name: 'stalls after the terminal event',
    ...until(async c => {
      await begun(c);
      await c.events(END, FINISHED);
    }),
    got: '200, 4 events, RUN_FINISHED',
    runs: 'finished',
  },
  {
    name: 'drips one event, a byte every 100 ms',
    agent: async c => {
      await begun(c);
      await drip(n => `data: {"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"${'x'.repeat(99)}`[n])(c);
    },
    got: '200, 3 events, RUN_ERROR RUN_TIMEOUT',
    runs: 'timeout_run',
  },
  {
    name: 'goes on with comments for ever',
    agent: async c => {
      await begun(c);
      await drip(() => ': thinking\n\n')(c);
    },
    got: '200, 3 events, RUN_ERROR RUN_TIMEOUT',
    runs: 'timeout_run',
  },
  {
    name: 'goes on with events for ever',
    agent: async c => {
      await begun(c);
      await drip(() => frame(delta('and ')))(c);
    },
    got: /^200, [3-6]\d events, RUN_ERROR RUN_TIMEOUT$/,
    runs: 'timeout_run',
  },
  {
    name: 'floods with events for ever',
    agent: async c => {
      await begun(c);
      const events = frame(delta('and on ')).repeat(100);
      await c.pours(`${events.length.toString(16)}\r\n${events}\r\n`);
    },
    client: async ({ connect }) => {
      const peer = await connect();
      await peer.send(post());
      return peer.lastWords();
    },
    got: '200, many events, RUN_ERROR RUN_TIMEOUT',
    runs: 'timeout_run',
    within: 7500,
  },
  {
    name: 'stalls in a second run',
    ...until(async c => {
      await begun(c);
      await c.events(END, FINISHED, STARTED);
    }),
    got: '200, 6 events, RUN_ERROR IDLE_TIMEOUT',
    runs: { finished: 1, timeout_idle: 1 },
  },
];
