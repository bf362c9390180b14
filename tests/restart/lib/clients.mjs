// Clients that ask for one run after the other: over HTTP/1.1 on one connection or on a new one each time, over HTTP/2.
import http from 'node:http';
import http2 from 'node:http2';
import https from 'node:https';

const headers = { accept: 'text/event-stream', 'content-type': 'application/json' };

/** The input of a run. */
export const input = runId => JSON.stringify({ threadId: 't', runId, messages: [], state: {}, tools: [], context: [] });

/** Asks over HTTP/1.1; resolves with status, headers and text, and rejects where the answer breaks off. */
export function ask(url, body, agent) {
  return new Promise((done, fail) => {
    const secure = url.startsWith('https:');
    const options = { method: 'POST', headers: { ...headers, 'content-length': Buffer.byteLength(body) }, agent, rejectUnauthorized: false };
    const request = (secure ? https : http).request(url, options, response => {
      let text = '';
      response.setEncoding('utf8').on('data', data => { text += data; }).on('error', fail);
      response.on('close', () => response.complete ? done({ status: response.statusCode, headers: response.headers, text })
        : fail(new Error('the answer broke off')));
    });
    request.on('error', fail).end(body);
  });
}

/** A client with a connection of its own that it uses for every run. */
export class KeptAlive {
  constructor(url) {
    const options = { keepAlive: true, maxSockets: 1, rejectUnauthorized: false };
    Object.assign(this, { url, agent: url.startsWith('https:') ? new https.Agent(options) : new http.Agent(options) });
  }

  run(body) { return ask(this.url, body, this.agent); }
  close() { this.agent.destroy(); }
}

/** A client that connects anew for every run. */
export class Anew {
  constructor(url) { this.url = url; }
  run(body) { return ask(this.url, body, false); }
  close() {}
}

/** A client of HTTP/2. It opens another connection once it was told to go away, and sends again what was surely not
    acted on, as the protocol has it. */
export class Multiplexed {
  constructor(url) {
    this.url = new URL(url);
    this.again = 0;
  }

  connect() {
    if (this.session && !this.session.closed && !this.session.destroyed && !this.leaving) return this.session;
    this.leaving = false;
    const session = http2.connect(this.url.origin, { rejectUnauthorized: false });
    session.on('error', () => {}).on('goaway', () => { if (this.session === session) this.leaving = true; });
    return (this.session = session);
  }

  async run(body) {
    for (;;) {
      try {
        return await this.once(body);
      } catch (error) {
        // Refused before it was acted on, or never sent.
        const unsent = error.code === 'ERR_HTTP2_GOAWAY_SESSION' || error.code === 'ERR_HTTP2_INVALID_SESSION';
        if (!unsent && !/REFUSED_STREAM/.test(error.message)) throw error;
        this.leaving = true;
        this.again += 1;
      }
    }
  }

  once(body) {
    return new Promise((done, fail) => {
      const stream = this.connect().request({ ...headers, ':method': 'POST', ':path': this.url.pathname });
      let status, text = '', ended = false;
      stream.setEncoding('utf8').on('response', head => { status = head[':status']; }).on('data', data => { text += data; });
      stream.on('end', () => { ended = true; }).on('error', fail);
      stream.on('close', () => ended && status ? done({ status, text }) : fail(new Error('the answer broke off')));
      stream.end(body);
    });
  }

  close() { this.session?.close(); }
}
