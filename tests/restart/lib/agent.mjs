// An agent whose runs take a while: a few events, paced.
import { once } from 'node:events';
import { createServer } from 'node:http';

const sleep = ms => new Promise(done => setTimeout(done, ms));
const frame = event => `data: ${JSON.stringify(event)}\n\n`;

/** An agent that says `deltas` words, one every `pace` milliseconds. */
export async function paced(deltas, pace) {
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const piece of request) body += piece;
    const { threadId, runId } = JSON.parse(body);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(frame({ type: 'RUN_STARTED', threadId, runId }));
    response.write(frame({ type: 'TEXT_MESSAGE_START', messageId: runId, role: 'assistant' }));
    for (let n = 0; n < deltas; n++) {
      await sleep(pace);
      response.write(frame({ type: 'TEXT_MESSAGE_CONTENT', messageId: runId, delta: `${n} ` }));
    }
    response.write(frame({ type: 'TEXT_MESSAGE_END', messageId: runId }));
    response.end(frame({ type: 'RUN_FINISHED', threadId, runId }));
  });
  server.keepAliveTimeout = 120_000;
  server.listen(0, '127.0.0.1', 4096);
  await once(server, 'listening');
  return { url: `http://127.0.0.1:${server.address().port}/`, close: () => { server.closeAllConnections(); server.close(); } };
}

/** Why this is not the whole of a run, if it is not. */
export function lacks(text, runId, deltas) {
  const events = text.split('\n\n').filter(Boolean).map(part => part.split('\n').find(line => line.startsWith('data: ')))
    .filter(Boolean).map(line => JSON.parse(line.slice(6)));
  const said = events.filter(event => event.type === 'TEXT_MESSAGE_CONTENT').map(event => event.delta).join('');
  const wanted = Array.from({ length: deltas }, (_, n) => `${n} `).join('');
  if (events[0]?.runId !== runId) return 'it does not begin as that run';
  if (events.at(-1)?.type !== 'RUN_FINISHED') return `it ends with ${JSON.stringify(events.at(-1))}`;
  return said === wanted ? undefined : `it says "${said}"`;
}
