// What a version can show of what client 1.0.0 shows: one table, a line for each ability with its reason. A line
// changes only the view that is wanted, or (`both`) also the one that was got, where the version has no word for
// something or keeps it its own way. What no line excuses is a failure.
import { pick } from './view.mjs';

const number = version => version.startsWith('0.0.') ? Number(version.slice(4)) : 1000;
const texts = content => content.filter(part => part.type === 'text').map(part => part.text).join('');
const media = part => !['text', 'binary'].includes(part.type);

/** Changes the messages of a view: each by itself, `undefined` leaves one out. */
const each = change => (view, facts) => { view.messages = view.messages.map(one => change(one, facts)).filter(Boolean); };
/** Changes the parts of every message of `role` that has parts. */
const parts = (role, change) => each(one => one.role === role && Array.isArray(one.content)
  ? { ...one, content: one.content.map(change).filter(Boolean) } : one);
const without = (...members) => each(one => pick(one, Object.keys(one).filter(member => !members.includes(member))));
const runs = change => view => { view.runs = view.runs.map(change); };

/** Media as the parts of 0.0.41 had them, where its type and one place of the bytes are known. */
function asBinary(part) {
  const { type, value, mimeType } = part.source;
  if (!mimeType || !['data', 'url'].includes(type)) return undefined;
  return { type: 'binary', mimeType, [type]: value };
}

/** `below`: for versions before this one; `from`: not before this one. In the order in which they are applied. */
const TABLE = [
  // === Runs ===
  { below: 1000, why: 'cancelled is no outcome: RUN_ERROR says that the run did not succeed (§2 1.0.0, §3.16)',
    wanted: runs(run => run.outcome?.type === 'cancelled' ? { ...pick(run, ['threadId', 'runId', 'parentRunId']), end: 'error', code: 'cancelled' } : run) },
  { below: 1000, why: 'the outcome is a strict object of known kinds, other kinds read as success (§1.10, §3.14)',
    wanted: runs(run => run.outcome && { ...run, outcome: { success: { type: 'success' }, interrupt: pick(run.outcome, ['type', 'interrupts']) }[run.outcome.type] } || run) },
  { below: 54, why: 'outcomes are unknown (§2 0.0.54, §3.15)', both: runs(run => pick(run, Object.keys(run).filter(key => key !== 'outcome'))) },
  { below: 37, why: 'a stream is one run: what the later ones say belongs to it (§3.19)',
    wanted: view => { if (view.runs.length > 1) view.runs = [{ ...view.runs.at(-1), ...pick(view.runs[0], ['threadId', 'runId']) }]; } },
  { below: 34, why: 'the result of a run is stripped (§2 0.0.34)', both: runs(run => pick(run, Object.keys(run).filter(key => key !== 'result'))) },
  { below: 41, why: 'the parent of a run is stripped (§2 0.0.41)', both: runs(run => pick(run, Object.keys(run).filter(key => key !== 'parentRunId'))) },
  { below: 1000, why: 'usage is unknown before 0.0.58 and has fewer members before 1.0.0 (§2)', both: runs(run => pick(run, Object.keys(run).filter(key => key !== 'usage'))) },
  { below: 2000, why: 'the words of an error that stands for an ending without one are not prescribed',
    both: runs(run => ['cancelled', 'UPSTREAM_TRUNCATED'].includes(run.code) ? pick(run, Object.keys(run).filter(key => key !== 'message')) : run) },

  // === State, steps and the rest ===
  { below: 1000, why: 'STATE_SNAPSHOT null keeps the old state (§2)', wanted: (view, facts) => { if (facts.nullState) view.state = facts.stateBefore; } },
  { below: 59, why: 'steps belong to nobody; one of a subagent may carry its id in the name (§3.2)',
    both: view => { view.steps = view.steps.map(({ at, name, subagentRunId }) => ({ at, name: subagentRunId ? name : name.replace(/ \[[^\]]+\]$/, '') })); } },
  { below: 34, why: 'two steps are never open: inner ones are left out (§3.18)', wanted: view => {
    let open = 0;
    view.steps = view.steps.filter(step => step.at === 'start' ? open++ === 0 : --open === 0);
  } },
  { below: 1000, why: 'events that the version does not know may arrive as CUSTOM (§3.1, §3.2, §3.7, §3.15)',
    both: view => { view.custom = view.custom.filter(one => !/^(ag-ui\.|on_interrupt$)/.test(one.name)); } },

  // === Messages ===
  { below: 37, why: 'a streamed text is the assistant\'s (§2 0.0.37, §3.12)',
    wanted: each((one, facts) => facts.roles.has(one.id) && !facts.listed.has(one.id) ? undefined : one) },
  { below: 41, why: 'no activities (§2 0.0.41)', wanted: each(one => one.role === 'activity' ? undefined : one) },
  { below: 45, why: 'no reasoning messages (§2 0.0.45, §3.5)', wanted: each(one => one.role === 'reasoning' ? undefined : one) },
  { below: 45, why: 'no encrypted values (§2 0.0.45)', both: view => {
    without('encryptedValue')(view);
    each(one => one.toolCalls ? { ...one, toolCalls: one.toolCalls.map(call => pick(call, ['id', 'name', 'arguments', 'metadata'])) } : one)(view);
  } },
  { below: 48, why: 'a streamed text has no name (§2 0.0.48)',
    wanted: each((one, facts) => facts.named.has(one.id) && !facts.listed.has(one.id) ? pick(one, Object.keys(one).filter(key => key !== 'name')) : one) },
  { below: 36, why: 'a tool message has no error (§2 0.0.36)', both: without('error') },
  { below: 59, why: 'no metadata and no subagents (§2 0.0.59)', both: view => {
    without('metadata', 'subagentRunId')(view);
    each(one => one.toolCalls ? { ...one, toolCalls: one.toolCalls.map(call => pick(call, ['id', 'name', 'arguments', 'encryptedValue'])) } : one)(view);
  } },
  { below: 1000, why: 'what a tool says is a text: media are left out (§2 1.0.0, §3.9)',
    wanted: each(one => one.role === 'tool' && Array.isArray(one.content) ? { ...one, content: texts(one.content) } : one) },
  { below: 1000, why: 'parts have no id (§2 1.0.0)', both: parts('user', part => part.type === 'binary' ? part : pick(part, Object.keys(part).filter(key => key !== 'id'))) },
  { below: 1000, why: 'a file of the provider is no source (§2 1.0.0, §3.13)', wanted: parts('user', part => part.source?.type === 'file' ? undefined : part) },
  { below: 49, why: 'media are `binary`, which needs a type (§3.13)', wanted: parts('user', part => media(part) ? asBinary(part) : pick(part, ['type', 'text'])) },
  { below: 41, why: 'what a user says is a text: media are left out (§2 0.0.41, §3.13)',
    wanted: each(one => one.role === 'user' && Array.isArray(one.content) ? { ...one, content: texts(one.content) } : one) },
];

