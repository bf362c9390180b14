// Real clients end with the same messages and state with and without a throttle, whatever an agent says and however
// its pauses fall: current and old clients, the collection of streams, recordings of real agents, and chatty runs.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { startGateway } from '../clients/lib/gateway.mjs';
import { SHARED } from '../clients/lib/paths.mjs';
import { recorded } from '../versions/lib/agents.mjs';
import { concurrently, startClient } from '../versions/lib/client.mjs';
import { streams as ofToday } from '../versions/lib/streams.mjs';
import { difference, viewOf } from '../versions/lib/view.mjs';
import { chattyStreams } from './lib/chatty.mjs';
import { configOf, GUARDRAILS, THROTTLES } from './lib/config.mjs';
import { startScriptedAgent, withPauses } from './lib/scripted-agent.mjs';

const CLIENTS = ['1.0.0', '0.0.47'];
/** The runs of one client that go on at the same time. */
const RUNS = 12;
/** What chatty runs must come down to at least, lest a throttle that does nothing passes. */
const MERGED = 0.9;

const today = ofToday(), known = new Set(today.map(stream => stream.name));
const streams = [...today, ...recorded().filter(stream => !known.has(stream.name)), ...chattyStreams(48)];

/** What a path does, before the version of its client: without a throttle first, then those that must show the same. */
const GROUPS = {
  '': { base: '', paths: Object.keys(THROTTLES) },
  'with every guardrail': { base: GUARDRAILS, paths: ['window', 'instant'] },
};
const pathOf = (group, name, version) => [group && 'guarded', name, version].filter(Boolean).join('/');

const routes = {};
for (const version of CLIENTS) {
  const speaks = version === '1.0.0' ? '' : `client_version = "${version}"\n`;
  for (const [group, { base, paths }] of Object.entries(GROUPS)) {
    routes[pathOf(group, 'plain', version)] = `${speaks}${base}`;
    for (const name of paths) routes[pathOf(group, name, version)] = `${speaks}${base}\n${THROTTLES[name]}`;
  }
}

let agent, gateway;
const clients = new Map();
before(async () => {
  agent = await startScriptedAgent();
  gateway = await startGateway(configOf(routes), { agent: agent.url });
  for (const version of CLIENTS) clients.set(version, await startClient(version));
});
after(async () => {
  for (const client of clients.values()) client.close();
  const code = await gateway?.stop();
  await agent?.close();
  assert.equal(code, 0, 'the gateway ends with 0 when asked to stop');
});

/** What the client shows of every stream on one path. Pauses differ from path to path. */
const shownOn = (path, version) => concurrently(streams, RUNS, async stream => {
  const script = encodeURIComponent(`${stream.name} on ${path}`);
  agent.put(script, withPauses(stream, script));
  const report = await clients.get(version).run({ ...stream.job, url: `${gateway.url}${path}`, headers: { 'x-script': script } });
  const { runs, steps, custom, raw } = viewOf(report);
  return { error: report.error, messages: report.messages, state: report.state, runs, steps, custom, raw, count: report.events.length };
});

/** Identifiers that a client makes up are numbered, so that two runs of one stream can be compared. */
function numbered(shown, stream) {
  const said = Buffer.concat(stream.pieces).toString(), made = new Map();
  const text = JSON.stringify({ ...shown, count: undefined });
  return JSON.parse(text.replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, id => {
    if (said.includes(id)) return id;
    if (!made.has(id)) made.set(id, `made-${made.size + 1}`);
    return made.get(id);
  }));
}

/** Where two lists of what was shown differ, seen as `as` does. Of a run that a client rejects, only that it does is compared. */
function differences(wanted, got, as = one => one) {
  return streams.flatMap((stream, at) => {
    const [one, other] = [wanted[at], got[at]].map(shown => as(numbered(wanted[at].error === null ? shown : { error: shown.error }, stream)));
    const found = difference(one, other);
    return found ? [`${stream.name}: ${found}`] : [];
  });
}

/** Whether a stream speaks of calls that nobody began: which tool that was no policy can know, so it shows nothing of it. */
function speaksOfUnknownCalls({ events, job }) {
  const begun = new Set((job.messages ?? []).flatMap(message => message.toolCalls ?? []).map(call => call.id));
  const spoken = event => {
    if (event.type === 'TOOL_CALL_RESULT') return [event.toolCallId];
    return event.type === 'RUN_FINISHED' ? event.outcome?.interrupts?.map?.(one => one.toolCallId) ?? [] : [];
  };
  for (const event of events) if (/^TOOL_CALL_(START|CHUNK)$/.test(event.type)) begun.add(event.toolCallId);
  return events.flatMap(spoken).some(id => id !== undefined && !begun.has(id));
}

/** What is shown without a throttle, by client and group. */
const shown = new Map();

const eventsIn = (shown, kind) => shown.reduce((sum, one, at) => sum + (streams[at].kind === kind ? one.count : 0), 0);

for (const version of CLIENTS) {
  for (const [group, { paths }] of Object.entries(GROUPS)) {
    describe(`I3 client ${version} ${group}`.trim(), () => {
      let plain;
      before(async () => {
        plain = await shownOn(pathOf(group, 'plain', version), version);
        shown.set(`${version} ${group}`, plain);
      });

      test('two runs without a throttle show the same', async t => {
        assert.equal(differences(plain, await shownOn(pathOf(group, 'plain', version), version)).join('\n'), '');
        t.diagnostic(`${plain.length} streams, ${plain.filter(one => one.error !== null).length} of which the client rejects`);
        assert.deepEqual(streams.filter((stream, at) => stream.kind === 'chatty' && plain[at].error !== null).map(stream => stream.name), []);
      });
      for (const name of paths) {
        test(`the same with ${THROTTLES[name]}`, async t => {
          const throttled = await shownOn(pathOf(group, name, version), version);
          assert.equal(differences(plain, throttled).join('\n'), '');
          const [before, after] = [eventsIn(plain, 'chatty'), eventsIn(throttled, 'chatty')];
          t.diagnostic(`${before} events of chatty runs became ${after}`);
          if (name !== 'instant') assert.ok(after < before * MERGED, `${after} of ${before} events are left`);
        });
      }
    });
  }
}

test('client 1.0.0 shows through the guardrails what it shows without them', () => {
  const [without, through] = Object.keys(GROUPS).map(group => shown.get(`1.0.0 ${group}`));
  // A rejected stream is repaired, and a result that a snapshot names anew keeps its name, and so its place.
  const unnamed = one => ({
    ...one, messages: one.messages?.map(message => JSON.stringify(message.role === 'tool' ? { ...message, id: '' } : message)).sort(),
  });
  const repaired = through.map((one, at) => without[at].error === null && !speaksOfUnknownCalls(streams[at]) ? one : without[at]);
  assert.equal(differences(without, repaired, unnamed).join('\n'), '');
});

test('what was played', t => {
  t.diagnostic(`${streams.length} streams, each ${CLIENTS.length * (2 * Object.keys(GROUPS).length + Object.values(GROUPS).flatMap(group => group.paths).length)} times`);
  if (recorded().length === 0) t.diagnostic(`only streams of our own: no recordings at ${SHARED}`);
});
