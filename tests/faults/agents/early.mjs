// Agents that answer before they have read the request: refusals, streams, and nothing at all.
import { END, FINISHED, START, STARTED, delta, frame } from '../lib/agent.mjs';
import { head, longInput } from '../lib/peer.mjs';

const RUN = [STARTED, START, delta('x'), END, FINISHED].map(frame).join('');
const body = longInput(60_000);

/** Sends a first part of the body, and the rest once the answer has begun, or after 300 ms. */
async function inTwoParts({ connect }, fault) {
  const peer = await connect();
  await peer.send(head({ path: fault.path, length: body.length }) + body.slice(0, 20_000));
  await peer.has('HTTP/1.1', 500);
  await peer.send(body.slice(20_000));
  return peer.answers();
}

/** Sends a first part of the body and never the rest. */
async function half({ connect }, fault) {
  const peer = await connect();
  await peer.send(head({ path: fault.path, length: body.length }) + body.slice(0, 20_000));
  return peer.answers();
}

const atHead = does => ({ at: 'head', does });
const says = bytes =>
  atHead(async c => {
    await c.write(bytes);
    await c.gone(3000);
  });
const saysAndCloses = bytes =>
  atHead(async c => {
    await c.write(bytes);
    await c.sleep(50);
    c.end();
    await c.gone(3000);
  });
const saysAndResets = bytes =>
  atHead(async c => {
    await c.write(bytes);
    await c.sleep(150);
    c.reset();
  });

const NO = 'HTTP/1.1 413 Too Large\r\ncontent-type: text/plain\r\ncontent-length: 3\r\n\r\nno!';
const WHO = 'HTTP/1.1 401 Unauthorized\r\ncontent-type: text/plain\r\nconnection: close\r\ncontent-length: 4\r\n\r\nwho?';
const STREAM = `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: ${RUN.length}\r\n\r\n${RUN}`;
const HALF = `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: ${RUN.length}\r\n\r\n${frame(STARTED)}`;

export const early = ['whose body still comes', 'whose body never comes'].flatMap((when, n) => {
  const client = n ? half : inTwoParts;
  return [
    { name: `413 to a request ${when}`, agent: says(NO), client, got: '413 text/plain', runs: ['agent_status', ''] },
    { name: `413 and a close to a request ${when}`, agent: saysAndCloses(NO), client, got: '413 text/plain', runs: ['agent_status', ''] },
    { name: `413 and a reset to a request ${when}`, agent: saysAndResets(NO), client, got: '413 text/plain', runs: ['agent_status', ''] },
    { name: `401 and a close to a request ${when}`, agent: saysAndCloses(WHO), client, got: '401 text/plain', runs: ['agent_status', ''] },
    { name: `a whole stream to a request ${when}`, agent: says(STREAM), client, got: '200, 5 events, RUN_FINISHED', runs: 'finished' },
    {
      name: `a whole stream and a close to a request ${when}`,
      agent: saysAndCloses(STREAM),
      client,
      got: '200, 5 events, RUN_FINISHED',
      runs: 'finished',
    },
    {
      name: `half a stream and a close to a request ${when}`,
      agent: saysAndCloses(HALF),
      client,
      got: '200, 2 events, RUN_ERROR UPSTREAM_TRUNCATED',
      runs: 'truncated',
    },
    {
      name: `half a stream and a reset to a request ${when}`,
      agent: saysAndResets(HALF),
      client,
      got: '200, 2 events, RUN_ERROR UPSTREAM_TRUNCATED',
      runs: 'truncated',
    },
    {
      name: `half a stream and silence to a request ${when}`,
      agent: atHead(async c => {
        await c.write(HALF);
        await c.gone(9000);
      }),
      client,
      got: '200, 2 events, RUN_ERROR IDLE_TIMEOUT',
      runs: 'timeout_idle',
    },
  ];
});
