// What curl gets of a gateway over every version of HTTP that it speaks, in the clear and by TLS: a client that shares no
// code with the gateway, nor with what the other suites ask with.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { startGateway } from '../clients/lib/gateway.mjs';
import { INPUT, until } from '../clients/lib/net.mjs';

const KEY = 'a key of the test';
const CONFIG = `listen = "{listen}"
admin = { listen = "{admin}" }
{tls}
[agents.main]
url = "http://127.0.0.1:{agent}/agui"
[defaults.limits]
body = "8MiB"
[[routes]]
path = "/"
agent = "main"
[[routes]]
path = "/locked"
agent = "main"
auth = { api_keys = [{ name = "test", sha256 = "${createHash('sha256').update(KEY).digest('hex')}" }] }
`;

/** How curl asks, what it shall say of the version, and whether it asks by TLS. */
const WAYS = [
  { name: 'HTTP/1.1', options: ['--http1.1'], version: '1.1' },
  { name: 'HTTP/1.1 that offers an upgrade', options: ['--http2'], version: '1.1' },
  // At once on one connection, curl 7.88 fails with this option before it sends anything, whoever it asks.
  { name: 'HTTP/2 by prior knowledge', options: ['--http2-prior-knowledge'], version: '2', alone: true },
  { name: 'HTTP/1.1 by TLS', options: ['--http1.1'], version: '1.1', tls: true },
  { name: 'HTTP/2 by TLS', options: ['--http2'], version: '2', tls: true },
];

const frame = event => `data: ${JSON.stringify(event)}\n\n`;
const STARTED = frame({ type: 'RUN_STARTED', threadId: 'thread-1', runId: 'run-1' });
const FINISHED = frame({ type: 'RUN_FINISHED', threadId: 'thread-1', runId: 'run-1' });
const CUSTOM = n => frame({ type: 'CUSTOM', name: 'n', value: n });

let agent, folder;
const gateways = {};

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tidegate-curl-'));
  execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2', '-subj', '/CN=localhost',
    '-addext', 'subjectAltName=DNS:localhost', '-keyout', join(folder, 'key.pem'), '-out', join(folder, 'cert.pem')], { stdio: 'ignore' });
  // It keeps what it was sent, and answers as the test says.
  agent = http.createServer(async (request, response) => {
    const parts = [];
    for await (const part of request) parts.push(part);
    agent.seen.push({ method: request.method, url: request.url, headers: request.headers, body: Buffer.concat(parts) });
    agent.plays(response, request);
  });
  agent.seen = [];
  await new Promise(done => agent.listen(0, '127.0.0.1', done));
  const port = agent.address().port;
  gateways.plain = await startGateway(CONFIG, { agent: port, tls: '' });
  gateways.tls = await startGateway(CONFIG, { agent: port, tls: `tls = { cert = "${folder}/cert.pem", key = "${folder}/key.pem" }` });
});

after(async () => {
  for (const gateway of Object.values(gateways)) await gateway.stop();
  agent.closeAllConnections();
  agent.close();
  rmSync(folder, { recursive: true });
});

const gatewayOf = way => gateways[way.tls ? 'tls' : 'plain'];
const urlOf = (way, path) => `${way.tls ? 'https' : 'http'}://localhost:${new URL(gatewayOf(way).url).port}${path}`;

/** Starts curl. `said` grows as it prints; `ends` gives its exit code. */
function curl(way, path, ...options) {
  const shared = ['-sS', '-N', '--max-time', '20', '--ipv4', '--cacert', join(folder, 'cert.pem')];
  const child = spawn('curl', [...shared, ...way.options, ...options, ...(path === undefined ? [] : [urlOf(way, path)])]);
  const running = { child, said: '', complaint: '', ends: new Promise(done => child.once('close', done)) };
  child.stdout.on('data', data => { running.said += data; });
  child.stderr.on('data', data => { running.complaint += data; });
  return running;
}

const RUN = ['-X', 'POST', '-H', 'content-type: application/json', '-H', 'accept: text/event-stream', '-d', INPUT];
const TAIL = ['-w', '\\n%{http_version} %{http_code}'];

/** What curl said and the version and status, once it has ended well. */
async function asked(way, path, ...options) {
  const running = curl(way, path, ...TAIL, ...options);
  assert.equal(await running.ends, 0, `${running.complaint}\n${running.said}`);
  const [, body, version, status] = running.said.match(/^([^]*)\n(\S+) (\d+)$/);
  assert.equal(version, way.version);
  return { body, status: Number(status) };
}

