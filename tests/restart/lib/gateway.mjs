// Tidegate as a process: started, told by signals, looked at from outside.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';

const bin = process.env.TIDEGATE_BIN;
if (!bin) throw new Error('TIDEGATE_BIN names the binary');

/** A port that nobody listens on. */
export async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

export class Gateway {
  /** Starts it; resolves once it serves. `files`: the most file descriptors that it may have. */
  static async start(config, { overlap = false, files } = {}) {
    const admin = await freePort();
    const args = ['serve', '--config', config, '--admin', `127.0.0.1:${admin}`, ...(overlap ? ['--overlap'] : [])];
    const [command, all] = files ? ['bash', ['-c', `ulimit -n ${files}; exec "$0" "$@"`, bin, ...args]] : [bin, args];
    const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('TIDEGATE_')));
    const gateway = new Gateway();
    gateway.admin = admin;
    gateway.log = '';
    gateway.process = spawn(command, all, { env, stdio: ['ignore', 'ignore', 'pipe'] });
    gateway.ended = once(gateway.process, 'exit').then(([code, signal]) => code ?? signal);
    gateway.process.stderr.on('data', data => { gateway.log += data; });
    await gateway.says('tidegate serves');
    return gateway;
  }

  /** Waits until its log has this, `times` times. */
  async says(text, times = 1) {
    for (let n = 0; n < 1000; n++) {
      if (this.log.split(text).length > times) return;
      if (this.process.exitCode !== null) break;
      await new Promise(done => setTimeout(done, 10));
    }
    throw new Error(`the gateway never said "${text}":\n${this.log}`);
  }

  signal(name) {
    this.process.kill(name);
  }

  /** Ends it as a service manager does; its exit code. */
  async stop() {
    this.signal('SIGTERM');
    return await this.ended;
  }

  /** A figure, summed over the samples that have these labels. */
  async figure(name, ...labels) {
    const text = await (await fetch(`http://127.0.0.1:${this.admin}/metrics`)).text();
    const fits = line => line.startsWith(`${name}{`) || line.startsWith(`${name} `);
    const lines = text.split('\n').filter(line => fits(line) && labels.every(label => line.includes(label)));
    return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
  }

  /** Seconds of CPU that it has used. */
  cpu() {
    const fields = readFileSync(`/proc/${this.process.pid}/stat`, 'utf8').split(') ')[1].split(' ');
    return (Number(fields[11]) + Number(fields[12])) / 100;
  }
}
