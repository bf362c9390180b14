// The page of an application: it reads a run and shows every event at once, as it comes, and counts the frames in which
// there was something new to show. `window.play(path, script, reader)` gives `{ events, frames, text, long }`.
import { HttpAgent } from 'client-1.0.0';

const input = { threadId: 't1', runId: 'r1', messages: [], state: {}, tools: [], context: [], forwardedProps: {} };

/** The ways to read a run: each calls `show` with every event. */
const READERS = {
  async client(url, headers, show) {
    await new HttpAgent({ url, headers, threadId: 't1' }).runAgent({ runId: 'r1' }, { onEvent({ event }) { show(event); } });
  },
  async fetch(url, headers, show) {
    const response = await fetch(url, {
      method: 'POST', body: JSON.stringify(input), headers: { ...headers, 'content-type': 'application/json', accept: 'text/event-stream' },
    });
    let rest = '';
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const frames = (rest + value).split('\n\n');
      rest = frames.pop();
      for (const frame of frames) if (frame.startsWith('data: ')) show(JSON.parse(frame.slice(6)));
    }
  },
};

/** Counts frames in which `node` has changed since the last; gives a function that stops and says how many. */
function changedFrames(node) {
  let frames = 0, changed = false, on = true;
  const observer = new MutationObserver(() => { changed = true; });
  observer.observe(node, { childList: true, characterData: true, subtree: true });
  const frame = () => {
    frames += changed ? 1 : 0;
    changed = false;
    if (on) requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
  return () => { on = false; observer.disconnect(); return frames; };
}

const nextFrame = () => new Promise(done => requestAnimationFrame(() => setTimeout(done)));

window.play = async (path, script, reader) => {
  const main = document.querySelector('main');
  main.replaceChildren();
  await nextFrame();
  let events = 0, long = 0;
  const tasks = new PerformanceObserver(list => { long += list.getEntries().length; });
  tasks.observe({ entryTypes: ['longtask'] });
  const stop = changedFrames(main);
  await READERS[reader](path, { 'x-script': script }, event => {
    events += 1;
    if (event.type === 'TEXT_MESSAGE_START') main.append(document.createElement('p'));
    if (event.type === 'TEXT_MESSAGE_CONTENT') main.lastChild.append(event.delta);
  });
  await nextFrame();
  tasks.disconnect();
  return { events, frames: stop(), text: main.textContent, long };
};
window.ready = true;
