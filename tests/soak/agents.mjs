// The agents of a soak, in a process of their own: paced streams over HTTP/1.1 and HTTP/2, and what the header
// `x-fault` asks for. Told `{ every }` milliseconds between events; tells its ports.
import http from 'node:http';
import http2 from 'node:http2';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { framed, message } from './proto.mjs';

const every = Number(process.argv[2]);
const event = (type, members = {}) => ({ type, ...members });
const STARTED = event('RUN_STARTED', { threadId: 't', runId: 'r' });
const FINISHED = event('RUN_FINISHED', { threadId: 't', runId: 'r' });
const LARGE = 'x'.repeat(300 * 1024);

function* script(length, tools) {
  yield STARTED;
  yield event('TEXT_MESSAGE_START', { messageId: 'm', role: 'assistant' });
  for (let n = 0; n < length; n++) yield event('TEXT_MESSAGE_CONTENT', { messageId: 'm', delta: `word ${n} ` });
  yield event('TEXT_MESSAGE_END', { messageId: 'm' });
  if (tools) {
    for (const name of ['search', 'delete_all']) {
      yield event('TOOL_CALL_START', { toolCallId: name, toolCallName: name });
      yield event('TOOL_CALL_ARGS', { toolCallId: name, delta: '{"q":"x"}' });
      yield event('TOOL_CALL_END', { toolCallId: name });
      yield event('TOOL_CALL_RESULT', { messageId: `m-${name}`, toolCallId: name, content: 'done', role: 'tool' });
    }
    yield event('STATE_SNAPSHOT', { snapshot: { n: 1 } });
    yield event('STATE_DELTA', { delta: [{ op: 'replace', path: '/n', value: 2 }] });
  }
  yield FINISHED;
}

function answer(request, response) {
  request.resume();
  request.on('error', () => {});
  response.on('error', () => {});
  request.on('end', () => {
    const { 'x-fault': fault, 'x-length': length, 'x-tools': tools, 'x-binary': binary } = request.headers;
    const cut = () =>
      response.stream ? response.stream.close(http2.constants.NGHTTP2_INTERNAL_ERROR) : response.socket?.resetAndDestroy();
    if (fault === 'reset_early') return cut();
    if (fault === 'stall_early') return;
    if (fault === 'status') return void response.writeHead(500, { 'content-type': 'application/json' }).end('{"error":"out of order"}');
    response.writeHead(200, { 'content-type': binary ? 'application/vnd.ag-ui.event+proto' : 'text/event-stream' });
    const write = e => response.write(binary ? framed(message(e)) : `data: ${JSON.stringify(e)}\n\n`);
    const events = [...script(Number(length), tools === '1')];
    const middle = Math.floor(events.length / 2);
    let n = 0,
      gone = false;
    response.on('close', () => {
      gone = true;
    });
    const next = () => {
      if (gone) return;
      if (n === middle && fault === 'reset') return cut();
      if (n === middle && fault === 'unfinished') return void response.end();
      if (n === middle && fault === 'stall') return;
      if (n === middle && fault === 'large') write(event('TEXT_MESSAGE_CONTENT', { messageId: 'm', delta: LARGE }));
      else write(events[n]);
      if (++n === events.length) return void response.end();
      setTimeout(next, n < 2 ? 0 : every);
    };
    next();
  });
}

const one = http.createServer({ keepAliveTimeout: 3000 }, answer),
  two = http2.createServer({ settings: { maxConcurrentStreams: 10_000 } }, answer);
for (const server of [one, two]) await new Promise(done => server.listen(0, '127.0.0.1', 4096, done));
two.on('session', session => {
  session.on('error', () => {});
  session.setTimeout(0);
});
// How late the agents themselves were at worst, in milliseconds: what the machine does is no fault of the gateway.
const delay = monitorEventLoopDelay();
delay.enable();
process.on('message', () => process.send({ late: delay.max / 1e6 }));
process.on('disconnect', () => process.exit());
process.on('uncaughtException', error => {
  if (!['ECONNRESET', 'EPIPE', 'ERR_STREAM_WRITE_AFTER_END', 'ERR_HTTP2_INVALID_STREAM'].includes(error.code)) throw error;
});
process.send({ one: one.address().port, two: two.address().port });