/** What the table has to know of a stream. */
export function factsOf(events) {
  const facts = {
    roles: new Set(), named: new Set(), listed: new Set(), nullState: false, stateBefore: {},
    retired: /"type":"(THINKING_|binary")/.test(JSON.stringify(events)),
    variants: [{ name: 'whole' }],
  };
  for (const event of events) {
    if (event.type === 'TEXT_MESSAGE_START' || event.type === 'TEXT_MESSAGE_CHUNK') {
      if (event.role && event.role !== 'assistant') facts.roles.add(event.messageId);
      if (event.name) facts.named.add(event.messageId);
    }
    if (event.type === 'MESSAGES_SNAPSHOT') for (const message of event.messages) facts.listed.add(message.id);
    if (event.type === 'STATE_SNAPSHOT' && event.snapshot === null) facts.nullState = true;
    else if (event.type === 'STATE_SNAPSHOT') facts.stateBefore = event.snapshot;
  }
  return facts;
}

const applies = (line, version) => number(version) < line.below && number(version) >= (line.from ?? 0);

/** What `version` has to show; `reference(variant)` is what client 1.0.0 shows. */
export function restrict(reference, version, facts) {
  const view = structuredClone(reference('whole'));
  for (const line of TABLE) if (applies(line, version)) (line.wanted ?? line.both)(view, facts);
  return view;
}

/** What `version` did show, as far as it can be compared. */
export function shown(view, version, facts) {
  const copy = structuredClone(view);
  for (const line of TABLE) if (applies(line, version) && line.both) line.both(copy, facts);
  return copy;
}
