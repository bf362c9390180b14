// HTTP/2 by the frame: enough of it to break it on purpose, on both sides of the gateway.
import net from 'node:net';
import { until } from '../../clients/lib/net.mjs';

export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
export const DATA = 0,
  HEADERS = 1,
  PRIORITY = 2,
  RST_STREAM = 3,
  SETTINGS = 4,
  PUSH_PROMISE = 5,
  PING = 6,
  GOAWAY = 7,
  WINDOW_UPDATE = 8,
  CONTINUATION = 9;
export const END_STREAM = 1,
  ACK = 1,
  END_HEADERS = 4;
const CODES = [
  'NO_ERROR',
  'PROTOCOL_ERROR',
  'INTERNAL_ERROR',
  'FLOW_CONTROL_ERROR',
  'SETTINGS_TIMEOUT',
  'STREAM_CLOSED',
  'FRAME_SIZE_ERROR',
  'REFUSED_STREAM',
  'CANCEL',
  'COMPRESSION_ERROR',
  'CONNECT_ERROR',
  'ENHANCE_YOUR_CALM',
  'INADEQUATE_SECURITY',
  'HTTP_1_1_REQUIRED',
];
export const code = name => number(CODES.indexOf(name));
export const nameOf = n => CODES[n] ?? `code ${n}`;

/** A number in four bytes. */
export const number = n => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(n);
  return bytes;
};

export function frameOf(type, flags, stream, payload = Buffer.alloc(0)) {
  const bytes = Buffer.from(payload);
  return Buffer.concat([
    Buffer.from([bytes.length >> 16, (bytes.length >> 8) & 255, bytes.length & 255, type, flags]),
    number(stream),
    bytes,
  ]);
}

/** A setting: 3 is MAX_CONCURRENT_STREAMS, 4 is INITIAL_WINDOW_SIZE. */
export const setting = (id, value) => Buffer.concat([Buffer.from([0, id]), number(value)]);

/** A header field, spelled out. */
export const field = (name, value) => Buffer.concat([Buffer.from([0]), string(name), string(value)]);
function string(text) {
  const bytes = Buffer.from(text, 'latin1');
  if (bytes.length < 127) return Buffer.concat([Buffer.from([bytes.length]), bytes]);
  const length = [127];
  let rest = bytes.length - 127;
  for (; rest >= 128; rest >>= 7) length.push((rest & 127) | 128);
  return Buffer.concat([Buffer.from([...length, rest]), bytes]);
}

/** The status at the front of a block of headers, as far as it is spelled the usual way. */
export function statusOf(block) {
  let at = 0;
  while ((block[at] & 0xe0) === 0x20) at++;
  const known = { 0x88: 200, 0x89: 204, 0x8a: 206, 0x8b: 304, 0x8c: 400, 0x8d: 404, 0x8e: 500 }[block[at]];
  if (known) return known;
  if ((block[at] & 0x3f) > 14 || (block[at] & 0x3f) < 8) return '?';
  if (!(block[at + 1] & 128)) return Number(block.subarray(at + 2, at + 5).toString());
  const bits = [...block.subarray(at + 2, at + 2 + (block[at + 1] & 127))].map(byte => byte.toString(2).padStart(8, '0')).join('');
  let digits = '';
  for (let b = 0; digits.length < 3;) {
    const short = parseInt(bits.slice(b, b + 5), 2);
    if (short <= 2) {
      digits += short;
      b += 5;
    } else {
      digits += parseInt(bits.slice(b, b + 6), 2) - 22;
      b += 6;
    }
  }
  return Number(digits);
}

/** One end of a connection: frames come in to `takes`, and are kept. */
export class Wire {
  constructor(socket, { skip = 0, takes = () => {}, acks = true } = {}) {
    Object.assign(this, { socket, rest: Buffer.alloc(0), skip, takes, acks, frames: [] });
    socket.setNoDelay(true);
    socket.on('data', data => this.feed(data));
    socket.on('error', () => {
      this.how ??= 'reset';
    });
    socket.on('end', () => {
      this.how ??= 'closed';
      socket.end();
    });
    socket.on('close', () => {
      this.how ??= 'closed';
    });
  }

  get isGone() {
    return this.how !== undefined;
  }

  feed(data) {
    this.rest = Buffer.concat([this.rest, data]);
    if (this.skip) {
      if (this.rest.length < this.skip) return;
      this.rest = this.rest.subarray(this.skip);
      this.skip = 0;
    }
    while (this.rest.length >= 9) {
      const length = this.rest.readUIntBE(0, 3);
      if (this.rest.length < 9 + length) return;
      const frame = {
        type: this.rest[3],
        flags: this.rest[4],
        stream: this.rest.readUInt32BE(5) & 0x7fffffff,
        payload: this.rest.subarray(9, 9 + length),
      };
      this.rest = this.rest.subarray(9 + length);
      this.frames.push(frame);
      if (frame.type === SETTINGS && !(frame.flags & ACK) && this.acks) this.send(frameOf(SETTINGS, ACK, 0));
      if (frame.type === PING && !(frame.flags & ACK) && this.acks) this.send(frameOf(PING, ACK, 0, frame.payload));
      this.takes(frame);
    }
  }

  /** Writes and waits until the system has taken it; false where the other side is gone. */
  send(...frames) {
    if (this.isGone || !this.socket.writable) return Promise.resolve(false);
    return new Promise(done => {
      const gone = () => done(false);
      this.socket.once('close', gone);
      this.socket.write(Buffer.concat(frames), error => {
        this.socket.off('close', gone);
        done(!error);
      });
    });
  }

  async pours(frame, ms = 5000) {
    const end = Date.now() + ms;
    while (!this.isGone && Date.now() < end && (await this.send(frame))) await new Promise(setImmediate);
  }

  gone(ms = 9000) {
    return until(ms, async () => this.isGone);
  }
  reset() {
    this.socket.resetAndDestroy();
  }
  close() {
    this.socket.destroy();
  }
}

/** Connects to a gateway. */
export function dial(port, how) {
  return new Promise((done, fail) => {
    const socket = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true }, () => {
      socket.setMaxListeners(0);
      done(new Wire(socket, how));
    });
    socket.once('error', fail);
  });
}
