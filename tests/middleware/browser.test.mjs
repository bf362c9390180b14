// A page in headless Chromium that shows a run as it comes: with a throttle it shows the same text and paints far less
// often. Frames with something new are counted by the page, paints by the browser's own trace.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import fs from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { chromium } from 'playwright-core';
import { startGateway } from '../clients/lib/gateway.mjs';
import { sleep } from '../clients/lib/net.mjs';
import { frame } from '../clients/lib/sse.mjs';
import { configOf } from './lib/config.mjs';
import { SSE, startScriptedAgent } from './lib/scripted-agent.mjs';

const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';
const TOKENS = 250, PER_SECOND = 100;
/** What is left of frames and paints at most: there are 20 windows a second, and far more frames. */
const LEFT = 0.6;
const TRIES = 3;

const here = name => fileURLToPath(new URL(name, import.meta.url));

/** The page's script with the client in it. */
async function bundle() {
  const { outputFiles } = await build({
    entryPoints: [here('lib/page.js')], bundle: true, format: 'esm', platform: 'browser', write: false, logLevel: 'error',
    nodePaths: [here('../versions/node_modules')],
  });
  return outputFiles[0].contents;
}

/** A run of 100 tokens a second. */
async function paced({ response, write }) {
  const say = event => write(frame(JSON.stringify(event)));
  response.writeHead(200, SSE);
  await say({ type: 'RUN_STARTED', threadId: 't1', runId: 'r1' });
  await say({ type: 'TEXT_MESSAGE_START', messageId: 'm1', role: 'assistant' });
  const began = performance.now();
  for (let n = 0; n < TOKENS; n += 1) {
    const wait = began + (n * 1000) / PER_SECOND - performance.now();
    if (wait > 0) await sleep(wait);
    await say({ type: 'TEXT_MESSAGE_CONTENT', messageId: 'm1', delta: `token ${n}, ` });
  }
  await say({ type: 'TEXT_MESSAGE_END', messageId: 'm1' });
  await say({ type: 'RUN_FINISHED', threadId: 't1', runId: 'r1' });
  response.end();
}

let agent, gateway, browser, page;
before(async () => {
  agent = await startScriptedAgent();
  gateway = await startGateway(configOf({ app: '', plain: '', throttled: 'throttle = { every = "50ms" }' }), { agent: agent.url });
  const script = await bundle();
  const serve = (path, type, body) => agent.put(path, ({ response }) => response.writeHead(200, { 'content-type': type }).end(body));
  serve('/page.html', 'text/html', fs.readFileSync(here('lib/page.html')));
  serve('/page.js', 'text/javascript', script);
  agent.put('paced', paced);
  browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  });
  page = await browser.newPage();
  page.on('pageerror', error => { throw error; });
  await page.goto(`${gateway.url}app/page.html`);
  await page.waitForFunction('window.ready');
});
after(async () => {
  await browser?.close();
  assert.equal(await gateway?.stop(), 0);
  await agent?.close();
});

/** What the page says of a run, with the paints that the browser counted. */
async function shown(path, reader) {
  await browser.startTracing(page, { categories: ['devtools.timeline'] });
  const seen = await page.evaluate(([path, reader]) => window.play(path, 'paced', reader), [`/${path}`, reader]);
  const trace = JSON.parse(await browser.stopTracing());
  return { ...seen, paints: trace.traceEvents.filter(event => event.name === 'Paint').length };
}

const line = ({ events, frames, paints, long }) => `${events} events, ${frames} frames with something new, ${paints} paints, ${long} long tasks`;

describe('a page that shows a run as it comes', () => {
  for (const reader of ['fetch', 'client']) {
    test(`paints less with a throttle, reading with ${reader === 'fetch' ? 'fetch' : '@ag-ui/client 1.0.0'}`, async t => {
      let plain, throttled;
      for (let left = TRIES; left > 0; left -= 1) {
        plain = await shown('plain', reader);
        throttled = await shown('throttled', reader);
        t.diagnostic(`without: ${line(plain)}`);
        t.diagnostic(`with:    ${line(throttled)}`);
        assert.equal(plain.events, TOKENS + 4);
        assert.equal(throttled.text, plain.text);
        if (throttled.frames < plain.frames * LEFT && throttled.paints < plain.paints * LEFT) break;
      }
      assert.ok(plain.paints >= plain.frames / 2, 'the browser paints');
      assert.ok(throttled.frames < plain.frames * LEFT, `${throttled.frames} of ${plain.frames} frames`);
      assert.ok(throttled.paints < plain.paints * LEFT, `${throttled.paints} of ${plain.paints} paints`);
    });
  }
});
