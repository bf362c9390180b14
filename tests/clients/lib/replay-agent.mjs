// An agent that says what a script says: status, headers, pieces of a body, a proper end or a cut.
// The request's `x-script` header names the script. It knows nothing of events.
import http from 'node:http';

/** Gives `{ url, put(name, script), asked(name), headers(name), close() }`. A script: `{ status, headers, pieces, cut }`. */
export async function startReplayAgent() {
  const scripts = new Map(), asked = new Map(), headers = new Map();
  const server = http.createServer(async (request, response) => {
    const name = request.headers['x-script'];
    const parts = [];
    for await (const part of request) parts.push(part);
    asked.set(name, Buffer.concat(parts));
    headers.set(name, request.headers);
    const script = scripts.get(name);
    if (!script) { response.writeHead(404).end(`no script ${name}`); return; }
    response.writeHead(script.status ?? 200, script.headers ?? { 'content-type': 'text/event-stream' });
    response.flushHeaders();
    for (const piece of script.pieces) {
      response.write(piece);
      await new Promise(done => setImmediate(done)); // so that each piece leaves by itself
    }
    if (!script.cut) { response.end(); return; }
    await new Promise(done => setTimeout(done, 100)); // the bytes first, then the cut
    response.socket.destroy();
  });
  await new Promise(done => server.listen(0, '127.0.0.1', done));
  return {
    url: `http://127.0.0.1:${server.address().port}/`,
    put: (name, script) => { scripts.set(name, script); },
    /** The body of the last request for this script. */
    asked: name => asked.get(name),
    /** The headers of that request. */
    headers: name => headers.get(name),
    close() { server.closeAllConnections(); return new Promise(done => server.close(done)); },
  };
}

/** `body` in pieces of `size` bytes. */
export function split(body, size) {
  const pieces = [];
  for (let at = 0; at < body.length; at += size) pieces.push(body.subarray(at, at + size));
  return pieces;
}
