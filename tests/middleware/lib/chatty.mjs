// Runs of chatty agents, made by chance: several things open at once, each said in many small deltas, so that a
// throttle has something to merge and many occasions to do it wrongly. Clients of today accept all of them.
import { frame } from '../../clients/lib/sse.mjs';
import { die } from './random.mjs';

const WORDS = ['tide ', 'gate ', 'é', '日本', '\n', '"', '\\', '👋 ', '{', '}', 'a', ' ', '\u2028', 'data: ', '\t', ',\u0301'];
const FACES = ['\ud83d', '\ude00']; // the halves of one character

/** What is open, by the words of the protocol: how it begins, goes on and ends. */
const FORMS = {
  text: {
    start: (messageId, { happens }) => ({ type: 'TEXT_MESSAGE_START', messageId, role: 'assistant', ...(happens(0.2) && { metadata: { tone: 'warm' } }) }),
    more: (messageId, delta) => ({ type: 'TEXT_MESSAGE_CONTENT', messageId, delta }),
    end: messageId => ({ type: 'TEXT_MESSAGE_END', messageId }),
  },
  call: {
    start: (toolCallId, { one }) => ({ type: 'TOOL_CALL_START', toolCallId, toolCallName: one(['search', 'read_file', 'plan']) }),
    more: (toolCallId, delta) => ({ type: 'TOOL_CALL_ARGS', toolCallId, delta }),
    end: toolCallId => ({ type: 'TOOL_CALL_END', toolCallId }),
  },
};

/** Changes of the state `{ n, list, title }`; some cannot be applied, and must stay as they are. */
const PATCHES = [
  [{ op: 'replace', path: '/n', value: 1 }],
  [{ op: 'add', path: '/list/-', value: 'more' }],
  [{ op: 'replace', path: '/title', value: 'Zürich ✓' }, { op: 'add', path: '/list/0', value: 'first' }],
  [{ op: 'test', path: '/n', value: 0 }, { op: 'replace', path: '/n', value: 7 }],
  [{ op: 'add', path: '/extra', value: {} }, { op: 'remove', path: '/missing' }],
  [{ op: 'remove', path: '/list/0' }],
];

const REASONING = id => ({
  open: [{ type: 'REASONING_START', messageId: id }, { type: 'REASONING_MESSAGE_START', messageId: id, role: 'reasoning' }],
  more: delta => ({ type: 'REASONING_MESSAGE_CONTENT', messageId: id, delta }),
  close: [{ type: 'REASONING_MESSAGE_END', messageId: id }, { type: 'REASONING_END', messageId: id }],
});

/** The events of one run. */
export function chatty(seed) {
  const chance = die(seed), { below, happens, one } = chance;
  const run = { threadId: 't1', runId: 'r1' }, events = [{ type: 'RUN_STARTED', ...run }];
  const open = [];
  let last = 0, half = null;
  const more = form => {
    // The second half of a character belongs into the item that has the first.
    const delta = half?.form === form ? FACES[1] : happens(0.05) && !half && form.kind === 'text' ? FACES[0] : one(WORDS) + (happens(0.3) ? one(WORDS) : '');
    half = half?.form === form ? null : delta === FACES[0] ? { form } : half;
    events.push({
      ...FORMS[form.kind].more(form.id, delta),
      ...(happens(0.05) && { metadata: { [one(['a', 'b'])]: below(9) } }),
      ...(happens(0.1) && { timestamp: 1_700_000_000_000 + events.length }),
      ...(happens(0.03) && { rawEvent: { from: 'model', at: events.length } }),
    });
  };
  const end = form => {
    if (half?.form === form) more(form);
    events.push(FORMS[form.kind].end(form.id));
    open.splice(open.indexOf(form), 1);
    if (form.kind !== 'call' || happens(0.3)) return;
    events.push({ type: 'TOOL_CALL_RESULT', messageId: `result-${form.id}`, toolCallId: form.id, content: one(WORDS), role: 'tool' });
  };
  events.push({ type: 'STATE_SNAPSHOT', snapshot: { n: 0, list: ['x'], title: '' } });
  for (let turn = 0; turn < 120; turn += 1) {
    const dice = below(100);
    if (dice < 8 && open.length < 3) {
      const form = { kind: one(['text', 'text', 'call']), id: `item-${++last}` };
      open.push(form);
      events.push(FORMS[form.kind].start(form.id, chance));
    } else if (dice < 70 && open.length) {
      const form = one(open);
      for (let n = 1 + below(4); n > 0; n -= 1) more(form);
    } else if (dice < 75 && open.length) {
      end(one(open));
    } else if (dice < 82) {
      for (let n = 1 + below(3); n > 0; n -= 1) events.push({ type: 'STATE_DELTA', delta: one(PATCHES) });
    } else if (dice < 85) {
      for (let n = 1 + below(3); n > 0; n -= 1) events.push({ type: 'STATE_SNAPSHOT', snapshot: { n: 0, list: ['x', n], title: one(WORDS) } });
    } else if (dice < 88) {
      events.push(one([{ type: 'RAW', event: { turn } }, { type: 'CUSTOM', name: 'note', value: turn }, { type: 'OF_TOMORROW', turn }]));
    } else if (dice < 91) {
      events.push({ type: 'ACTIVITY_SNAPSHOT', messageId: 'activity', activityType: 'PROGRESS', content: { done: turn } });
      if (happens(0.7)) events.push({ type: 'ACTIVITY_DELTA', messageId: 'activity', activityType: 'PROGRESS', patch: [{ op: 'replace', path: '/done', value: -turn }] });
    } else if (dice < 94) {
      const id = `thought-${++last}`, thought = REASONING(id);
      events.push(...thought.open, ...Array.from({ length: 2 + below(8) }, () => thought.more(one(WORDS))), ...thought.close);
    } else if (dice < 97 && !open.length) {
      // A message in chunks: only the first says whose it is.
      const messageId = `item-${++last}`;
      events.push({ type: 'TEXT_MESSAGE_CHUNK', messageId, role: 'assistant', delta: one(WORDS) });
      for (let n = 1 + below(6); n > 0; n -= 1) events.push({ type: 'TEXT_MESSAGE_CHUNK', ...(happens(0.4) && { messageId }), delta: one(WORDS) });
    }
  }
  while (open.length) end(open[0]);
  events.push({ type: 'RUN_FINISHED', ...run });
  return events;
}

/** `count` such runs as streams: `{ name, kind, events, pieces, job }`. */
export const chattyStreams = count => Array.from({ length: count }, (_, seed) => {
  const events = chatty(seed);
  return { name: `chatty/${seed}`, kind: 'chatty', events, pieces: events.map(event => frame(JSON.stringify(event))), job: { threadId: 't1', runId: 'r1' } };
});
