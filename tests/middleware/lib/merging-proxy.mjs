// A stand-in for Tidegate's throttle that merges text only, well or badly on purpose: with it the measures of these
// suites are themselves measured.
import http from 'node:http';
import { payloads } from '../../clients/lib/sse.mjs';

/**
 * Starts it before `agent`. `every`: the window in ms; `debounce`: each delta puts the flush off again; `first`: whether
 * the first delta after anything else leaves at once. Gives `{ url, close() }`.
 */
export async function startMergingProxy(agent, { every, debounce = false, first = true }) {
  const server = http.createServer((request, response) => {
    let held = null, timer = null, fresh = true, rest = '';
    const send = event => { response.write(`data: ${JSON.stringify(event)}\n\n`); };
    const flush = () => {
      clearTimeout(timer);
      timer = null;
      if (held) send(held);
      held = null;
    };
    const take = event => {
      if (event.type !== 'TEXT_MESSAGE_CONTENT') { flush(); send(event); fresh = true; return; }
      if (every === 0 || (fresh && first)) { send(event); fresh = false; return; }
      held = held ? { ...held, delta: held.delta + event.delta } : event;
      if (debounce) { clearTimeout(timer); timer = null; }
      timer ??= setTimeout(flush, every);
    };
    const onward = http.request(agent.url, { method: request.method, headers: request.headers, agent: false }, answer => {
      response.writeHead(answer.statusCode, { 'content-type': answer.headers['content-type'] });
      answer.setEncoding('utf8');
      answer.on('data', part => {
        const whole = (rest + part).lastIndexOf('\n\n') + 2;
        const text = (rest + part).slice(0, whole);
        rest = (rest + part).slice(whole);
        for (const payload of payloads(Buffer.from(text))) take(JSON.parse(payload));
      });
      answer.on('end', () => { flush(); response.end(); });
    });
    request.pipe(onward);
  });
  await new Promise(done => server.listen(0, '127.0.0.1', done));
  return {
    url: `http://127.0.0.1:${server.address().port}/`,
    close() { server.closeAllConnections(); return new Promise(done => server.close(done)); },
  };
}
