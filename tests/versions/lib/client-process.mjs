// One released client in a process of its own: `client-process.mjs VERSION`. Jobs come in over the channel, what
// an application would see of each goes out. Several runs go on at the same time, each with an agent of its own.
import { createRequire } from 'node:module';

const version = process.argv[2];
const require = createRequire(import.meta.url);
const theirs = createRequire(require.resolve(`client-${version}`));
const { HttpAgent } = require(`client-${version}`);
const { tap } = theirs('rxjs');

/** Before this version nobody can subscribe, so events are looked at on their way to the messages. */
const SUBSCRIBES = version.startsWith('1.') || Number(version.split('.')[2]) >= 34;
/** What a run that does not end has to be given up after. */
const TIMEOUT = 10_000;

for (const level of ['log', 'info', 'debug', 'warn', 'error']) console[level] = () => {};
let unhandled = 0;
process.on('unhandledRejection', () => { unhandled += 1; });

/** The text of an error, a failed validation in one line. */
function show(error) {
  const text = String(error?.message ?? error);
  try {
    const first = issues => issues.flatMap(issue => issue.unionErrors
      ? issue.unionErrors.flatMap(one => first(one.issues ?? one.errors ?? [])).slice(0, 1)
      : [`${issue.code} at ${(issue.path ?? []).join('.')}: ${issue.message}`]);
    return `ZodError ${first(JSON.parse(text)).slice(0, 2).join('; ')}`.slice(0, 300);
  } catch {
    return text.replace(/\s+/g, ' ').slice(0, 300);
  }
}

async function run(job) {
  const report = { events: [], error: null };
  const note = event => { report.events.push(structuredClone(event)); };
  class Agent extends HttpAgent {
    apply(input, events, ...rest) {
      return super.apply(input, SUBSCRIBES ? events : events.pipe(tap(note)), ...rest);
    }
  }
  const agent = new Agent({
    url: job.url, headers: job.headers, threadId: job.threadId,
    initialState: job.state ?? {}, initialMessages: job.messages ?? [],
  });
  const timer = setTimeout(() => { report.error = `not ended after ${TIMEOUT} ms`; agent.abortRun(); }, TIMEOUT);
  try {
    await agent.runAgent({ runId: job.runId, tools: job.tools ?? [], ...job.more }, { onEvent({ event }) { note(event); } });
  } catch (error) {
    report.error ??= show(error);
  }
  clearTimeout(timer);
  return { ...report, messages: agent.messages, state: agent.state ?? null };
}

process.on('message', async job => {
  const report = await run(job);
  process.send({ id: job.id, report, unhandled });
});
process.on('disconnect', () => process.exit(0));
process.send({ ready: true });
