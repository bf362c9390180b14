// A client on a bad line: it takes a little of the answer at a time, later everything. Bytes come out.
import http from 'node:http';
import { INPUT, sleep } from '../../clients/lib/net.mjs';

/** How much is read in one step of the slow phase, and how often: 4 KiB a second. */
const STEP = 512, EVERY = 125;

/**
 * Asks for a run and reads slowly while `slow(ms)` is true of the time since the answer began, then as fast as it can.
 * Gives the whole body.
 */
export function readSlowly(url, headers, slow) {
  return new Promise((done, fail) => {
    const request = http.request(url, {
      method: 'POST', agent: false, highWaterMark: STEP,
      headers: { ...headers, 'content-type': 'application/json', accept: 'text/event-stream' },
    }, async response => {
      const parts = [], began = performance.now();
      response.on('error', fail);
      // What nobody takes stays in the socket: Node.js stops to read it at the mark of the stream.
      response.on('readable', () => {});
      while (slow(performance.now() - began)) {
        const part = response.read(Math.min(STEP, response.readableLength)) ?? null;
        if (part) parts.push(part);
        await sleep(EVERY);
      }
      response.removeAllListeners('readable');
      response.on('data', part => parts.push(part));
      response.on('end', () => done(Buffer.concat(parts)));
      response.resume();
    });
    request.on('error', fail);
    request.end(INPUT);
  });
}
