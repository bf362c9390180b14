// What a user of a running agent does with each of its words, and what has to come of it.
import { viewOf } from './view.mjs';

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const TOOL = { name: 'confirm', description: 'Asks the user', parameters: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] } };
const GREETING = 'Grüezi, 日本 👋';

const last = view => view.messages.at(-1)?.content;
const calls = view => view.messages.flatMap(one => one.toolCalls ?? []).map(call => `${call.name} ${call.arguments}`);
const user = (content, id = 'user-1') => ({ id, role: 'user', content });

/** What each word has to show: a name of it, and whether it is there. */
const SHOWN = {
  text: view => ({ 'the text': last(view) === GREETING }),
  tool: view => ({
    'the call': calls(view).includes('get_weather {"city":"Bern"}'),
    'the result': view.messages.some(one => one.role === 'tool' && one.content === 'rain in Bern'),
    'the answer': last(view) === 'It says: rain in Bern',
  }),
  frontend: view => ({ 'the call': calls(view).includes('confirm {"text":"Go on?"}') }),
  state: view => ({ 'the state': JSON.stringify(view.state) === '{"title":"Zürich ✓","steps":["one","two"]}' }),
  think: (view, version) => ({
    'the reasoning': version < 45 || view.messages.some(one => one.role === 'reasoning' && one.content === 'Let me think.'),
    'the text': last(view) === 'I have thought.',
  }),
  error: view => ({ 'the error': view.runs.at(-1)?.end === 'error' && /model failed/.test(view.runs.at(-1).message) }),
  image: view => ({ 'the answer': last(view) === GREETING }),
};

/** What a user does next, after the first run. */
const NEXT = {
  'frontend-resume': { add: { id: 'tool-1', role: 'tool', toolCallId: 'call-3', content: 'yes, go on' }, wants: 'It says: yes, go on' },
  'tool-next': { add: user('text', 'user-2'), wants: GREETING },
  'think-next': { add: user('text', 'user-2'), wants: GREETING },
};

/** Everything that is tried with a running agent. */
export const WORDS = [...Object.keys(SHOWN), ...Object.keys(NEXT)];

/** What is missing of a run of `word`, or null where the version has no such thing. */
export async function live(client, url, name, word) {
  const version = name.startsWith('0.0.') ? Number(name.slice(4)) : 1_000;
  const first = word.split('-')[0];
  const image = version < 49 ? { type: 'binary', mimeType: 'image/png', data: PIXEL } : { type: 'image', source: { type: 'data', value: PIXEL, mimeType: 'image/png' } };
  if (word === 'image' && version < 41) return null;
  const job = {
    url, headers: {}, threadId: `${word}-${name}`, runId: `${word}-${name}-1`, tools: first === 'frontend' ? [TOOL] : [],
    messages: [user(word === 'image' ? [{ type: 'text', text: 'text' }, image] : first)],
  };
  const missing = [];
  const check = (view, wants) => {
    if (view.error) { missing.push(`rejected: ${view.error}`); return; }
    for (const [what, there] of Object.entries(wants)) if (!there) missing.push(`${what}, there is ${JSON.stringify(view).slice(-200)}`);
  };
  const report = await client.run(job), view = viewOf(report);
  check(view, SHOWN[first](view, version));
  if (NEXT[word] && !view.error) {
    const again = viewOf(await client.run({ ...job, runId: `${word}-${name}-2`, messages: [...report.messages, NEXT[word].add] }));
    check(again, { 'the answer to what came next': last(again) === NEXT[word].wants });
  }
  return missing;
}