for (const way of WAYS) {
  test(`${way.name}: every event is there before the next is sent`, async () => {
    const release = [];
    agent.plays = async response => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const text of [STARTED, CUSTOM(1), CUSTOM(2), FINISHED]) {
        response.write(text);
        await new Promise(done => release.push(done));
      }
      response.end();
    };
    const running = curl(way, '/', ...RUN);
    let wanted = '';
    for (const text of [STARTED, CUSTOM(1), CUSTOM(2), FINISHED]) {
      wanted += text;
      assert.ok(await until(5000, () => running.said === wanted), `${running.said} ${running.complaint}`);
      release.pop()();
    }
    assert.equal(await running.ends, 0, running.complaint);
  });

  test(`${way.name}: a large body arrives as it was sent, also where it waits for leave`, async () => {
    agent.plays = response => response.end('taken');
    const file = join(folder, 'body');
    writeFileSync(file, randomBytes(5 << 20));
    for (const options of [['-H', 'expect: 100-continue'], ['-H', 'expect:'], ['-H', 'transfer-encoding: chunked']]) {
      const { body, status } = await asked(way, '/file', '-X', 'PUT', '--data-binary', `@${file}`, ...options);
      assert.deepEqual([status, body], [200, 'taken'], String(options));
      assert.ok(agent.seen.at(-1).body.equals(readFileSync(file)), `${options}: other bytes arrived`);
    }
  });

  test(`${way.name}: a refusal is read whole, whether or not the body was`, async () => {
    const file = join(folder, 'large');
    writeFileSync(file, Buffer.alloc(9 << 20));
    const before = agent.seen.length;
    for (const [path, options, status, code] of [
      ['/locked', RUN, 401, 'UNAUTHORIZED'],
      ['/locked', [...RUN, '-H', 'x-api-key: another'], 401, 'UNAUTHORIZED'],
      ['/locked', ['-X', 'POST', '--data-binary', `@${file}`, '-H', 'expect:'], 401, 'UNAUTHORIZED'],
      ['/', ['-X', 'POST', '--data-binary', `@${file}`, '-H', 'expect:'], 413, 'BODY_TOO_LARGE'],
      ['/', ['-X', 'POST', '--data-binary', `@${file}`], 413, 'BODY_TOO_LARGE'],
      ['/a/../../b', ['--path-as-is'], 400, 'BAD_PATH'],
    ]) {
      const answer = await asked(way, path, ...options);
      assert.deepEqual([answer.status, JSON.parse(answer.body).code], [status, code], path);
    }
    assert.equal(agent.seen.length, before, 'nothing of it reached the agent');
    agent.plays = response => response.end('in');
    assert.equal((await asked(way, '/locked', ...RUN, '-H', `x-api-key: ${KEY}`)).body, 'in');
    assert.equal(agent.seen.at(-1).headers['x-api-key'], undefined, 'a key of the gateway is not for the agent');
  });

  test(`${way.name}: a client that is killed lets the agent go`, async () => {
    let left = false;
    agent.plays = response => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(STARTED);
      response.on('close', () => { left = true; });
    };
    const gone = () => gatewayOf(way).metric('tidegate_runs_total', { outcome: 'client_gone' });
    const before = await gone();
    const running = curl(way, '/', ...RUN);
    assert.ok(await until(5000, () => running.said === STARTED), running.complaint);
    running.child.kill('SIGKILL');
    assert.ok(await until(5000, async () => left && await gone() === before + 1));
  });

  test(`${way.name}: runs at once on as few connections as there may be`, { skip: way.alone }, async () => {
    agent.plays = async response => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(STARTED);
      await new Promise(done => setTimeout(done, 100));
      response.end(FINISHED);
    };
    const url = urlOf(way, '/');
    const ask = n => [...n > 0 ? ['--next', '-sS', '--cacert', join(folder, 'cert.pem'), ...way.options] : [], ...RUN, '-o', join(folder, `run-${n}`), '-w',
      '%{http_code} %{num_connects}\\n', url];
    const running = curl(way, undefined, '--parallel', ...Array.from({ length: 12 }, (_, n) => ask(n)).flat());
    assert.equal(await running.ends, 0, running.complaint);
    const lines = running.said.trim().split('\n').map(line => line.split(' '));
    assert.deepEqual(lines.map(([status]) => status), Array(12).fill('200'));
    for (let n = 0; n < 12; n++) assert.equal(readFileSync(join(folder, `run-${n}`), 'utf8'), STARTED + FINISHED);
    const connections = lines.reduce((sum, [, made]) => sum + Number(made), 0);
    if (way.version === '2') assert.ok(connections < 12, `${connections} connections`);
  });
}
