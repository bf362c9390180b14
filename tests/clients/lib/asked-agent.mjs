// An agent as its authors would write it: the reference encoder writes each event, in the encoding that
// the request's `accept` asks for. It stops to write while nobody reads.
import http from 'node:http';
import { once } from 'node:events';
import { EventEncoder } from '@ag-ui/encoder';

/**
 * Answers every request with the events that `tell(request)` yields. Gives `{ url, accepts, written(), left(), close() }`:
 * the `accept` of each request, the bytes of bodies written so far, how many requests were given up by who made them.
 */
export async function startAskedAgent(tell) {
  const accepts = [];
  let written = 0, left = 0;
  const server = http.createServer(async (request, response) => {
    accepts.push(request.headers.accept);
    response.on('close', () => { left += response.writableFinished ? 0 : 1; });
    const encoder = new EventEncoder({ accept: request.headers.accept ?? '' });
    const type = encoder.getContentType(), closed = once(response, 'close');
    response.writeHead(200, { 'content-type': type });
    for (const event of tell(request)) {
      if (response.destroyed) return;
      const piece = type.startsWith('text/') ? Buffer.from(encoder.encodeSSE(event)) : encoder.encodeBinary(event);
      written += piece.length;
      if (!response.write(piece)) await Promise.race([once(response, 'drain'), closed]);
    }
    response.end();
  });
  await new Promise(done => server.listen(0, '127.0.0.1', done));
  return {
    url: `http://127.0.0.1:${server.address().port}/`,
    accepts,
    written: () => written,
    left: () => left,
    close() { server.closeAllConnections(); return new Promise(done => server.close(done)); },
  };
}
