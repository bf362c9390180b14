// With no middleware configured, a client sees through Tidegate what it sees without it: the same
// payloads byte for byte, and from the real client the same events, error, messages, state and
// console lines. The streams are the specification's, recordings of real agents, and odd ones of ours.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { startClient } from './lib/client.mjs';
import { startGateway, withTruncated } from './lib/gateway.mjs';
import { askForRun } from './lib/net.mjs';
import { SHARED } from './lib/paths.mjs';
import { split, startReplayAgent } from './lib/replay-agent.mjs';
import { frame, isPlainlyFramed, isTerminated, payloads } from './lib/sse.mjs';
import { conformanceStreams, ODD_PAYLOADS, oddFramings, recordings } from './lib/streams.mjs';

const DEFAULT = `listen = "{listen}"
agent = "{agent}"
[admin]
listen = "{admin}"
`;

const { streams: recorded, answers, others } = recordings();
const streams = [...conformanceStreams(), ...recorded];
const noShared = streams.length === 0 && `no recordings at ${SHARED}`;
const counts = { 'streams seen by the client': 0, 'events compared': 0, 'payloads compared': 0, 'runs ended by the gateway': 0, 'other answers': 0 };

let agent, client, transparent, byDefault;
before(async () => {
  agent = await startReplayAgent();
  transparent = await startGateway(withTruncated('pass'), { agent: agent.url });
  byDefault = await startGateway(DEFAULT, { agent: agent.url });
  client = await startClient();
});
after(async () => {
  client?.close();
  const started = [transparent, byDefault].filter(Boolean);
  const codes = await Promise.all(started.map(gateway => gateway.stop()));
  await agent?.close();
  for (const code of codes) assert.equal(code, 0, 'a gateway ends with 0 when asked to stop');
});

/** Puts a script and gives the request headers that choose it. */
function play(name, script) {
  agent.put(name, script);
  return { 'x-script': name };
}

/**
 * What the real client shows of a script, directly or through a gateway. A client that rejects a stream
 * forgets what it had read but not worked off, so what it shows hangs on the size of its reads: such a
 * stream is shown to it again, a frame at a time.
 */
async function seen(target, headers, job, { cut = false } = {}) {
  const report = await client.run({ ...job, url: target.url, headers });
  return report.error === null || cut ? report : client.run({ ...job, url: target.url, headers, steady: true });
}

/** The payloads that an agent which says this has sent. */
const sentBy = stream => payloads(Buffer.concat(stream.pieces), { loose: !stream.cut });

/** With `truncated = "pass"`, a body that is cut before its run has ended is cut for the client too. */
const staysCut = stream => Boolean(stream.cut) && !isTerminated(sentBy(stream));

const raw = (target, headers, body) => askForRun(target, headers, 'text/event-stream', body);

const texts = frames => frames.map(f => f.toString());

describe('I1 the real client sees the same', { skip: noShared }, () => {
  for (const stream of streams) {
    test(stream.name, async () => {
      const headers = play(stream.name, stream);
      const cut = staysCut(stream);
      const through = await seen(transparent, headers, stream.job, { cut });
      const askedThrough = agent.asked(stream.name);

      // A body that is cut after its run has ended leaves the gateway whole, and that is what is compared.
      const same = play(`${stream.name} again`, { ...stream, cut });
      const direct = await seen(agent, same, stream.job, { cut });
      assert.deepEqual(through, direct);
      if (!cut) assert.deepEqual(through.unhandled, []);
      assert.ok(!through.stalled);
      assert.equal(askedThrough.toString(), agent.asked(`${stream.name} again`).toString(), 'the request body');
      counts['streams seen by the client'] += 1;
      counts['events compared'] += through.events.length;
    });
  }
});

