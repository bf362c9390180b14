// An agent whose every answer is a function: it is given the request and the means to write, and decides itself when.
// The request's `x-script` header names the script, without one the path does. It knows nothing of events.
import http from 'node:http';
import { once } from 'node:events';
import { sleep } from '../../clients/lib/net.mjs';
import { die } from './random.mjs';

/**
 * Gives `{ url, put(name, script), asked(name), close() }`. A script is called with `{ response, write }`: `write(piece)`
 * waits where nobody reads, and gives false once nobody will. `asked` has `{ headers, body }` of the last request.
 */
export async function startScriptedAgent() {
  const scripts = new Map(), asked = new Map();
  const server = http.createServer(async (request, response) => {
    const name = request.headers['x-script'] ?? request.url, parts = [];
    for await (const part of request) parts.push(part);
    asked.set(name, { headers: request.headers, body: Buffer.concat(parts) });
    const script = scripts.get(name);
    if (!script) { response.writeHead(404).end(`no script ${name}`); return; }
    const closed = once(response, 'close');
    const write = async piece => {
      if (response.destroyed) return false;
      if (!response.write(piece)) await Promise.race([once(response, 'drain'), closed]);
      return !response.destroyed;
    };
    await script({ response, write });
  });
  await new Promise(done => server.listen(0, '127.0.0.1', done));
  return {
    url: `http://127.0.0.1:${server.address().port}/`,
    put: (name, script) => { scripts.set(name, script); },
    asked: name => asked.get(name),
    close() { server.closeAllConnections(); return new Promise(done => server.close(done)); },
  };
}

export const SSE = { 'content-type': 'text/event-stream' };

/** How long the pauses of one stream may last together. */
const PAUSED = 400;

/**
 * The script of a stream `{ status, headers, pieces, cut }`: some pieces leave together, some a moment apart, and now
 * and then a pause is longer than a window.
 */
export const withPauses = (stream, seed) => async ({ response, write }) => {
  const { below, happens } = die(seed);
  let left = PAUSED;
  response.writeHead(stream.status ?? 200, stream.headers ?? SSE);
  response.flushHeaders();
  for (const piece of stream.pieces) {
    if (!await write(piece)) return;
    if (happens(0.5)) continue;
    const pause = happens(0.25) ? 36 + below(12) : below(7);
    if (pause > left) continue;
    left -= pause;
    await sleep(pause);
  }
  if (!stream.cut) { response.end(); return; }
  await sleep(60); // the bytes first, then the cut
  response.socket?.destroy();
};
