// The handle on a client process: one job at a time, its report as the answer.
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const SCRIPT = fileURLToPath(new URL('client-process.mjs', import.meta.url));

/**
 * Starts `HttpAgent` in a process of its own. `run(job)` gives what an application sees: events, error,
 * messages, state, console, unhandled rejections. A job: `{ url, headers, threadId, runId, messages,
 * state, tools, maxProtocolVersion, abortAt, tellAt, onTold, steady, accept }`; `abortAt` and `tellAt` count events.
 * Where `accept` says what the client asks for, the report has the `contentType` of the answer too.
 */
export async function startClient() {
  const child = fork(SCRIPT, { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
  let stderr = '', last = 0, gone = null;
  const waiting = new Map();
  child.stderr.on('data', part => { stderr += part; });
  await new Promise((done, fail) => {
    child.once('message', done);
    child.once('exit', code => fail(new Error(`the client process ended with ${code}: ${stderr}`)));
  });
  child.on('message', message => {
    if (message.told !== undefined) { waiting.get(message.told)?.onTold?.(); return; }
    waiting.get(message.id)?.done(message.report);
    waiting.delete(message.id);
  });
  child.on('exit', code => {
    gone = new Error(`the client process ended with ${code}: ${stderr}`);
    for (const { fail } of waiting.values()) fail(gone);
  });
  return {
    run(job) {
      if (gone) return Promise.reject(gone);
      const { onTold, ...rest } = job, id = ++last;
      return new Promise((done, fail) => {
        waiting.set(id, { done, fail, onTold });
        child.send({ ...rest, id });
      });
    },
    close() { child.removeAllListeners('exit'); child.disconnect(); },
  };
}
