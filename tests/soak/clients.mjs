// The clients of a soak, in a process of their own: so many runs at once, each followed by another, until told to
// stop; then tells what was begun and what was seen. Arguments: the gateway's url, runs, seconds of the ramp, the
// most events of a run.
import http from 'node:http';
import http2 from 'node:http2';
import { FAULTS, HEALTHY, KINDS, SHARE } from './kinds.mjs';

const [url, runs, ramp, longest] = [process.argv[2], ...process.argv.slice(3).map(Number)];
const INPUT = '{"threadId":"t","runId":"r","messages":[],"state":{},"tools":[],"context":[],"forwardedProps":{}}';
const LARGE = INPUT.replace('"state":{}', `"state":{"x":"${'x'.repeat(70_000)}"}`);
const agent = new http.Agent({ keepAlive: true, maxSockets: Infinity, maxFreeSockets: 256 });
const sessions = [];
const tally = { begun: 0, active: 0, outcomes: {}, kinds: {}, faults: {}, wrong: {}, at: [] };
let stopping = false;

const count = (where, key) => {
  where[key] = (where[key] ?? 0) + 1;
};
const sleep = ms => new Promise(done => setTimeout(done, ms));
const pick = list => list[Math.floor(Math.random() * list.length)];

function draw() {
  const place = Math.floor(Math.random() / SHARE);
  const kind = pick(KINDS),
    fault = FAULTS[place] ?? HEALTHY;
  // An event that is too large is told by SSE alone.
  return kind.binary && fault.agent === 'large' ? { kind, fault: HEALTHY } : { kind, fault };
}

/** What ends a stream, in words; protobuf carries the same texts. */
function ending(status, tail) {
  if (status !== 200) return String(status);
  const code =
    /UPSTREAM_TRUNCATED|IDLE_TIMEOUT|FIRST_EVENT_TIMEOUT|FRAME_TOO_LARGE|RUN_TIMEOUT|MALFORMED_FRAME|PROTOCOL_VIOLATION|TOOL_DENIED|GATEWAY_SHUTDOWN/.exec(
      tail,
    );
  return code?.[0] ?? 'RUN_FINISHED';
}

/** One run to its end, in words. */
function run({ kind, fault }) {
  const headers = {
    'content-type': 'application/json',
    accept: 'text/event-stream',
    'x-length': String(10 + Math.floor(Math.random() * (longest - 10))),
    ...(kind.tools && { 'x-tools': '1' }),
    ...(kind.binary && { 'x-binary': '1' }),
    ...(fault.agent && { 'x-fault': fault.agent }),
    ...kind.headers,
  };
  const body = fault.client === 'large' ? LARGE : INPUT;
  return new Promise(done => {
    const { stream, onHead, leave } = kind.h2 ? overTwo(kind.path, headers, body) : overOne(kind.path, headers, body);
    let status = 0,
      tail = '',
      size = 0,
      left = false;
    const goes = () => {
      left = true;
      leave();
      done('left');
    };
    if (fault.client === 'leave_early') setTimeout(goes, 1500);
    onHead((head, source) => {
      status = head;
      if (fault.client === 'leave') setTimeout(goes, 1500);
      if (fault.client === 'pause')
        setTimeout(() => {
          source.pause();
          setTimeout(() => source.resume(), 3000);
        }, 1000);
      source.on('data', part => {
        size += part.length;
        tail = (tail + part.toString('latin1')).slice(-600);
      });
      source.on('end', () => left || done(ending(status, tail)));
      source.on('close', () => left || done(`cut after ${status}`));
      source.on('error', () => {});
    });
    stream.on('error', error => left || done(status ? `cut after ${status}` : `no answer: ${error.code}`));
  });
}

function overOne(path, headers, body) {
  const request = http.request(new URL(path, url), {
    method: 'POST',
    agent,
    headers: { ...headers, 'content-length': Buffer.byteLength(body) },
  });
  request.end(body);
  return {
    stream: request,
    onHead: use => request.on('response', response => use(response.statusCode, response)),
    leave: () => request.destroy(),
  };
}

function overTwo(path, headers, body) {
  const place = Math.floor(Math.random() * 20);
  if (!sessions[place] || sessions[place].closed || sessions[place].destroyed) {
    sessions[place] = http2.connect(url);
    sessions[place].on('error', () => {});
    sessions[place].setMaxListeners(0);
  }
  const request = sessions[place].request({ ':method': 'POST', ':path': path, ...headers });
  request.end(body);
  return {
    stream: request,
    onHead: use => request.on('response', head => use(head[':status'], request)),
    leave: () => request.close(http2.constants.NGHTTP2_CANCEL),
  };
}

async function worker(n) {
  await sleep((n / runs) * ramp * 1000);
  while (!stopping) {
    const chosen = draw();
    const { kind, fault } = chosen;
    if (fault.outcome) {
      tally.begun++;
      count(tally.outcomes, fault.outcome);
    }
    count(tally.kinds, kind.name);
    count(tally.faults, fault.name);
    tally.active++;
    const got = await run(chosen);
    tally.active--;
    if (got !== fault.got) tally.at.push(Math.round(performance.now() / 1000));
    if (got !== fault.got) count(tally.wrong, `${kind.name}, ${fault.name}: ${got} instead of ${fault.got}`);
    if (/^no answer/.test(got)) await sleep(200);
  }
}

process.on('disconnect', () => process.exit());
process.on('message', message => {
  if (message === 'stop') stopping = true;
  if (message === 'tell') process.send(tally);
});
await Promise.all(Array.from({ length: runs }, (_, n) => worker(n)));
for (const session of sessions) session?.close();
agent.destroy();
process.send({ ...tally, over: true });
