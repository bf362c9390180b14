// What an application can show of a run: a client's report comes in, the parts that the protocol gives a meaning go
// out in one shape for all versions. What a client keeps beside them (members nobody knows) is left out.

/** The members of a message that any version knows, by role. Others are not shown by anybody. */
const MEMBERS = {
  assistant: ['id', 'role', 'content', 'name', 'toolCalls', 'encryptedValue', 'metadata', 'subagentRunId'],
  tool: ['id', 'role', 'content', 'toolCallId', 'error', 'encryptedValue', 'metadata', 'subagentRunId'],
  reasoning: ['id', 'role', 'content', 'encryptedValue', 'metadata', 'subagentRunId'],
  activity: ['id', 'role', 'activityType', 'content', 'metadata', 'subagentRunId'],
  user: ['id', 'role', 'content', 'name', 'encryptedValue', 'metadata', 'subagentRunId'],
  system: ['id', 'role', 'content', 'name', 'encryptedValue', 'metadata', 'subagentRunId'],
  developer: ['id', 'role', 'content', 'name', 'encryptedValue', 'metadata', 'subagentRunId'],
};

/** `object` with these members only, those that are absent or undefined left out. */
export const pick = (object, members) => Object.fromEntries(
  members.filter(member => object[member] !== undefined).map(member => [member, object[member]]));

/** A part of a message: media as kind, type and where the bytes are, whatever the version calls them. */
function part(given) {
  if (given.type === 'text') return pick(given, ['type', 'text', 'id', 'metadata']);
  if (given.type === 'binary') return pick(given, ['type', 'mimeType', 'id', 'url', 'data', 'filename']);
  return { type: given.type, source: given.source, ...pick(given, ['id', 'metadata']) };
}

function message(given) {
  const shown = pick(given, MEMBERS[given.role] ?? Object.keys(given));
  if (Array.isArray(shown.content)) shown.content = shown.content.map(part);
  // An assistant without a text says nothing, whether the version writes '' or leaves it out.
  if (given.role === 'assistant') shown.content ??= '';
  if (shown.toolCalls) {
    shown.toolCalls = shown.toolCalls.map(call => ({
      id: call.id, name: call.function.name, arguments: call.function.arguments, ...pick(call, ['encryptedValue', 'metadata']),
    }));
    if (shown.toolCalls.length === 0) delete shown.toolCalls;
  }
  return shown;
}

/** The view: `{ error, runs, steps, custom, raw, subagents, messages, state }`. */
export function viewOf(report) {
  const view = { error: report.error, runs: [], steps: [], custom: [], raw: [], messages: report.messages.map(message), state: report.state };
  for (const event of report.events) {
    switch (event.type) {
      case 'RUN_STARTED':
        view.runs.push(pick(event, ['threadId', 'runId', 'parentRunId']));
        break;
      case 'RUN_FINISHED':
        Object.assign(open(view), { end: 'finished' }, pick(event, ['result', 'outcome', 'usage']));
        break;
      case 'RUN_ERROR':
        Object.assign(open(view), { end: 'error' }, pick(event, ['message', 'code']));
        break;
      case 'STEP_STARTED':
      case 'STEP_FINISHED':
        view.steps.push({ at: event.type === 'STEP_STARTED' ? 'start' : 'end', name: event.stepName, ...pick(event, ['subagentRunId']) });
        break;
      case 'CUSTOM':
        view.custom.push({ name: event.name, value: event.value });
        break;
      case 'RAW':
        view.raw.push(pick(event, ['event', 'source']));
        break;
    }
  }
  return JSON.parse(JSON.stringify(view));
}

/** The run that an ending belongs to; an error may come before any run, or after one has ended. */
function open(view) {
  const last = view.runs.at(-1);
  if (last && !last.end) return last;
  view.runs.push({});
  return view.runs.at(-1);
}

/** Where two views differ first, as text, or null. */
export function difference(wanted, got, path = '') {
  if (Object.is(wanted, got)) return null;
  if (typeof wanted !== 'object' || typeof got !== 'object' || !wanted || !got || Array.isArray(wanted) !== Array.isArray(got)) {
    return `${path || 'all'}: wanted ${short(wanted)}, got ${short(got)}`;
  }
  for (const key of new Set([...Object.keys(wanted), ...Object.keys(got)])) {
    const found = difference(wanted[key], got[key], path ? `${path}.${key}` : key);
    if (found) return found;
  }
  return null;
}

const short = value => (JSON.stringify(value) ?? 'nothing').slice(0, 160);
