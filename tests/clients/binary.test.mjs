// Clients and agents of different encodings meet: through Tidegate a client that reads protobuf sees of an
// agent that sends SSE exactly what it sees of one that uses the reference encoder, and the other way round.
// The streams are the specification's, and recordings of agents that sent protobuf.
import assert from 'node:assert/strict';
import http from 'node:http';
import { after, before, describe, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { startAskedAgent } from './lib/asked-agent.mjs';
import { startClient } from './lib/client.mjs';
import { binaryFrame, eventsOf, frames, PROTOBUF } from './lib/frames.mjs';
import { startGateway, withTruncated } from './lib/gateway.mjs';
import { askForRun, INPUT, until } from './lib/net.mjs';
import { SHARED } from './lib/paths.mjs';
import { split, startReplayAgent } from './lib/replay-agent.mjs';
import { frame, payloads } from './lib/sse.mjs';
import { conformanceStreams, recordings } from './lib/streams.mjs';

const SSE = 'text/event-stream';

/** The frames that the reference encoder makes of a stream, or why it makes none that a client could read. */
function encoded(stream) {
  try {
    const pieces = stream.pieces.map(piece => binaryFrame(JSON.parse(payloads(piece)[0])));
    if (pieces.some(piece => piece.length === 4)) return { refused: 'the reference writes an empty frame, which ends every client' };
    if (pieces.some(piece => piece.includes('undefined'))) return { refused: 'the reference writes a missing member as a word' };
    return { pieces };
  } catch (error) {
    return { refused: `the reference does not encode it: ${error.message.slice(0, 60)}` };
  }
}

const all = conformanceStreams().map(stream => ({ ...stream, binary: encoded(stream) }));
const streams = all.filter(s => s.binary.pieces), refused = all.filter(s => s.binary.refused);
const recorded = recordings().others;
const noShared = all.length === 0 && `no recordings at ${SHARED}`;
const counts = {
  'streams from SSE to protobuf': 0, 'streams from protobuf to SSE': 0, 'frames forwarded as they came': 0,
  'recordings of protobuf to both': 0, 'streams with a named loss': 0, 'streams tried for losses': 0, 'of these with one': 0,
  'cuts within a frame': 0,
};

let agent, client, plain, strict;
before(async () => {
  agent = await startReplayAgent();
  plain = await startGateway(withTruncated('pass'), { agent: agent.url });
  strict = await startGateway(withTruncated('run_error'), { agent: agent.url });
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

/** What the client shows, which has to come in the encoding `accept`; a rejected stream is shown again, a frame at a time. */
async function seen(target, headers, accept, job) {
  const ask = { ...job, url: target.url, headers, accept };
  let report = await client.run(ask);
  if (report.error !== null) report = await client.run({ ...ask, steady: true });
  const { contentType, ...rest } = report;
  assert.equal(contentType, accept, 'the client gets the encoding that it asks for');
  assert.ok(!rest.stalled);
  return rest;
}

const hex = list => list.map(frame => frame.toString('hex'));
/** Whether an event is the same after the reference has written and read it. An empty `resume` that it adds is no change. */
function survives(event) {
  try {
    const [read] = JSON.parse(JSON.stringify(eventsOf(binaryFrame(event))));
    if (read.input?.resume?.length === 0 && !event.input.resume) delete read.input.resume;
    return isDeepStrictEqual(read, event);
  } catch {
    return false;
  }
}
const isEnd = event => event.type === 'RUN_FINISHED' || event.type === 'RUN_ERROR';

describe('a client sees the same whatever the encodings are', { skip: noShared }, () => {
  for (const stream of streams) {
    test(stream.name, async () => {
      const binary = play(`${stream.name} binary`, stream.binary.pieces, PROTOBUF);
      const sse = play(stream.name, stream.pieces, SSE);
      const direct = await seen(agent, binary, PROTOBUF, stream.job);
      assert.deepEqual(await seen(plain, sse, PROTOBUF, stream.job), direct, 'SSE to protobuf');
      counts['streams from SSE to protobuf'] += 1;
      assert.deepEqual(await seen(plain, binary, SSE, stream.job), direct, 'protobuf to SSE');
      counts['streams from protobuf to SSE'] += 1;
    });
  }
});

describe('between two protobuf sides frames are forwarded as they came', { skip: noShared }, () => {
  for (const size of [1, 3, 7, 64, 1 << 20]) {
    test(`${size} bytes at a time`, async () => {
      for (const stream of streams) {
        const body = Buffer.concat(stream.binary.pieces);
        const answer = await askForRun(plain, play('verbatim', split(body, size), `${PROTOBUF.toUpperCase()}; v=1`), PROTOBUF);
        assert.equal(answer.headers['content-type'], PROTOBUF, 'clients compare the whole value');
        assert.ok(answer.ended);
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
      const sent = frames(Buffer.concat(one.pieces));
      const answer = await askForRun(strict, headers, PROTOBUF);
      assert.ok(answer.ended, 'the body ends properly');
      assert.deepEqual(hex(frames(answer.body).slice(0, sent.length)), hex(sent));
      const added = eventsOf(answer.body).slice(sent.length);
      const owed = isEnd(eventsOf(Buffer.concat(sent)).at(-1)) ? [] : ['UPSTREAM_TRUNCATED'];
      assert.deepEqual(added.map(event => event.code), owed);

      // Both clients show what they would of an agent that had sent just this, and had ended its body.
      const whole = play(`${one.name} whole`, frames(answer.body), PROTOBUF);
      const direct = await seen(agent, whole, PROTOBUF, one.job);
      assert.ok(direct.events.length > 0);
      assert.deepEqual(await seen(strict, headers, PROTOBUF, one.job), direct, 'protobuf to protobuf');
      assert.deepEqual(await seen(strict, headers, SSE, one.job), direct, 'protobuf to SSE');
      counts['recordings of protobuf to both'] += 1;
    });
  }
});

/** What the log of `strict` names since it was `length` long: type and shape of each loss. */
const namedSince = length => strict.log().slice(length).split('\n')
  .filter(line => /lost on the way|left out of the run/.test(line))
  .map(line => JSON.parse(line)).map(line => line.fields ?? line).map(line => `${line.type} ${line.reason ?? line.loss}`);

test('a loss is counted each time, and logged once a run and shape', async () => {
  const run = [
    { type: 'RUN_STARTED', threadId: 'thread-1', runId: 'run-1' },
    ...Array.from({ length: 3 }, () => ({ type: 'TYPE_OF_TOMORROW' })),
    ...Array.from({ length: 4 }, (_, i) => ({ type: 'CUSTOM', name: String(i), value: i, unknown: true })),
    { type: 'RUN_FINISHED', threadId: 'thread-1', runId: 'run-1' },
  ];
  const figures = async () => [
    await strict.metric('tidegate_events_dropped_total', { stage: 'protobuf', reason: 'unknown_type' }),
    await strict.metric('tidegate_conversions_total', { from: 'sse', to: 'protobuf', loss: 'unknown_member' }),
  ];
  const headers = play('repeated', run.map(event => frame(JSON.stringify(event))), SSE);
  for (let times = 1; times <= 2; times++) {
    const [[dropped, lost], logged] = [await figures(), strict.log().length];
    const events = eventsOf((await askForRun(strict, headers, PROTOBUF)).body);
    assert.deepEqual(events.map(event => event.type), ['RUN_STARTED', ...Array(4).fill('CUSTOM'), 'RUN_FINISHED']);
    assert.deepEqual(await figures(), [dropped + 3, lost + 4]);
    await until(2_000, () => /"outcome":"finished"/.test(strict.log().slice(logged))); // the line of the whole run is the last
    assert.deepEqual(namedSince(logged), ['TYPE_OF_TOMORROW unknown_type', 'CUSTOM unknown_member']);
  }
});

describe('what protobuf cannot say is named, and the run ends all the same', { skip: noShared }, () => {
  for (const stream of refused) {
    test(`${stream.name}: ${stream.binary.refused}`, async () => {
      const [lost, dropped, logged] = [await lossesCounted(), await eventsDropped(), strict.log().length];
      const answer = await askForRun(strict, play(stream.name, stream.pieces, SSE), PROTOBUF);
      assert.equal(answer.status, 200);
      assert.ok(answer.ended);
      const events = eventsOf(answer.body);
      assert.ok(isEnd(events.at(-1)), `the run ends, not with ${events.at(-1).type}`);
      assert.equal(events.filter(isEnd).length, 1);
      const missing = await eventsDropped() - dropped;
      assert.ok(missing + await lossesCounted() - lost > 0, 'the loss is counted');
      const types = stream.pieces.map(piece => JSON.parse(payloads(piece)[0]).type);
      assert.equal(events.length + missing, types.length + (isEnd({ type: types.at(-1) }) ? 0 : 1), 'each event that is missing is counted');

      assert.ok(await until(2_000, () => namedSince(logged).length > 0), 'the loss is logged');
      counts['streams with a named loss'] += 1;
    });
  }
  test('a stream has a loss exactly where the reference encoder changes one of its events', async () => {
    for (const stream of [...all, ...recordings().streams.filter(one => !one.cut)]) {
      const before = await lossesCounted() + await eventsDropped();
      const changed = payloads(Buffer.concat(stream.pieces)).filter(payload => !survives(JSON.parse(payload)));
      await askForRun(strict, play(stream.name, stream.pieces, SSE), PROTOBUF);
      const named = await lossesCounted() + await eventsDropped() - before;
      assert.equal(named > 0, changed.length > 0, `${stream.name}: ${named} losses named, changed: ${changed}`);
      counts['streams tried for losses'] += 1;
      counts['of these with one'] += named > 0 ? 1 : 0;
    }
  });
  const lossesCounted = () => strict.metric('tidegate_conversions_total');
  const eventsDropped = () => strict.metric('tidegate_events_dropped_total', { stage: 'protobuf' });
});

describe('a protobuf stream that breaks off within a frame ends with one RUN_ERROR as a frame', () => {
  const begun = binaryFrame({ type: 'RUN_STARTED', threadId: 'thread-1', runId: 'run-1' });
  const next = binaryFrame({ type: 'TEXT_MESSAGE_START', messageId: 'message-1', role: 'assistant' });
  for (const at of [1, 3, 4, 5, next.length - 1]) {
    for (const cut of [true, false]) {
      test(`after ${at} of ${next.length} bytes, ${cut ? 'the connection cut' : 'the body ended'}`, async () => {
        const headers = play('broken', [begun, next.subarray(0, at)], PROTOBUF, { cut });
        const answer = await askForRun(strict, headers, PROTOBUF);
        assert.ok(answer.ended);
        assert.ok(frames(answer.body)[0].equals(begun));
        const [, ...added] = eventsOf(answer.body);
        assert.deepEqual(added.map(event => [event.type, event.code]), [['RUN_ERROR', 'UPSTREAM_TRUNCATED']]);
        for (const accept of [PROTOBUF, SSE]) {
          const report = await seen(strict, headers, accept, {});
          assert.deepEqual(report.events.map(event => event.type), ['RUN_STARTED', 'RUN_ERROR'], accept);
          assert.equal(report.events[1].code, 'UPSTREAM_TRUNCATED');
          assert.deepEqual(report.unhandled, []);
        }
        counts['cuts within a frame'] += 1;
      });
    }
  }
});

describe('`encoding` of agent and route decides what is asked for and what is answered with', () => {
  const BOTH = `${PROTOBUF}, ${SSE};q=0.5`;
  let asked, gateway;
  before(async () => {
    asked = await startAskedAgent(function* () {
      yield { type: 'RUN_STARTED', threadId: 'thread-1', runId: 'run-1', protocolVersion: '1.0' };
      yield { type: 'RUN_FINISHED', threadId: 'thread-1', runId: 'run-1' };
    });
    const wanted = ['auto', 'sse', 'protobuf'];
    gateway = await startGateway([
      'listen = "{listen}"', 'threads = 1', '[admin]', 'listen = "{admin}"',
      ...wanted.map(of => `[agents.${of}]\nurl = "{agent}"\nencoding = "${of}"`),
      ...wanted.flatMap(route => wanted.map(of =>
        `[[routes]]\npath = "/${route}/${of}"\nagent = "${of}"\nencoding = "${route}"`)),
      '[agents.learned]\nurl = "{replay}"', '[[routes]]\npath = "/learned"\nagent = "learned"',
    ].join('\n'), { agent: asked.url, replay: agent.url });
  });
  after(async () => {
    await gateway?.stop();
    await asked?.close();
  });

  // What the route and the agent are configured to, what the client accepts; what it gets, what the agent is asked for.
  const table = [
    ['auto', 'auto', SSE, SSE, SSE],
    ['auto', 'auto', PROTOBUF, PROTOBUF, SSE],
    ['auto', 'auto', '*/*', SSE, SSE],
    ['auto', 'sse', `${PROTOBUF}, ${SSE}`, SSE, SSE],
    ['auto', 'protobuf', `${PROTOBUF}, ${SSE}`, PROTOBUF, BOTH],
    ['auto', 'protobuf', `${PROTOBUF};q=0.1, ${SSE}`, SSE, BOTH],
    ['auto', 'protobuf', SSE, SSE, BOTH],
    ['auto', 'protobuf', '*/*', SSE, BOTH],
    ['sse', 'protobuf', PROTOBUF, SSE, BOTH],
    ['protobuf', 'sse', '*/*', PROTOBUF, SSE],
    ['protobuf', 'sse', `${PROTOBUF};q=0.1, ${SSE}`, PROTOBUF, SSE],
    ['protobuf', 'sse', SSE, SSE, SSE],
    ['protobuf', 'protobuf', PROTOBUF, PROTOBUF, BOTH],
  ];
  for (const [route, of, accept, gets, asks] of table) {
    test(`route ${route}, agent ${of}: a client that accepts ${accept} gets ${gets}`, async () => {
      const report = await client.run({ url: `${gateway.url}${route}/${of}`, accept });
      assert.equal(report.error, null);
      assert.equal(report.contentType, gets);
      assert.deepEqual(report.events.map(event => event.type), ['RUN_STARTED', 'RUN_FINISHED']);
      assert.equal(asked.accepts.at(-1).replace(', application/json;q=0.9', ''), asks);
    });
  }

  test('an agent that has spoken protobuf of 1.0 is asked for it from then on, by clients that name it', async () => {
    const learned = { url: `${gateway.url}learned` };
    const headers = { ...play('learned', [
      binaryFrame({ type: 'RUN_STARTED', threadId: 'thread-1', runId: 'run-1', protocolVersion: '1.0' }),
      binaryFrame({ type: 'RUN_FINISHED', threadId: 'thread-1', runId: 'run-1' }),
    ], PROTOBUF) };
    const asks = [];
    for (const accept of [PROTOBUF, SSE, PROTOBUF]) {
      await seen(learned, headers, accept, {});
      asks.push(agent.headers('learned').accept);
    }
    assert.deepEqual(asks, [SSE, SSE, BOTH]);
  });
});

describe('a client that stops reading protobuf holds its agent back, and nobody else', () => {
  const STARTED = { type: 'RUN_STARTED', threadId: 'thread-1', runId: 'run-1' };
  const FINISHED = { type: 'RUN_FINISHED', threadId: 'thread-1', runId: 'run-1' };
  const COUNT = 1_200, delta = 'tide '.repeat(20_000); // 120 MB
  const IN_SOCKETS = 80 * 2 ** 20; // what two pairs of sockets may grow to
  const HELD = 2 ** 20; // what the gateway itself may hold of it
  for (const of of ['sse', 'protobuf']) {
    describe(`of an agent that sends ${of}`, () => {
      let asked, gateway;
      before(async () => {
        asked = await startAskedAgent(function* (request) {
          yield STARTED;
          if (request.headers['x-much']) {
            for (let i = 0; i < COUNT; i++) yield { type: 'CUSTOM', name: String(i), value: delta };
          }
          yield FINISHED;
        });
        gateway = await startGateway([
          'listen = "{listen}"', 'threads = 1', '[admin]', 'listen = "{admin}"', '[agents.main]', 'url = "{agent}"',
          `encoding = "${of}"`, '[[routes]]', 'path = "/"', 'agent = "main"',
        ].join('\n'), { agent: asked.url });
      });
      after(async () => {
        await gateway?.stop();
        await asked?.close();
      });

      /** A run of which the client has read nothing but the headers when its agent can say no more. */
      async function stuck(t) {
        const before = asked.written();
        const response = await new Promise((done, fail) => {
          const headers = { 'content-type': 'application/json', accept: PROTOBUF, 'x-much': 'yes' };
          const request = http.request(gateway.url, { method: 'POST', agent: false, headers }, done);
          request.on('error', fail);
          request.end(INPUT);
        });
        assert.equal(response.headers['content-type'], PROTOBUF);
        response.on('error', () => {});
        t.after(() => response.destroy());
        response.pause();
        let last = -1, since = Date.now();
        await until(10_000, () => {
          if (asked.written() !== last) [last, since] = [asked.written(), Date.now()];
          return Date.now() - since > 500;
        });
        const taken = asked.written() - before;
        assert.ok(taken > 0 && taken < IN_SOCKETS, `${taken} bytes were taken`);
        const held = await gateway.metric('tidegate_held_bytes');
        assert.ok(held < HELD, `the gateway holds ${held} bytes`);
        return response;
      }

      test('reading on, it gets every frame', async t => {
        const response = await stuck(t);
        const other = await client.run({ url: gateway.url, accept: PROTOBUF });
        assert.deepEqual(other.events.map(event => event.type), ['RUN_STARTED', 'RUN_FINISHED'], 'others are served');
        const parts = [];
        for await (const part of response) parts.push(part);
        const wanted = [STARTED, ...Array.from({ length: COUNT }, (_, i) => ({ type: 'CUSTOM', name: String(i), value: delta })), FINISHED];
        assert.ok(Buffer.concat(parts).equals(Buffer.concat(wanted.map(binaryFrame))));
        assert.ok(await gateway.metric('tidegate_client_stall_seconds_total') > 0.4, 'the waiting is measured');
      });

      test('leaving, it takes its agent with it', async t => {
        const gone = () => gateway.metric('tidegate_runs_total', { outcome: 'client_gone', client_encoding: 'protobuf' });
        const response = await stuck(t), left = asked.left(), before = await gone();
        response.destroy();
        assert.ok(await until(1_000, () => asked.left() === left + 1), 'the request to the agent is given up');
        assert.ok(await until(1_000, async () => await gone() === before + 1), 'the run is counted as left');
        assert.ok(await until(1_000, async () => await gateway.metric('tidegate_runs_active') === 0), 'and is over');
      });
    });
  }
});

test('the whole list was played', t => {
  for (const [what, n] of Object.entries(counts)) t.diagnostic(`${n} ${what}`);
  assert.equal(counts['cuts within a frame'], 10);
  if (noShared) { t.diagnostic(noShared); return; }
  t.diagnostic(`${refused.length} of ${all.length} streams are left out of the comparison:`);
  for (const stream of refused) t.diagnostic(`- ${stream.name}: ${stream.binary.refused}`);
  assert.equal(counts['streams from SSE to protobuf'], streams.length);
  assert.equal(counts['streams from protobuf to SSE'], streams.length);
  assert.equal(counts['streams with a named loss'], refused.length);
  assert.ok(counts['of these with one'] >= refused.length);
  assert.equal(counts['recordings of protobuf to both'], recorded.length);
  assert.ok(recorded.length > 0 && streams.length > 10 * refused.length);
});
