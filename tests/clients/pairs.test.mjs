// The released client through Tidegate with real agents: what a user of both would notice. A whole
// run, a run that the client leaves, a run whose agent dies, and what the metrics say afterwards.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { startClient } from './lib/client.mjs';
import { startGateway } from './lib/gateway.mjs';
import { until } from './lib/net.mjs';
import { startPythonAgent } from './lib/python-agent.mjs';

const CONFIG = `listen = "{listen}"
agent = "{agent}"
[admin]
listen = "{admin}"
`;

for (const name of ['fastapi', 'pydantic_ai']) {
  describe(`${name} agent`, () => {
    let agent, gateway, client;
    before(async () => {
      [client, agent] = await Promise.all([startClient(), startPythonAgent(name)]);
      gateway = await startGateway(CONFIG, { agent: agent.url });
    });
    after(async () => {
      client?.close();
      const code = await gateway?.stop();
      await agent?.stop();
      if (gateway) assert.equal(code, 0, 'the gateway ends with 0 when asked to stop');
    });

    /** One run of one word, with what else the job says. */
    const run = (word, more = {}) => client.run({
      url: gateway.url, runId: `${word}-run`, threadId: `${word}-thread`,
      messages: [{ id: 'user-1', role: 'user', content: word }], ...more,
    });
    const types = report => report.events.map(event => event.type);
    const assertWhole = report => {
      assert.equal(report.error, null);
      assert.deepEqual(report.failures, []);
      assert.deepEqual(report.unhandled, []);
      assert.deepEqual(report.console, []);
      assert.equal(types(report)[0], 'RUN_STARTED');
      assert.equal(types(report).at(-1), 'RUN_FINISHED');
      assert.ok(!report.stalled);
    };
    const outcomes = async () => Object.fromEntries(await Promise.all(
      ['finished', 'client_gone', 'truncated'].map(async outcome => [outcome, await gateway.metric('tidegate_runs_total', { outcome })])));

    test('text arrives as it was said', async () => {
      const report = await run('text');
      assertWhole(report);
      assert.deepEqual(report.events.filter(e => e.type === 'TEXT_MESSAGE_CONTENT').map(e => e.delta), ['Grüezi', ', ', '日本 👋']);
      assert.equal(report.messages.at(-1).role, 'assistant');
      assert.equal(report.messages.at(-1).content, 'Grüezi, 日本 👋');
      assert.equal(await agent.seen('text-run'), 'finished');
    });

    test('a tool that the agent runs arrives with arguments, result and answer', async () => {
      const report = await run('tool');
      assertWhole(report);
      const call = report.messages.find(m => m.toolCalls?.length).toolCalls[0];
      assert.equal(call.id, 'call-1');
      assert.deepEqual(call.function, { name: 'get_weather', arguments: '{"city":"Bern"}' });
      const result = report.messages.find(m => m.role === 'tool');
      assert.equal(result.toolCallId, 'call-1');
      assert.equal(result.content, 'rain in Bern');
      assert.equal(report.messages.at(-1).content, 'It says: rain in Bern');
    });

    test('shared state arrives as snapshot and changes', async () => {
      const report = await run('state', { state: { title: 'Old' } });
      assertWhole(report);
      assert.equal(types(report).filter(t => t === 'STATE_SNAPSHOT').length, 1);
      assert.equal(types(report).filter(t => t === 'STATE_DELTA').length, 2);
      assert.deepEqual(report.state, { title: 'Zürich ✓', steps: ['one', 'two'] });
    });

    test('I8 a client that leaves cancels the run at the agent within a second', async () => {
      const report = await run('slow', { abortAt: 5 });
      assert.ok(report.abortedAt, 'the client left in the middle');
      assert.ok(!types(report).includes('RUN_FINISHED'));
      const left = Date.now();
      assert.ok(await until(3_000, async () => await agent.seen('slow-run') === 'cancelled'),
        `the agent sees it ${await agent.seen('slow-run')}`);
      const after = Date.now() - Math.min(left, report.abortedAt);
      assert.ok(after < 1_000, `cancelled only after ${after} ms`);
    });

    test('I4 an agent that dies in the middle ends the run with one RUN_ERROR', async () => {
      let killed;
      const report = await run('slow', { runId: 'killed-run', tellAt: 5, onTold() { killed = agent.kill(); } });
      await killed;
      assert.ok(killed, 'the agent was killed in the middle');
      const last = report.events.at(-1);
      assert.equal(last.type, 'RUN_ERROR');
      assert.equal(last.code, 'UPSTREAM_TRUNCATED');
      assert.equal(types(report).filter(t => t === 'RUN_ERROR').length, 1);
      assert.ok(report.messages.at(-1).content.startsWith('0 '), 'what was said before is kept');
      assert.deepEqual(report.unhandled, []);
      assert.ok(!report.stalled);
    });

    test('the metrics say how each run ended and that none is left', async t => {
      const wanted = { finished: 3, client_gone: 1, truncated: 1 };
      await until(3_000, async () => JSON.stringify(await outcomes()) === JSON.stringify(wanted));
      assert.deepEqual(await outcomes(), wanted);
      assert.equal(await gateway.metric('tidegate_runs_total'), 5, 'and none ended otherwise');
      const active = (await gateway.metrics()).filter(s => s.name === 'tidegate_runs_active');
      assert.ok(active.length > 0, 'the gauge is there');
      assert.ok(active.every(s => s.value === 0));
      t.diagnostic(`outcomes ${JSON.stringify(wanted)}, no run active`);
    });
  });
}
