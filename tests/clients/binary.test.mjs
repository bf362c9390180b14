// Clients and agents of different encodings meet: through Tidegate a client that reads protobuf sees of an
// agent that sends SSE exactly what it sees of one that uses the reference encoder, and the other way round.
// The streams are the specification's, and recordings of agents that sent protobuf.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { EventEncoder } from '@ag-ui/encoder';
import { startClient } from './lib/client.mjs';
import { startGateway } from './lib/gateway.mjs';
import { exchange } from './lib/net.mjs';
import { SHARED } from './lib/paths.mjs';
import { split, startReplayAgent } from './lib/replay-agent.mjs';
import { payloads, typeOf } from './lib/sse.mjs';
import { conformanceStreams, recordings } from './lib/streams.mjs';

const PROTOBUF = 'application/vnd.ag-ui.event+proto';
const config = truncated => `listen = "{listen}"
[admin]
listen = "{admin}"
[agents.main]
url = "{agent}"
[[routes]]
path = "/"
agent = "main"
on_error = { truncated = "${truncated}" }
`;

const encoder = new EventEncoder({ accept: PROTOBUF });
/** The frames that the reference encoder makes of a stream, or why it makes none that a client could read. */
function encoded(stream) {
  try {
    const pieces = stream.pieces.map(p => Buffer.from(encoder.encodeBinary(JSON.parse(payloads(p)[0]))));
    if (pieces.some(piece => piece.length === 4)) return { refused: 'an empty frame, which ends every client' };
    if (pieces.some(piece => piece.includes('undefined'))) return { refused: 'a missing member, written as a word' };
    return { pieces };
  } catch (error) {
    return { refused: String(error.message).slice(0, 60) };
  }
}

const all = conformanceStreams().map(stream => ({ ...stream, ...{ binary: encoded(stream) } }));
const streams = all.filter(s => s.binary.pieces), refused = all.filter(s => s.binary.refused);
const recorded = recordings().others;
const noShared = all.length === 0 && `no recordings at ${SHARED}`;
const counts = { 'streams from SSE to protobuf': 0, 'streams from protobuf to SSE': 0, 'frames forwarded as they came': 0, 'streams with a named loss': 0 };

let agent, client, plain, strict;
before(async () => {
  agent = await startReplayAgent();
  plain = await startGateway(config('pass'), { agent: agent.url });
  strict = await startGateway(config('run_error'), { agent: agent.url });
  client = await startClient();
});
after(async () => {
  client?.close();
  const codes = await Promise.all([plain, strict].filter(Boolean).map(gateway => gateway.stop()));
  await agent?.close();
  for (const code of codes) assert.equal(code, 0, 'a gateway ends with 0 when asked to stop');
});

function play(name, pieces, type, more = {}) {
  agent.put(name, { pieces, headers: { 'content-type': type }, ...more });
  return { 'x-script': name };
}

/** What the client shows; a stream that it rejects is shown to it again, a frame at a time. */
async function seen(target, headers, accept, job) {
  const ask = { ...job, url: target.url, headers, accept };
  const report = await client.run(ask);
  return report.error === null ? report : client.run({ ...ask, steady: true });
}

const BODY = '{"threadId":"thread-1","runId":"run-1","messages":[],"state":{},"tools":[],"context":[],"forwardedProps":{}}';
const raw = (target, headers, accept) =>
  exchange(target.url, { method: 'POST', body: BODY, headers: { ...headers, 'content-type': 'application/json', accept } });

/** The messages of a protobuf body, in hexadecimal; the body must end with a whole frame. */
function frames(body) {
  const list = [];
  for (let at = 0; at < body.length;) {
    const end = at + 4 + body.readUInt32BE(at);
    assert.ok(end <= body.length, 'the last frame is whole');
    list.push(body.toString('hex', at + 4, end));
    at = end;
  }
  return list;
}

