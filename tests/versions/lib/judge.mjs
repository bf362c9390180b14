// What an application has to show of a run: the events that an agent said come in, with what a client made of them;
// what is missing comes out as texts. It looks for what was said, not for where a client puts it.
import fastJsonPatch from 'fast-json-patch';

/** Names of one idea under which the versions say it. */
const REASONING = { START: /^(REASONING|THINKING_TEXT)_MESSAGE_START$/, CONTENT: /^(REASONING|THINKING_TEXT)_MESSAGE_(CONTENT|CHUNK)$/ };

/** What was said: `{ texts, reasoning, calls, results, state, error }`. */
export function said(events) {
  const texts = new Map(), calls = new Map(), results = [], reasoning = [];
  let text, call, state, error = null, ended = false;
  for (const event of events) {
    if (event.type === 'RUN_STARTED') ended = false;
    if (ended) continue; // nobody reads what follows the end of a run
    switch (event.type) {
      case 'TEXT_MESSAGE_START':
      case 'TEXT_MESSAGE_CONTENT':
      case 'TEXT_MESSAGE_CHUNK':
        text = event.messageId ?? text;
        texts.set(text, (texts.get(text) ?? '') + (event.delta ?? ''));
        break;
      case 'TOOL_CALL_START':
      case 'TOOL_CALL_ARGS':
      case 'TOOL_CALL_CHUNK': {
        call = event.toolCallId ?? call;
        const known = calls.get(call) ?? { name: event.toolCallName, arguments: '' };
        calls.set(call, { ...known, arguments: known.arguments + (event.delta ?? '') });
        break;
      }
      case 'TOOL_CALL_RESULT':
        results.push({ toolCallId: event.toolCallId, content: event.content });
        break;
      case 'STATE_SNAPSHOT':
        state = structuredClone(event.snapshot);
        break;
      case 'STATE_DELTA':
        state = fastJsonPatch.applyPatch(state ?? {}, structuredClone(event.delta)).newDocument;
        break;
      case 'RUN_ERROR':
        error = { message: event.message, code: event.code };
        ended = true;
        break;
      case 'RUN_FINISHED':
        ended = true;
        break;
      default:
        if (REASONING.START.test(event.type)) reasoning.push('');
        if (REASONING.CONTENT.test(event.type)) {
          if (!reasoning.length) reasoning.push('');
          reasoning[reasoning.length - 1] += event.delta ?? '';
        }
    }
  }
  // The model's provider is told apart from the application's state by frameworks that share both.
  if (state) delete state.messages;
  return { texts: [...texts.values()].filter(Boolean), reasoning: reasoning.filter(Boolean), calls, results, state, error: ended ? error : { code: 'UPSTREAM_TRUNCATED' } };
}

const show = value => JSON.stringify(value).slice(0, 120);

/** What `view` lacks of `events`; `reasons`: whether the client knows reasoning messages. */
export function lacks(events, view, { reasons }) {
  const was = said(events), missing = [];
  if (view.error) return [`rejected: ${view.error}`];
  const by = role => view.messages.filter(one => one.role === role);
  const all = view.messages.flatMap(one => one.toolCalls ?? []);
  for (const text of was.texts) {
    if (!by('assistant').some(one => one.content.trim() === text.trim())) missing.push(`the text ${show(text)}`);
  }
  for (const text of reasons ? was.reasoning : []) {
    if (!by('reasoning').some(one => one.content === text)) missing.push(`the reasoning ${show(text)}`);
  }
  for (const [id, call] of was.calls) {
    if (!all.some(one => one.id === id && one.name === call.name && alike(read(one.arguments), read(call.arguments)))) missing.push(`the call ${show(call)}`);
  }
  for (const result of was.results) {
    if (!by('tool').some(one => one.toolCallId === result.toolCallId && one.content === result.content)) missing.push(`the result ${show(result)}`);
  }
  if (was.state !== undefined) {
    const { messages, ...state } = view.state ?? {};
    if (!alike(state, was.state)) missing.push(`the state ${show(was.state)}, there is ${show(state)}`);
  }
  const last = view.runs.at(-1);
  if (was.error && last?.end !== 'error') missing.push(`the error ${show(was.error)}`);
  if (was.error?.message && last?.message !== was.error.message) missing.push(`the error's text ${show(was.error.message)}, there is ${show(last)}`);
  if (was.error?.code && last?.code !== was.error.code) missing.push(`the error's code ${show(was.error.code)}, there is ${show(last)}`);
  if (!was.error && last?.end !== 'finished') missing.push(`the end of the run, there is ${show(last)}`);
  return missing;
}

/** Arguments by what they say: snapshots of frameworks spell them anew, as they trim texts. */
function read(text) {
  try { return JSON.parse(text); } catch { return text; }
}

const alike = (one, other) => JSON.stringify(sorted(one)) === JSON.stringify(sorted(other));
const sorted = value => Array.isArray(value) ? value.map(sorted)
  : value && typeof value === 'object' ? Object.fromEntries(Object.keys(value).sort().map(key => [key, sorted(value[key])])) : value;
