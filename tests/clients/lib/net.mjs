// Small things about sockets and waiting that every suite needs.
import http from 'node:http';
import net from 'node:net';

export const sleep = ms => new Promise(done => setTimeout(done, ms));

/** A port that was free a moment ago; never the same twice in one process. */
const taken = new Set();
export async function freePort() {
  for (;;) {
    const probe = net.createServer();
    await new Promise(done => probe.listen(0, '127.0.0.1', done));
    const { port } = probe.address();
    await new Promise(done => probe.close(done));
    if (!taken.has(port)) { taken.add(port); return port; }
  }
}

/** Calls `ask` until it gives something true, at most for `ms`; gives the last answer. */
export async function until(ms, ask) {
  const end = Date.now() + ms;
  for (;;) {
    const answer = await ask();
    if (answer || Date.now() > end) return answer;
    await sleep(20);
  }
}

/**
 * One request, the whole answer as bytes. `ended` is false where the body was cut instead of ended;
 * the bytes that came before the cut are kept.
 */
export function exchange(url, { method = 'GET', headers = {}, body } = {}) {
  return new Promise((done, fail) => {
    const bytes = body === undefined ? undefined : Buffer.from(body);
    const request = http.request(url, {
      method,
      agent: false,
      headers: { ...headers, ...(bytes && { 'content-length': bytes.length }) },
    }, response => {
      const parts = [];
      let over = false;
      const finish = ended => {
        if (over) return;
        over = true;
        done({ status: response.statusCode, headers: response.headers, body: Buffer.concat(parts), ended });
      };
      response.on('data', part => parts.push(part));
      response.on('end', () => finish(response.complete));
      response.on('error', () => finish(false));
      response.on('close', () => finish(response.complete));
    });
    request.on('error', fail);
    request.setTimeout(20_000, () => request.destroy(new Error(`no answer within 20 s: ${url}`)));
    request.end(bytes);
  });
}

/** The input of a plain run. */
export const INPUT = '{"threadId":"thread-1","runId":"run-1","messages":[],"state":{},"tools":[],"context":[],"forwardedProps":{}}';

/** The answer to one plain request for a run, in bytes. */
export const askForRun = (target, headers, accept, body = INPUT) =>
  exchange(target.url, { method: 'POST', body, headers: { ...headers, 'content-type': 'application/json', accept } });
