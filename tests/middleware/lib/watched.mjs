// A scripted agent, the gateway before it and the real client, for as long as a suite runs: a stream comes in, what the
// client makes of it and every byte that it would have been sent go out.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { startGateway } from '../../clients/lib/gateway.mjs';
import { askForRun } from '../../clients/lib/net.mjs';
import { startClient } from '../../versions/lib/client.mjs';
import { configOf } from './config.mjs';
import { startScriptedAgent, withPauses } from './scripted-agent.mjs';

/** `routes` as for configOf. The result plays `stream` on /path: `{ report, raw }`. */
export function watched(routes) {
  let agent, gateway, client, scripts = 0;
  before(async () => {
    agent = await startScriptedAgent();
    gateway = await startGateway(configOf(routes), { agent: agent.url });
    client = await startClient('1.0.0');
  });
  after(async () => {
    client?.close();
    assert.equal(await gateway?.stop(), 0);
    await agent?.close();
  });
  return async (path, stream) => {
    const script = `watched-${++scripts}`, url = `${gateway.url}${path}`, headers = { 'x-script': script };
    agent.put(script, withPauses(stream, script));
    const [report, raw] = await Promise.all([
      client.run({ url, headers, threadId: 't1', runId: 'r1' }), askForRun({ url }, headers, 'text/event-stream')]);
    assert.ok(raw.ended, 'the body ends properly');
    return { report, raw };
  };
}