describe('a client sees the same whatever the encodings are', { skip: noShared }, () => {
  for (const stream of streams) {
    test(stream.name, async () => {
      const binary = play(`${stream.name} binary`, stream.binary.pieces, PROTOBUF);
      const sse = play(stream.name, stream.pieces, 'text/event-stream');
      const direct = await seen(agent, binary, PROTOBUF, stream.job);
      assert.deepEqual(await seen(plain, sse, PROTOBUF, stream.job), direct, 'SSE to protobuf');
      counts['streams from SSE to protobuf'] += 1;
      assert.deepEqual(await seen(plain, binary, 'text/event-stream', stream.job), direct, 'protobuf to SSE');
      counts['streams from protobuf to SSE'] += 1;
    });
  }
});

describe('between two protobuf sides frames are forwarded as they came', { skip: noShared }, () => {
  for (const size of [1, 7, 64, 1 << 20]) {
    test(`${size} bytes at a time`, async () => {
      for (const stream of streams) {
        const body = Buffer.concat(stream.binary.pieces);
        const answer = await raw(plain, play('verbatim', split(body, size), `${PROTOBUF.toUpperCase()}; v=1`), PROTOBUF);
        assert.equal(answer.headers['content-type'], PROTOBUF, 'clients compare the whole value');
        assert.ok(answer.body.equals(body), stream.name);
        counts['frames forwarded as they came'] += stream.binary.pieces.length;
      }
    });
  }
});

describe('recordings of agents that sent protobuf', { skip: noShared }, () => {
  for (const one of recorded) {
    test(one.name, async () => {
      const headers = play(one.name, one.pieces, PROTOBUF, { cut: one.cut });
      const binary = await raw(strict, headers, PROTOBUF);
      assert.ok(binary.ended, 'the body ends properly');
      const sent = frames(Buffer.concat(one.pieces));
      assert.deepEqual(frames(binary.body).slice(0, sent.length), sent);
      const text = payloads((await raw(strict, headers, 'text/event-stream')).body);
      assert.ok(['RUN_FINISHED', 'RUN_ERROR'].includes(typeOf(text.at(-1))), 'the run ends');
      assert.equal(text.length, frames(binary.body).length);
    });
  }
});

describe('what protobuf cannot say is named, and the run ends all the same', { skip: noShared }, () => {
  for (const stream of refused) {
    test(`${stream.name}: ${stream.binary.refused}`, async () => {
      const before = await named();
      const answer = await raw(strict, play(stream.name, stream.pieces, 'text/event-stream'), PROTOBUF);
      assert.equal(answer.status, 200);
      assert.ok(answer.ended);
      assert.ok(frames(answer.body).length > 0);
      const end = Buffer.from(frames(answer.body).at(-1), 'hex')[0] >> 3;
      assert.ok(end === 12 || end === 13 || end === 14, `the last frame ends a run, not arm ${end}`);
      assert.ok(await named() > before, 'the loss is counted');
      counts['streams with a named loss'] += 1;
    });
  }
  const named = async () =>
    await strict.metric('tidegate_conversions_total') + await strict.metric('tidegate_events_dropped_total');
});

describe('a protobuf stream that breaks off', () => {
  test('within a frame ends with one RUN_ERROR as a frame', { skip: noShared }, async () => {
    const whole = Buffer.concat(streams[0].binary.pieces.slice(0, 1));
    const half = streams[0].binary.pieces[1].subarray(0, 6);
    for (const cut of [true, false]) {
      const answer = await raw(strict, play('broken', [whole, half], PROTOBUF, { cut }), PROTOBUF);
      assert.ok(answer.ended);
      const list = frames(answer.body);
      assert.equal(list.length, 2);
      assert.equal(list[0], frames(whole)[0]);
      assert.ok(Buffer.from(list[1], 'hex').includes('UPSTREAM_TRUNCATED'));
    }
  });
});

test('the whole list was played', async t => {
  for (const [what, n] of Object.entries(counts)) t.diagnostic(`${n} ${what}`);
  if (noShared) { t.diagnostic(noShared); return; }
  assert.ok(await plain.metric('tidegate_runs_total', { client_encoding: 'protobuf' }) >= streams.length, 'the client was answered with protobuf');
  t.diagnostic(`${refused.length} of ${all.length} streams are not encoded by the reference`);
  assert.equal(counts['streams from SSE to protobuf'], streams.length);
  assert.equal(counts['streams from protobuf to SSE'], streams.length);
  assert.ok(streams.length > refused.length);
});
