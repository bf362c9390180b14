// Requests by the byte: their parts, and what may become of one that two readers may take for different ones.
import { INPUT } from '../lib/peer.mjs';

export const WHOLE = '200, 5 events, RUN_FINISHED';
export const HEAD = 'POST / HTTP/1.1\r\nhost: gate\r\ncontent-type: application/json\r\naccept: text/event-stream\r\n';
export const HIDDEN = 'GET /hidden HTTP/1.1\r\nhost: gate\r\n\r\n';
export const sized = text => `${text.length.toString(16)}\r\n${text}\r\n`;
export const CHUNKED = 'transfer-encoding: chunked\r\n\r\n';
export const BODY = `${sized(INPUT)}0\r\n\r\n`;
export const LENGTH = `content-length: ${INPUT.length}\r\n`;

/** Sends these bytes and reads so many answers. */
export const sends =
  (bytes, n = 1, method) =>
  async ({ connect }) => {
    const peer = await connect();
    await peer.send(Buffer.from(bytes, 'latin1'));
    return peer.answers(n, 5000, method);
  };

/** The agent sees the run that was meant, once, in plain framing; then `more` is asked of it. */
export const one =
  (more = () => undefined) =>
  seen => {
    if (seen.length !== 1) return `${seen.length} requests: ${seen.map(request => request.target)}`;
    const [request] = seen;
    if (request.body.toString() !== INPUT) return `the body ${JSON.stringify(request.body.toString().slice(0, 80))}`;
    if (seen.some(({ target }) => target.includes('hidden'))) return 'what was hidden';
    return more(request);
  };
export const none = 0;
/** It is refused, with the reason. */
export const refused = { got: /^4\d\d [A-Z_]+$/, refused: 'malformed', seen: none };
export const mustRefuse = refused;
export const taken = (more, got = WHOLE) => ({ got, runs: 'finished', seen: one(more) });
export const either = {
  got: [refused.got, WHOLE],
  runs: ['', 'finished'],
  refused: ['', 'malformed'],
  seen: seen => (seen.length ? one()(seen) : undefined),
};
export const without = name => request => (request.header(name) === undefined ? undefined : `the header ${name}: ${request.header(name)}`);
export const having = (name, value) => request =>
  request.header(name) === value ? undefined : `the header ${name}: ${request.header(name)}`;
