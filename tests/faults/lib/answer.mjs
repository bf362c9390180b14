// What a client got, from bytes to words: "200, 2 events, RUN_ERROR UPSTREAM_TRUNCATED", "502 UPSTREAM_STATUS",
// "closed". A body that has no proper end, and a stream that breaks the rules for its end, are said so.
import { payloads, typeOf } from '../../clients/lib/sse.mjs';

const PROTOBUF = 'application/vnd.ag-ui.event+proto';

/** The whole answers at the front of `bytes`, the interim ones left out; the last may lack its end. */
export function readAnswers(bytes, isClosed, method = 'POST') {
  const answers = [];
  for (let rest = bytes; rest.length;) {
    const at = rest.indexOf('\r\n\r\n');
    if (at < 0) {
      answers.push({ broken: rest, ended: false });
      break;
    }
    const [start, ...lines] = rest.subarray(0, at).toString('latin1').split('\r\n');
    const headers = Object.fromEntries(
      lines.map(line => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
    );
    const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(start)?.[1]);
    const body = readBody(rest.subarray(at + 4), status, headers, isClosed, method);
    rest = body.rest;
    if (status >= 200 || status === 101 || Number.isNaN(status)) answers.push({ status, headers, body: body.bytes, ended: body.ended });
    if (!body.ended) break;
  }
  return answers;
}

function readBody(bytes, status, headers, isClosed, method) {
  const none = Buffer.alloc(0);
  if (status < 200 || status === 204 || status === 304 || method === 'HEAD') return { bytes: none, rest: bytes, ended: true };
  if (/chunked/i.test(headers['transfer-encoding'] ?? '')) return readChunks(bytes);
  if (headers['content-length'] === undefined) return { bytes, rest: none, ended: isClosed };
  const length = Number(headers['content-length']);
  return { bytes: bytes.subarray(0, length), rest: bytes.subarray(length), ended: bytes.length >= length };
}

function readChunks(bytes) {
  const parts = [];
  for (let rest = bytes; ;) {
    const at = rest.indexOf('\r\n');
    const cut = { bytes: Buffer.concat(parts), rest: Buffer.alloc(0), ended: false };
    if (at < 0) return cut;
    const size = parseInt(rest.subarray(0, at).toString(), 16);
    if (size === 0) {
      const end = rest.indexOf('\r\n\r\n', at);
      return end < 0 ? cut : { bytes: cut.bytes, rest: rest.subarray(end + 4), ended: true };
    }
    parts.push(rest.subarray(at + 2, at + 2 + size));
    if (rest.length < at + 4 + size) return { ...cut, bytes: Buffer.concat(parts) };
    rest = rest.subarray(at + 4 + size);
  }
}

/** An answer in words. */
export function describe(answer) {
  if (answer.broken) return `half a head: ${answer.broken.toString('latin1').slice(0, 40)}`;
  const type = (answer.headers['content-type'] ?? '').split(';')[0];
  const end = answer.ended ? '' : ', NOT ENDED';
  if (type === 'application/problem+json') {
    let code = 'UNREADABLE PROBLEM';
    try {
      code = JSON.parse(answer.body).code;
    } catch {
      /* said by the code */
    }
    return `${answer.status} ${code}${end}`;
  }
  if (type === 'text/event-stream' && answer.status === 200) return `200, ${stream(payloads(answer.body, { loose: true }))}${end}`;
  if (type === PROTOBUF) return `${answer.status}, ${answer.body.length ? 'protobuf' : 'no bytes'}${end}`;
  return `${answer.status}${type && ` ${type}`}${answer.body.length ? '' : ', no body'}${end}`;
}

/** A stream in words: how many events, and the one that ends it. */
export function stream(frames) {
  const types = frames.map(typeOf);
  const errors = types.filter(type => type === 'RUN_ERROR').length;
  const last = types.at(-1);
  const code = last === 'RUN_ERROR' ? ` ${JSON.parse(frames.at(-1)).code}` : '';
  const terminal = types.findIndex(type => type === 'RUN_ERROR');
  const odd = errors > 1 ? `, ${errors} RUN_ERRORS` : terminal >= 0 && terminal < types.length - 1 ? ', SOMETHING AFTER RUN_ERROR' : '';
  return `${types.length} event${types.length === 1 ? '' : 's'}${last ? `, ${last}${code}` : ''}${odd}`;
}
