// The handle on a released client in its own process: many jobs in, their reports out in the order of the jobs.
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const SCRIPT = fileURLToPath(new URL('client-process.mjs', import.meta.url));

/** The clients that are tried, oldest first; each is installed under its own name by package.json. */
export const CLIENTS = ['0.0.27', '0.0.30', '0.0.35', '0.0.36', '0.0.39', '0.0.41', '0.0.43', '0.0.45', '0.0.47',
  '0.0.49', '0.0.52', '0.0.54', '0.0.57', '0.0.59', '1.0.0'];

/**
 * Starts the client of a version. `run(job)` gives `{ events, error, messages, state }`; a job is
 * `{ url, headers, threadId, runId, messages, state, tools, more }`. `unhandled()` counts the rejections that no code
 * of an application could have caught.
 */
export async function startClient(version) {
  const child = fork(SCRIPT, [version], { stdio: ['ignore', 'ignore', 'pipe', 'ipc'], serialization: 'advanced' });
  let stderr = '', last = 0, unhandled = 0, gone = null;
  const waiting = new Map();
  child.stderr.on('data', part => { stderr += part; });
  child.on('exit', code => {
    gone = new Error(`client ${version} ended with ${code}: ${stderr}`);
    for (const { fail } of waiting.values()) fail(gone);
  });
  await new Promise((done, fail) => {
    child.once('message', done);
    child.once('exit', code => fail(new Error(`client ${version} ended with ${code}: ${stderr}`)));
  });
  child.on('message', message => {
    unhandled = message.unhandled;
    waiting.get(message.id).done(message.report);
    waiting.delete(message.id);
  });
  return {
    version,
    run(job) {
      if (gone) return Promise.reject(gone);
      const id = ++last;
      return new Promise((done, fail) => { waiting.set(id, { done, fail }); child.send({ ...job, id }); });
    },
    unhandled: () => unhandled,
    close() { if (child.connected) child.disconnect(); },
  };
}

/** Calls `work` for every item, `width` at a time, and gives the answers in the order of the items. */
export async function concurrently(items, width, work) {
  const answers = [];
  let next = 0;
  const worker = async () => {
    while (next < items.length) { const at = next++; answers[at] = await work(items[at]); }
  };
  await Promise.all(Array.from({ length: width }, worker));
  return answers;
}
