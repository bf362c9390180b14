// An agent that speaks HTTP/2 by the frame, by prior knowledge.
import net from 'node:net';
import { END, FINISHED, START, STARTED, delta, frame } from './agent.mjs';
import {
  DATA,
  END_HEADERS,
  END_STREAM,
  GOAWAY,
  HEADERS,
  PREFACE,
  RST_STREAM,
  SETTINGS,
  WINDOW_UPDATE,
  Wire,
  code,
  frameOf,
  number,
} from './h2.mjs';

/** `:status: 200`, `content-type: text/event-stream`. */
const HEAD = Buffer.concat([Buffer.from([0x88, 0x5f, 17]), Buffer.from('text/event-stream')]);

/** Starts one. A script is `{ at, does(wire, stream) }`; at `connect`, `head` or `request`, the last by default. */
export async function startH2Agent() {
  const seen = [],
    odd = [],
    open = new Set();
  let script;
  const server = net.createServer(socket => {
    socket.setMaxListeners(0);
    const wire = new H2Connection(socket, () => script, seen);
    open.add(wire);
    socket.on('close', () => open.delete(wire));
  });
  await new Promise(done => server.listen(0, '127.0.0.1', done));
  return {
    port: server.address().port,
    seen,
    odd,
    open,
    plays(next) {
      script = typeof next === 'function' ? { at: 'request', does: next } : next;
      for (const wire of open) wire.acks = script.acks ?? true;
    },
    /** Connections are shared, so letting go of them is the gateway's own affair. */
    drop() {},
    close() {
      for (const wire of open) wire.close();
      return new Promise(done => server.close(done));
    },
  };
}

class H2Connection extends Wire {
  constructor(socket, script, seen) {
    super(socket, { skip: PREFACE.length, acks: script().acks ?? true });
    this.takes = got => this.got(got, script, seen);
    this.done = new Set();
    const { at, does, settings = [] } = script();
    if (at === 'connect') does(this);
    else this.send(frameOf(SETTINGS, 0, 0, Buffer.concat(settings)));
  }

  got({ type, flags, stream, payload }, script, seen) {
    if (type === HEADERS && !this.done.has(stream)) {
      seen.push({ stream });
      if (script().at === 'head') this.plays(script, stream);
    }
    if (type === DATA && payload.length && !script().stingy) {
      this.send(
        frameOf(WINDOW_UPDATE, 0, 0, number(payload.length)),
        ...(flags & END_STREAM ? [] : [frameOf(WINDOW_UPDATE, 0, stream, number(payload.length))]),
      );
    }
    if ((type === DATA || type === HEADERS) && flags & END_STREAM && (script().at ?? 'request') === 'request') this.plays(script, stream);
  }

  plays(script, stream) {
    if (this.done.has(stream)) return;
    this.done.add(stream);
    script().does(this, stream);
  }

  head(stream, block = HEAD, flags = END_HEADERS) {
    return this.send(frameOf(HEADERS, flags, stream, block));
  }
  data(stream, text, last = false) {
    return this.send(frameOf(DATA, last ? END_STREAM : 0, stream, Buffer.from(text)));
  }
  events(stream, ...events) {
    return this.data(stream, events.map(frame).join(''));
  }
  stop(stream, why) {
    return this.send(frameOf(RST_STREAM, 0, stream, code(why)));
  }
  goaway(last, why) {
    return this.send(frameOf(GOAWAY, 0, 0, Buffer.concat([number(last), code(why)])));
  }
  sleep(ms) {
    return new Promise(done => setTimeout(done, ms));
  }
}

/** A whole run. */
export async function healthyH2(wire, stream) {
  await wire.head(stream);
  await wire.data(stream, [STARTED, START, delta('for any'), END, FINISHED].map(frame).join(''), true);
}
