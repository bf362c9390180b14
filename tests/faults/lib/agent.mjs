// An agent on a bare socket: it reads requests strictly, keeps what it read, and then does whatever a fault
// says, byte by byte. It knows HTTP/1.1 as far as a request's framing, and nothing of events.
import net from 'node:net';
import { sleep, until } from '../../clients/lib/net.mjs';

/** Starts one. `plays(script)` says what it does; a script is `{ at, does(connection, request) }` or that function alone. */
export async function startAgent() {
  const seen = [],
    odd = [],
    open = new Set();
  let script;
  const server = net.createServer({ allowHalfOpen: true }, socket => {
    const connection = new Connection(socket, open);
    serve(connection, () => script, seen, odd).catch(error => {
      connection.failure = error;
      connection.reset();
    });
  });
  await new Promise(done => server.listen(0, '127.0.0.1', done));
  return {
    port: server.address().port,
    /** The requests whose head was read: `{ method, target, headers, body, trailers }`. */
    seen,
    /** What was wrong with the framing of requests. */
    odd,
    open,
    plays(next) {
      script = typeof next === 'function' ? { at: 'request', does: next } : next;
    },
    /** Lets go of every connection. */
    drop() {
      for (const connection of open) connection.reset();
    },
    close() {
      this.drop();
      return new Promise(done => server.close(done));
    },
  };
}

/** One connection to the gateway, with what a script may do to it. */
export class Connection {
  constructor(socket, open) {
    this.socket = socket;
    this.bytes = Buffer.alloc(0);
    this.ended = false;
    open.add(this);
    socket.setNoDelay(true);
    socket.on('data', data => {
      this.bytes = Buffer.concat([this.bytes, data]);
    });
    socket.on('end', () => {
      this.ended = true;
    });
    socket.on('error', () => {});
    socket.setMaxListeners(0);
    socket.once('close', () => {
      this.isClosed = true;
      open.delete(this);
    });
  }

  get isGone() {
    return this.ended || this.isClosed === true;
  }

  /** Writes and waits until the system has taken it; false where the gateway is gone. */
  write(bytes) {
    if (this.isClosed || !this.socket.writable) return Promise.resolve(false);
    return new Promise(done => {
      const gone = () => done(false);
      this.socket.once('close', gone);
      this.socket.write(bytes, error => {
        this.socket.off('close', gone);
        done(!error);
      });
    });
  }

  /** The head of a stream in chunks. */
  head(more = '') {
    return this.write(`HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n${more}\r\n`);
  }

  /** One chunk. */
  chunk(data) {
    const bytes = Buffer.from(data);
    return this.write(Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]));
  }

  /** Events, each a chunk. */
  async events(...events) {
    for (const event of events) await this.chunk(frame(event));
  }

  last() {
    return this.write('0\r\n\r\n');
  }

  /** Writes this over and over until the gateway has had enough; at most for `ms`. */
  async pours(bytes, ms = 8000) {
    const end = Date.now() + ms;
    while (!this.isGone && Date.now() < end && (await this.write(bytes))) await new Promise(setImmediate);
  }

  reset() {
    if (!this.isClosed) this.socket.resetAndDestroy();
  }
  end(bytes) {
    this.socket.end(bytes);
  }
  /** Until the gateway has let go, or not within `ms`. */
  gone(ms = 10_000) {
    return until(ms, async () => this.isGone);
  }
  sleep(ms) {
    return sleep(ms);
  }
}

async function serve(connection, script, seen, odd) {
  if (script().at === 'connect') return script().does(connection);
  for (;;) {
    const at = await until(60_000, async () => connection.isGone || connection.bytes.indexOf('\r\n\r\n') + 1);
    if (connection.isGone && connection.bytes.length === 0) return connection.end();
    if (at === true || at === false || at === 0) return connection.end();
    const request = readHead(connection.bytes.subarray(0, at - 1), odd);
    connection.bytes = connection.bytes.subarray(at + 3);
    seen.push(request);
    const { at: when, does } = script();
    if (when === 'head') return does(connection, request);
    if (!(await readBody(connection, request, odd))) {
      request.cut = true;
      return connection.end();
    }
    await does(connection, request);
    if (connection.isGone || connection.socket.writableEnded) return connection.end();
  }
}

function readHead(bytes, odd) {
  const lines = bytes.toString('latin1').split('\r\n');
  const [method, target, version] = lines.shift().split(' ');
  const headers = lines.map(line => {
    const m = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t -~\x80-\xff]*)$/.exec(line);
    if (!m) odd.push(`header line ${JSON.stringify(line)}`);
    return m ? [m[1].toLowerCase(), m[2]] : ['', line];
  });
  const all = name => headers.filter(([n]) => n === name).map(([, value]) => value);
  if (version !== 'HTTP/1.1') odd.push(`version ${version}`);
  if (all('host').length !== 1) odd.push(`${all('host').length} hosts`);
  const lengths = all('content-length'),
    codings = all('transfer-encoding');
  if (lengths.length + codings.length > 1) odd.push(`framing ${lengths} ${codings}`);
  if (codings.length && codings[0] !== 'chunked') odd.push(`coding ${codings}`);
  return { method, target, headers, all, header: name => all(name)[0], lengths, chunked: codings.length > 0, body: Buffer.alloc(0) };
}

async function readBody(connection, request, odd) {
  const take = async n => {
    await until(60_000, async () => connection.isGone || connection.bytes.length >= n);
    if (connection.bytes.length < n) return undefined;
    const part = connection.bytes.subarray(0, n);
    connection.bytes = connection.bytes.subarray(n);
    return part;
  };
  const line = async () => {
    await until(60_000, async () => connection.isGone || connection.bytes.includes('\r\n'));
    const at = connection.bytes.indexOf('\r\n');
    return at < 0 ? undefined : (await take(at + 2)).toString('latin1').slice(0, -2);
  };
  if (!request.chunked) {
    request.body = await take(Number(request.lengths[0] ?? 0));
    return request.body !== undefined;
  }
  for (const parts = []; ;) {
    const size = await line();
    if (size === undefined) return false;
    if (!/^[0-9A-Fa-f]+$/.test(size)) odd.push(`chunk size ${size}`);
    const length = parseInt(size, 16);
    if (length === 0) {
      request.body = Buffer.concat(parts);
      break;
    }
    const part = await take(length);
    if (part === undefined) return false;
    parts.push(part);
    if ((await take(2))?.toString() !== '\r\n') odd.push('end of a chunk');
  }
  request.trailers = [];
  for (let trailer = await line(); trailer !== ''; trailer = await line()) {
    if (trailer === undefined) return false;
    request.trailers.push(trailer);
  }
  return true;
}

/** An event as a frame; a string is taken as its payload. */
export const frame = event => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`;

export const STARTED = { type: 'RUN_STARTED', threadId: 't', runId: 'r' };
export const FINISHED = { type: 'RUN_FINISHED', threadId: 't', runId: 'r' };
export const START = { type: 'TEXT_MESSAGE_START', messageId: 'm', role: 'assistant' };
export const delta = text => ({ type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: text });
export const END = { type: 'TEXT_MESSAGE_END', messageId: 'm' };

/** What an agent in good health does: a whole run that says which request it answers. */
export async function healthy(connection, request) {
  const events = [STARTED, START, delta(`for ${request.target}`), END, FINISHED].map(frame).join('');
  connection.end(
    `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\ncontent-length: ${events.length}\r\n\r\n${events}`,
  );
}
