// A real agent in a Python process of its own, from tests/agents, with the environment made for it.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { ROOT, VENVS } from './paths.mjs';
import { exchange, freePort, until } from './net.mjs';

/**
 * Starts `tests/agents/NAME_agent.py` in the environment `venv`, with more variables. Gives
 * `{ url, seen(runId), kill(), stop() }`.
 */
export async function startPythonAgent(name, { venv = name, env = {} } = {}) {
  const python = path.join(VENVS, venv, 'bin/python');
  if (!fs.existsSync(python)) throw new Error(`no environment at ${python}: tests/run makes it for the suite that needs it`);
  const port = await freePort();
  const child = spawn(python, [path.join(ROOT, 'tests/agents', `${name}_agent.py`)], {
    env: { ...process.env, ...env, PORT: String(port), PYTHONDONTWRITEBYTECODE: '1' }, stdio: ['ignore', 'pipe', 'pipe'],
  });
  let log = '';
  child.stdout.on('data', part => { log += part; });
  child.stderr.on('data', part => { log += part; });
  const exit = new Promise(done => child.once('exit', done));
  const atExit = () => child.kill('SIGKILL');
  process.once('exit', atExit);

  const base = `http://127.0.0.1:${port}`;
  const seen = async () => JSON.parse((await exchange(`${base}/seen`)).body);
  const up = await until(60_000, () => child.exitCode !== null ? 'gone' : seen().then(() => true, () => false));
  if (up !== true) { child.kill('SIGKILL'); throw new Error(`the ${name} agent did not start (${up}):\n${log}`); }
  return {
    url: `${base}/agui`,
    log: () => log,
    /** What became of a run: running, finished, cancelled, failed, or undefined where it never began. */
    seen: async runId => (await seen())[runId],
    /** Ends it the hard way, in the middle of whatever it does. */
    async kill() { child.kill('SIGKILL'); await exit; },
    async stop() { child.kill('SIGKILL'); await exit; process.removeListener('exit', atExit); },
  };
}