describe('I4 by default a stream without an end gains one RUN_ERROR, all others nothing', { skip: noShared }, () => {
  for (const stream of streams) {
    test(stream.name, async () => {
      const headers = play(stream.name, stream);
      const sent = sentBy(stream);
      const answer = await raw(byDefault, headers, stream.request && JSON.stringify(stream.request.body));
      const got = payloads(answer.body);
      assert.ok(answer.ended, 'the body ends properly');
      assert.deepEqual(texts(got.slice(0, sent.length)), texts(sent));
      const added = got.slice(sent.length);
      if (isTerminated(sent)) {
        assert.deepEqual(texts(added), []);
      } else {
        assert.equal(added.length, 1, `one event is added, not ${texts(added)}`);
        const error = JSON.parse(added[0]);
        assert.equal(error.type, 'RUN_ERROR');
        assert.equal(error.code, 'UPSTREAM_TRUNCATED');
        assert.ok(error.message.length > 0);
        counts['runs ended by the gateway'] += 1;
      }

      // The client shows exactly what it would show of an agent that had sent this itself.
      const through = await seen(byDefault, headers, stream.job);
      const direct = await seen(agent, play(`${stream.name} by default`, { ...stream, cut: false, pieces: got.map(frame) }), stream.job);
      assert.deepEqual(through, direct);
      assert.deepEqual(through.unhandled, []);
    });
  }
});

describe('I1 payloads are the same bytes however the stream is cut into pieces', () => {
  const cuts = {
    'as it came': stream => stream.pieces,
    'in one piece': stream => [Buffer.concat(stream.pieces)],
    'in small pieces': stream => {
      const body = Buffer.concat(stream.pieces);
      return split(body, Math.max(7, Math.ceil(body.length / 400)));
    },
  };
  for (const [how, cut] of Object.entries(cuts)) {
    test(`every stream ${how}`, { skip: noShared }, async () => {
      for (const stream of streams) {
        const sent = sentBy(stream);
        const answer = await raw(transparent, play(stream.name, { ...stream, pieces: cut(stream) }));
        assert.equal(answer.status, 200, stream.name);
        assert.equal(answer.ended, !staysCut(stream), `${stream.name}: the body ends properly`);
        assert.ok(isPlainlyFramed(answer.body), `${stream.name}: ${answer.body}`);
        assert.deepEqual(texts(payloads(answer.body)), texts(sent), stream.name);
        assert.ok(Buffer.concat(payloads(answer.body)).equals(Buffer.concat(sent)), `${stream.name}: bytes`);
        counts['payloads compared'] += sent.length;
      }
    });
  }
  for (const [how, body] of Object.entries(oddFramings())) {
    for (const size of [1, 64, body.length]) {
      test(`odd spellings with ${how}, ${size} bytes at a time`, async () => {
        const answer = await raw(transparent, play('odd', { pieces: split(body, size) }));
        assert.ok(answer.ended);
        assert.ok(isPlainlyFramed(answer.body), String(answer.body));
        assert.deepEqual(texts(payloads(answer.body)), ODD_PAYLOADS);
        counts['payloads compared'] += ODD_PAYLOADS.length;
      });
    }
  }
});

describe('an answer that is no event stream comes through as it is', { skip: noShared }, () => {
  for (const answer of answers) {
    test(answer.name, async () => {
      const headers = play(answer.name, answer);
      const body = JSON.stringify(answer.request.body);
      for (const gateway of [transparent, byDefault]) {
        const through = await raw(gateway, headers, body);
        assert.equal(through.status, answer.status);
        assert.equal(through.headers['content-type'], answer.headers['content-type']);
        assert.equal(through.body.toString(), Buffer.concat(answer.pieces).toString());
        assert.equal(agent.asked(answer.name).toString(), body, 'the request body');
        assert.deepEqual(await seen(gateway, headers, answer.job), await seen(agent, headers, answer.job));
      }
      counts['other answers'] += 1;
    });
  }
});

test('the whole list was played', t => {
  for (const [what, n] of Object.entries(counts)) t.diagnostic(`${n} ${what}`);
  t.diagnostic(`${others.length} recordings of other encodings not played here`);
  if (noShared) { t.diagnostic(noShared); return; }
  assert.equal(counts['streams seen by the client'], streams.length);
  assert.equal(counts['other answers'], answers.length);
  assert.equal(counts['runs ended by the gateway'],
    streams.filter(s => !isTerminated(sentBy(s))).length);
});
