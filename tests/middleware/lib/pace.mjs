// What a throttle does to a paced run, as a real client meets it: the same run with and without it, side by side, so
// that what the machine adds by itself is known for every token. Numbers come out, and what is wrong with them.
import { createRequire } from 'node:module';
import { sleep } from '../../clients/lib/net.mjs';
import { frame } from '../../clients/lib/sse.mjs';
import { SSE } from './scripted-agent.mjs';

const require = createRequire(new URL('../../versions/lib/client.mjs', import.meta.url));
const { HttpAgent } = require('client-1.0.0');

/** The run: two messages, each with so many tokens, one after another at this pace. */
export const RUN = { messages: 2, tokens: 125, perSecond: 50 };

/** How long a run waits before its first token, so that its connections are up and nothing of that is measured. */
const SETTLED = 300;

/** What is promised with `every = "50ms"`. */
export const PROMISED = { fewer: 0.6, p99: 60, first: 20 };

const TOKEN = /\d+/g;
let runs = 0;

/** A script that says the run and notes in `sent` when each token left. */
const paced = (sent, tokens) => async ({ response, write }) => {
  const say = event => write(frame(JSON.stringify(event)));
  response.writeHead(200, SSE);
  await say({ type: 'RUN_STARTED', threadId: 't1', runId: 'r1' });
  await sleep(SETTLED);
  const began = performance.now();
  for (let message = 0; message < RUN.messages; message += 1) {
    const messageId = `m${message}`;
    for (let n = 0; n < tokens; n += 1) {
      const token = message * tokens + n;
      const wait = began + (token * 1000) / RUN.perSecond - performance.now();
      if (wait > 0) await sleep(wait);
      if (n === 0) await say({ type: 'TEXT_MESSAGE_START', messageId, role: 'assistant' });
      sent[token] = performance.now();
      await say({ type: 'TEXT_MESSAGE_CONTENT', messageId, delta: `${token} ` });
    }
    await say({ type: 'TEXT_MESSAGE_END', messageId });
  }
  await say({ type: 'RUN_FINISHED', threadId: 't1', runId: 'r1' });
  response.end();
};

/** The run through `url`: the client's events, its text, and for each token how long it was on its way. */
async function played(agent, url, tokens = RUN.tokens) {
  const sent = [], late = [];
  const script = `paced-${++runs}`;
  agent.put(script, paced(sent, tokens));
  let events = 0;
  const client = new HttpAgent({ url, threadId: 't1', headers: { 'x-script': script } });
  await client.runAgent({ runId: 'r1' }, {
    onEvent({ event }) {
      events += 1;
      if (event.type !== 'TEXT_MESSAGE_CONTENT') return;
      for (const [token] of event.delta.matchAll(TOKEN)) late[token] = performance.now() - sent[token];
    },
  });
  return { events, late, text: client.messages.map(message => message.content).join('|') };
}

/** Lets the client and the agent do once what is slow only the first time. */
export const warmed = agent => played(agent, agent.url, 10);

/**
 * `events` are those of both, `late` how long each token was on its way without and with a throttle, in ms, and `first`
 * by how much each first delta was later than usual.
 */
export async function measured(agent, plain, throttled) {
  const [without, through] = await Promise.all([plain, throttled].map(url => played(agent, url)));
  const first = Array.from({ length: RUN.messages }, (_, message) => message * RUN.tokens);
  return {
    events: [without.events, through.events],
    fewer: 1 - through.events / without.events,
    late: [without.late, through.late],
    first: first.map(token => through.late[token] - quantile(without.late, 0.5)),
    same: through.text === without.text && through.late.length === RUN.messages * RUN.tokens,
  };
}

/** The value that a share of the list does not exceed. */
export function quantile(list, share) {
  const sorted = [...list].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)];
}

/**
 * By how much a quantile of being late grows. A delay that is never above some bound cannot move it by more than that,
 * however slow the machine is at times.
 */
const added = ({ late }, share) => quantile(late[1], share) - quantile(late[0], share);

const ms = value => `${value.toFixed(1)} ms`;

/** What of the promises is not kept. */
export function faults(run) {
  const { fewer, first, same } = run, p99 = added(run, 0.99), late = Math.max(...first);
  return [
    same ? '' : 'the text is not the same',
    fewer >= PROMISED.fewer ? '' : `${(fewer * 100).toFixed(1)} % fewer events, wanted ${PROMISED.fewer * 100} %`,
    p99 <= PROMISED.p99 ? '' : `p99 of the added delay is ${ms(p99)}, wanted ${PROMISED.p99} ms`,
    late <= PROMISED.first ? '' : `a first delta is ${ms(late)} late, wanted ${PROMISED.first} ms`,
  ].filter(Boolean);
}

/** One line for whoever reads the log. */
export const told = run =>
  `${run.events[0]} events became ${run.events[1]} (${(run.fewer * 100).toFixed(1)} % fewer); added delay p50 ${ms(added(run, 0.5))}, p99 ${ms(added(run, 0.99))}, `
  + `first deltas ${run.first.map(ms).join(', ')}; without a throttle p50 ${ms(quantile(run.late[0], 0.5))}, p99 ${ms(quantile(run.late[0], 0.99))}`;
