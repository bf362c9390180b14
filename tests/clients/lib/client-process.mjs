// A real client in a process of its own: jobs come in over the channel, what an application would see
// goes out. In its own process because a cut body raises an unhandled rejection there, and because the
// console and the made-up identifiers are this client's alone.
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';

// Identifiers that the client makes up are numbered, so that two runs of one stream can be compared.
let minted = 0;
crypto.randomUUID = () => `00000000-0000-4000-8000-${String(++minted).padStart(12, '0')}`;
syncBuiltinESMExports();
const { HttpAgent } = await import('@ag-ui/client');

let lines = [], unhandled = [];
const show = x => x instanceof Error ? `${x.name}: ${x.message}` : typeof x === 'string' ? x : JSON.stringify(x);
for (const level of ['log', 'info', 'debug', 'warn', 'error']) {
  console[level] = (...args) => { lines.push(`${level}: ${args.map(show).join(' ')}`); };
}
process.on('unhandledRejection', reason => { unhandled.push(show(reason)); });

/** `fetch` whose body reaches the client one frame at a time, each worked off before the next. */
async function steadily(url, init) {
  const response = await fetch(url, init);
  const whole = new Uint8Array(await response.arrayBuffer());
  const binary = response.headers.get('content-type')?.includes('proto');
  const frames = binary ? framesOf(whole)
    : new TextDecoder().decode(whole).split(/(?<=\n\n)/).map(text => new TextEncoder().encode(text));
  const body = new ReadableStream({
    async pull(controller) {
      await new Promise(done => setTimeout(done, 1));
      if (frames.length) controller.enqueue(frames.shift());
      else controller.close();
    },
  });
  return new Response(body, { status: response.status, headers: response.headers });
}

/** The frames of a protobuf body, each with its length before it. */
function framesOf(body) {
  const frames = [];
  for (let at = 0; at < body.length;) {
    const end = at + 4 + new DataView(body.buffer, body.byteOffset + at).getUint32(0);
    frames.push(body.slice(at, end));
    at = end;
  }
  return frames;
}

async function run(job) {
  lines = []; unhandled = []; minted = 0;
  // The client asks for SSE of itself; what an application wants instead has to be said in a subclass.
  class Agent extends HttpAgent {
    get maxProtocolVersion() { return job.maxProtocolVersion ?? super.maxProtocolVersion; }
    requestInit(input) {
      const init = super.requestInit(input);
      return job.accept === undefined ? init : { ...init, headers: { ...init.headers, Accept: job.accept } };
    }
  }
  const report = { events: [], failures: [], error: null, stalled: false };
  const ask = job.steady ? steadily : fetch;
  const noting = async (url, init) => {
    const response = await ask(url, init);
    report.contentType = response.headers.get('content-type');
    return response;
  };
  const agent = new Agent({
    url: job.url, headers: job.headers ?? {}, threadId: job.threadId ?? 'thread-1',
    initialState: job.state ?? {}, initialMessages: job.messages ?? [],
    fetch: job.accept === undefined ? ask : noting,
  });
  const timer = setTimeout(() => { report.stalled = true; agent.abortRun(); }, job.timeout ?? 15_000);
  let seen = 0;
  try {
    const answer = await agent.runAgent({ runId: job.runId ?? 'run-1', tools: job.tools ?? [] }, {
      onEvent({ event }) {
        report.events.push(structuredClone(event));
        if (job.abortAt === ++seen) { report.abortedAt = Date.now(); agent.abortRun(); }
        if (job.tellAt === seen) process.send({ told: job.id });
      },
      onRunFailed({ error }) { report.failures.push(show(error)); },
    });
    report.result = answer.result ?? null;
    report.newMessages = answer.newMessages;
  } catch (error) {
    report.error = show(error);
  }
  clearTimeout(timer);
  await new Promise(done => setTimeout(done, 15)); // a late rejection belongs to this run
  return { ...report, messages: agent.messages, state: agent.state ?? null, console: lines, unhandled };
}

process.on('message', async job => {
  const report = await run(job);
  process.send({ id: job.id, report: JSON.parse(JSON.stringify(report).replaceAll(job.url, '<url>')) });
});
process.on('disconnect', () => process.exit(0));
process.send({ ready: true });
