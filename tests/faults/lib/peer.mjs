// A client on a bare socket: it sends what it is told, keeps what comes, and leaves the way it is told.
import net from 'node:net';
import { until } from '../../clients/lib/net.mjs';
import { describe, readAnswers } from './answer.mjs';

const LAST = Buffer.from('0\r\n\r\n');

/** Connects; the socket may be left half open. */
export async function connect(port) {
  const socket = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  const peer = new Peer(socket);
  await new Promise((done, fail) => {
    socket.once('connect', done);
    socket.once('error', fail);
  });
  return peer;
}

export class Peer {
  constructor(socket) {
    this.socket = socket;
    this.parts = [];
    this.length = 0;
    this.how = undefined; // closed | reset, once it is
    socket.setNoDelay(true);
    socket.on('data', data => {
      this.parts.push(data);
      this.length += data.length;
    });
    socket.on('end', () => {
      this.how ??= 'closed';
      socket.end();
    });
    socket.on('error', () => {
      this.how ??= 'reset';
    });
    socket.on('close', () => {
      this.how ??= 'closed';
    });
  }

  get bytes() {
    if (this.parts.length > 1) this.parts = [Buffer.concat(this.parts)];
    return this.parts[0] ?? Buffer.alloc(0);
  }

  /** Sends, and does not mind if nobody is there. */
  send(bytes) {
    return new Promise(done => (this.socket.writable ? this.socket.write(bytes, () => done()) : done()));
  }

  /** Whether this text came within `ms`. */
  has(text, ms = 8000) {
    return until(ms, async () => this.bytes.includes(text) || (this.how && 'closed')).then(got => got === true);
  }

  /** From now on keeps no more than the end of what comes; gives how that ends, once it does. */
  async lastWords(ms = 9000) {
    const trim = () => {
      if (this.length > 1 << 20) {
        this.parts = [this.bytes.subarray(-2000)];
        this.length = 2000;
      }
    };
    this.socket.on('data', trim);
    const ended = await until(ms, async () => this.how ?? (this.parts.at(-1)?.subarray(-5).equals(LAST) && 'ended'));
    const codes = [...this.bytes.toString('latin1').matchAll(/"code":"(\w+)"/g)].map(m => m[1]);
    this.leave();
    return `200, many events, ${codes.length === 1 ? `RUN_ERROR ${codes[0]}` : `${codes.length} errors`}${ended === 'ended' ? '' : `, ${ended || 'NOT ENDED'}`}`;
  }

  /** Until the gateway has closed, or not within `ms`. */
  closed(ms = 8000) {
    return until(ms, async () => this.how);
  }

  /** `n` answers in words, or fewer where the gateway closed or took longer than `ms`; then leaves. */
  async answers(n = 1, ms = 12_000, method = 'POST') {
    let length = -1,
      list = [];
    await until(ms, async () => {
      if (this.length === length && !this.how) return false;
      length = this.length;
      // Much of it is only read once it may be whole.
      if (length > 200_000 && !this.how && n === 1 && !this.parts.at(-1).subarray(-5).equals(LAST)) return false;
      list = readAnswers(this.bytes, this.how === 'closed', method);
      return this.how || list.filter(answer => answer.ended).length >= n;
    });
    const words = list.map(describe);
    const whole = list.filter(answer => answer.ended).length;
    if (whole < n && (!list.length || n > 1)) words.push(this.how ?? 'NOTHING');
    this.list = list;
    this.leave();
    return words.join(' + ');
  }

  leave() {
    this.socket.destroy();
  }
  reset() {
    this.socket.resetAndDestroy();
  }
}

export const INPUT = '{"threadId":"t","runId":"r","messages":[],"state":{},"tools":[],"context":[],"forwardedProps":{}}';

/** The input of a run that is so many bytes long. */
export const longInput = length => INPUT.replace('"state":{}', `"state":{"x":"${'x'.repeat(length - INPUT.length - 6)}"}`);

const HEAD = 'host: gate\r\ncontent-type: application/json\r\naccept: text/event-stream\r\n';

/** The head of a request for a run. */
export const head = ({ path = '/', more = '', length = INPUT.length } = {}) =>
  `POST ${path} HTTP/1.1\r\n${HEAD}${more}content-length: ${length}\r\n\r\n`;

/** A request for a run. */
export const post = ({ body = INPUT, ...rest } = {}) => `${head({ ...rest, length: Buffer.byteLength(body) })}${body}`;

/** The same in chunks of this text, without the last of them. */
export const chunkedHead = ({ path = '/', more = '' } = {}) => `POST ${path} HTTP/1.1\r\n${HEAD}${more}transfer-encoding: chunked\r\n\r\n`;
