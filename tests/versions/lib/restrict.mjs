// What a version can show of what client 1.0.0 shows: one table, a line for each ability with its reason. A line
// changes only the view that is wanted, or (`both`) also the one that was got, where the version has no word for
// something or keeps it in its own way. What no line excuses is a failure.
import { pick } from './view.mjs';

const number = version => version.startsWith('0.0.') ? Number(version.slice(4)) : V1;
/** Versions in the table: `N` is 0.0.N, then 1.0.0, then all. */
const V1 = 1_000, ALL = 2_000;

const less = (object, ...members) => pick(object, Object.keys(object).filter(member => !members.includes(member)));
const texts = content => content.filter(part => part.type === 'text').map(part => part.text).join('');

/** Changes the messages of a view: each by itself, `undefined` leaves one out. */
const each = change => (view, facts) => { view.messages = view.messages.map(one => change(one, facts)).filter(Boolean); };
/** Changes the tool calls of all messages. */
const calls = change => each(one => one.toolCalls ? { ...one, toolCalls: one.toolCalls.map(change) } : one);
/** Changes the parts of what users say. */
const parts = change => each(one => one.role === 'user' && Array.isArray(one.content)
  ? { ...one, content: one.content.map(change).filter(Boolean) } : one);
const runs = change => view => { view.runs = view.runs.map(change); };
const several = (...changes) => (view, facts) => { for (const change of changes) change(view, facts); };

/** Media as the parts of 0.0.41 had them, where a type and a place of the bytes are known. */
function asBinary(part) {
  if (part.type === 'text') return pick(part, ['type', 'text']);
  if (part.type === 'binary') return part;
  const { type, value, mimeType } = part.source;
  return mimeType && ['data', 'url'].includes(type) ? { type: 'binary', mimeType, [type]: value } : undefined;
}

/** Messages of one id are one message: what they say follows one another. */
function joined(view) {
  const known = new Map(), list = [];
  for (const one of view.messages) {
    const before = known.get(one.id);
    if (before?.role === 'assistant' && one.role === 'assistant') {
      before.content += one.content;
      if (one.toolCalls) before.toolCalls = [...(before.toolCalls ?? []), ...one.toolCalls];
    } else {
      known.set(one.id, one);
      list.push(one);
    }
  }
  view.messages = list;
}

/** The results of tools right after the message that calls them, as they came. */
function besideCalls(view) {
  const owner = new Map(view.messages.flatMap(one => (one.toolCalls ?? []).map(call => [call.id, one])));
  const moved = view.messages.filter(one => one.role === 'tool' && owner.has(one.toolCallId));
  view.messages = view.messages.filter(one => !moved.includes(one))
    .flatMap(one => [one, ...moved.filter(tool => owner.get(tool.toolCallId) === one)]);
}

/** Messages of a role after all others. */
const last = role => (view, facts) => {
  if (!facts.snapshot) return;
  view.messages = [...view.messages.filter(one => one.role !== role), ...view.messages.filter(one => one.role === role)];
};

/** Messages of the last snapshot in its order, then the others. */
function asListed(view, facts) {
  const listed = facts.order.map(id => view.messages.find(one => one.id === id)).filter(Boolean);
  view.messages = [...listed, ...view.messages.filter(one => !listed.includes(one))];
}

/** Several runs of a stream as one: it begins with the first and ends with the last. */
function oneRun(view) {
  const begun = view.runs.filter(run => run.runId), rest = view.runs.filter(run => !run.runId);
  if (begun.length > 1) view.runs = [{ ...begun.at(-1), ...pick(begun[0], ['threadId', 'runId']) }, ...rest];
}

/** Steps of which no two are open: those inside another are left out. */
function stepsApart(view) {
  let open = 0;
  view.steps = view.steps.filter(step => step.at === 'start' ? open++ === 0 : --open === 0);
}

/** `below`: for versions before this one; `from`: not before this one. Applied in this order. §: of versions.md. */
const TABLE = [
  // === Runs ===
  { below: V1, why: 'cancelled is no outcome; without RUN_ERROR it would read as success (§1.10, §3.16)',
    wanted: runs(run => run.outcome?.type === 'cancelled' ? { ...pick(run, ['threadId', 'runId', 'parentRunId']), end: 'error', code: 'cancelled' } : run) },
  { below: V1, why: 'an outcome is a strict object of known kinds; success is what an unknown one reads as (§1.10, §3.14)',
    wanted: runs(run => run.outcome ? { ...run, outcome: { success: { type: 'success' }, interrupt: pick(run.outcome, ['type', 'interrupts']) }[run.outcome.type] } : run) },
  { below: 59, why: 'an interrupt belongs to no subagent (§2 0.0.59)',
    both: runs(run => run.outcome?.interrupts ? { ...run, outcome: { ...run.outcome, interrupts: run.outcome.interrupts.map(one => less(one, 'subagentRunId')) } } : run) },
  { below: 54, why: 'outcomes are unknown (§2 0.0.54, §3.15)', both: runs(run => less(run, 'outcome')) },
  { below: 41, why: 'the parent of a run is stripped (§2 0.0.41)', both: runs(run => less(run, 'parentRunId')) },
  { below: 37, why: 'a stream is one run (§2 0.0.37, §3.19)', wanted: oneRun },
  { below: 34, why: 'a RUN_ERROR that comes first ends the run that was asked for (§1.5)',
    both: (view, facts) => { if (facts.errorFirst) runs(run => less(run, 'threadId', 'runId'))(view); } },
  { below: 34, why: 'the result of a run is stripped (§2 0.0.34)', both: runs(run => less(run, 'result')) },
  { below: V1, why: 'usage is unknown before 0.0.58 and has fewer members before 1.0.0 (§2)', both: runs(run => less(run, 'usage')) },
  { below: ALL, why: 'a result of null and none are the same (§2 nulls, §3.23)', both: runs(run => run.result === null ? less(run, 'result') : run) },
  { below: ALL, why: 'the words of an error that is made of another ending are not prescribed',
    both: runs(run => ['cancelled', 'UPSTREAM_TRUNCATED'].includes(run.code) ? less(run, 'message') : run) },

  // === Steps and the rest ===
  { below: 59, why: 'a step belongs to nobody; its name may say to which subagent (§3.2)',
    both: view => { view.steps = view.steps.map(({ at, name }) => ({ at, name: name.replace(/ \[[^\]]+\]$/, '') })); } },
  { below: 34, why: 'two steps are never open (§2 0.0.34, §3.18)', wanted: stepsApart },
  { below: V1, why: 'what the version has no event for may arrive as CUSTOM (§3.1, §3.2, §3.7, §3.15)',
    both: view => { view.custom = view.custom.filter(one => !/^(ag-ui\.|on_interrupt$)/.test(one.name)); } },

  // === Which messages there are ===
  { below: ALL, why: 'identifiers of reasoning made of THINKING are made up, its title has no place (§4.1)',
    both: each((one, facts) => one.role === 'reasoning' && facts.thinking ? { ...less(one, 'metadata'), id: 'made up' } : one) },
  { below: 37, why: 'a streamed text is the assistant\'s (§2 0.0.37, §3.12)',
    wanted: each((one, facts) => facts.others.has(one.id) && !facts.listed.has(one.id) ? undefined : one) },
  { below: 30, why: 'no TOOL_CALL_RESULT: what tools say is left out unless a snapshot says it (§2 0.0.30, §3.10)',
    wanted: each((one, facts) => facts.results.has(one.id) && !facts.listed.has(one.id) ? undefined : one) },
  { below: 37, why: 'a text is closed before a snapshot: what follows is one of its own, also where the snapshot left it out (§3.17)',
    both: each((one, facts) => facts.orphans.has(one.id) ? undefined : one) },
  { from: 30, below: 34, why: 'results after which no message begins are read and not told (tried: 0.0.30)',
    wanted: each((one, facts) => facts.lastResults.has(one.id) ? undefined : one) },
  { below: 41, why: 'no activities (§2 0.0.41)', wanted: each(one => one.role === 'activity' ? undefined : one) },
  { below: 45, why: 'no reasoning messages in snapshots (§2 0.0.45, §3.13)', wanted: each(one => one.role === 'reasoning' ? undefined : one) },
  { from: 46, below: 58, why: 'an activity that a snapshot left out stays beside the new ones (§2 0.0.58)',
    both: each((one, facts) => facts.stale.activity.has(one.id) ? undefined : one) },
  { from: 50, below: 57, why: 'reasoning that a snapshot left out stays beside the new one (§2 0.0.57)',
    both: each((one, facts) => facts.stale.reasoning.has(one.id) ? undefined : one) },

  // === What messages hold ===
  { below: 48, why: 'a streamed text has no name (§2 0.0.48)',
    wanted: each((one, facts) => facts.named.has(one.id) && !facts.listed.has(one.id) ? less(one, 'name') : one) },
  { below: 36, why: 'a tool message has no error (§2 0.0.36)', both: each(one => less(one, 'error')) },
  { below: 45, why: 'no encrypted values (§2 0.0.45)', both: several(each(one => less(one, 'encryptedValue')), calls(call => less(call, 'encryptedValue'))) },
  { below: 59, why: 'no metadata, no subagents (§2 0.0.59)',
    both: several(each(one => less(one, 'metadata', 'subagentRunId')), calls(call => less(call, 'metadata'))) },
  { below: V1, why: 'what a tool says is a text; media are left out (§2 1.0.0, §3.9)',
    wanted: each(one => one.role === 'tool' && Array.isArray(one.content) ? { ...one, content: texts(one.content) } : one) },
  { below: V1, why: 'parts have no id, texts no metadata (§2 1.0.0)',
    both: parts(part => part.type === 'text' ? pick(part, ['type', 'text']) : less(part, 'id')) },
  { below: V1, why: 'a file that the provider keeps is no source (§2 1.0.0, §3.13)', wanted: parts(part => part.source?.type === 'file' ? undefined : part) },
  { from: 41, below: 49, why: 'media are `binary`, which needs a type (§2 0.0.49, §3.13)', wanted: parts(asBinary) },
  { below: 41, why: 'what a user says is a text; media are left out (§2 0.0.41, §3.13)',
    wanted: each(one => one.role === 'user' && Array.isArray(one.content) ? { ...one, content: texts(one.content) } : one) },

  // === Where messages stand ===
  { below: 44, why: 'a message that is opened again is a second one of the same id (§2 0.0.44)', both: joined },
  { below: 55, why: 'the result of a tool stands where it came, not at its call (§2 0.0.55)', both: besideCalls },
  { below: 46, why: 'a snapshot is the new list, later versions leave known messages in their places (compat L3)', wanted: asListed },
  { from: 41, below: 46, why: 'a snapshot deletes activities: they are told again behind it (§2 0.0.46, §3.8)', both: last('activity') },
  { from: 45, below: 50, why: 'a snapshot deletes reasoning: it is told again behind it (§2 0.0.50, §3.8)', both: last('reasoning') },
];

/** What a version does not read of a stream: client 1.0.0 is shown the stream without it, to say what is wanted. */
const UNREAD = [
  { below: 59, why: 'nothing follows RUN_ERROR, nor what stands for it (§2 0.0.59, §3.19)', of: events => {
    const error = events.findIndex(event => event.type === 'RUN_ERROR' || event.outcome?.type === 'cancelled');
    return error < 0 ? events : events.slice(0, error + 1);
  } },
  { below: V1, why: 'a state of null, 0, false or \'\' is not taken (§2 STATE_SNAPSHOT null)',
    of: events => events.filter(event => event.type !== 'STATE_SNAPSHOT' || event.snapshot) },
  { below: 45, why: 'no reasoning, so none that takes the text of its identifier (§1.4, §2 0.0.45)',
    of: events => events.filter(event => !/^(REASONING|THINKING)_/.test(event.type)) },
  { below: 41, why: 'the input that RUN_STARTED repeats is stripped (§2 0.0.41)',
    of: events => events.map(event => event.type === 'RUN_STARTED' ? less(event, 'input') : event) },
];

const applies = (line, version) => number(version) < line.below && number(version) >= (line.from ?? 0);

/** The part of a stream that `version` reads. */
export const readBy = (version, events) =>
  UNREAD.filter(line => applies(line, version)).reduce((rest, line) => line.of(rest), events);

/** What the table has to know of a stream. */
export function factsOf(events) {
  const facts = {
    /** Streamed texts that are not the assistant's or have a name, streamed results, messages of all snapshots, of the last. */
    others: new Set(), named: new Set(), results: new Set(), listed: new Set(), order: [], snapshot: events.some(event => event.type === 'MESSAGES_SNAPSHOT'),
    /** Texts that a snapshot left out while they were open; results after which no message begins. */
    orphans: new Set(), lastResults: new Set(),
    /** Messages that a snapshot with newer ones of their role left out. */
    stale: { activity: new Set(), reasoning: new Set() },
    errorFirst: events[0].type === 'RUN_ERROR',
    thinking: events.some(event => event.type.startsWith('THINKING_')),
    /** Whether only an agent from before 1.0 says this. */
    retired: /"type":"(THINKING_|binary")/.test(JSON.stringify(events)),
  };
  const open = new Set(), chunks = new Set(), streamed = { activity: new Set(), reasoning: new Set() };
  for (const event of events) {
    const chunk = event.type.endsWith('_CHUNK') && (event.messageId ?? event.toolCallId);
    if (/^(TEXT_MESSAGE|TOOL_CALL)_START|MESSAGES_SNAPSHOT/.test(event.type) || (chunk && !chunks.has(chunk))) facts.lastResults.clear();
    if (chunk) chunks.add(chunk);
    if (event.type === 'TEXT_MESSAGE_START') open.add(event.messageId);
    if (event.type === 'TEXT_MESSAGE_END') open.delete(event.messageId);
    if (event.type === 'TEXT_MESSAGE_START' || event.type === 'TEXT_MESSAGE_CHUNK') {
      if (event.role && event.role !== 'assistant') facts.others.add(event.messageId);
      if (event.name) facts.named.add(event.messageId);
    } else if (event.type.startsWith('REASONING_MESSAGE_')) {
      streamed.reasoning.add(event.messageId);
    } else if (event.type === 'TOOL_CALL_RESULT') {
      facts.results.add(event.messageId);
      facts.lastResults.add(event.messageId);
    } else if (event.type === 'ACTIVITY_SNAPSHOT') {
      streamed.activity.add(event.messageId);
    } else if (event.type === 'MESSAGES_SNAPSHOT') {
      facts.order = event.messages.map(one => one.id);
      for (const id of facts.order) facts.listed.add(id);
      for (const id of open) if (!facts.order.includes(id)) facts.orphans.add(id);
      for (const role of ['activity', 'reasoning']) {
        const newer = event.messages.filter(one => one.role === role).map(one => one.id);
        if (newer.length) for (const id of streamed[role]) if (!newer.includes(id)) facts.stale[role].add(id);
      }
    }
  }
  return facts;
}

/** What `version` has to show, of what client 1.0.0 shows of the part that it reads. */
export function restrict(reference, version, facts) {
  const view = structuredClone(reference);
  for (const line of TABLE) if (applies(line, version)) (line.wanted ?? line.both)(view, facts);
  return view;
}

/** What `version` did show, as far as it can be compared. */
export function shown(view, version, facts) {
  const copy = structuredClone(view);
  for (const line of TABLE) if (applies(line, version) && line.both) line.both(copy, facts);
  return copy;
}

/** The table as text, one line each. */
export const reasons = () => [...TABLE, ...UNREAD].map(({ from, below, why }) => {
  const name = n => n === V1 ? '1.0.0' : `0.0.${n}`;
  return `${from ? `${name(from)} to ` : ''}${below === ALL ? 'all' : `before ${name(below)}`}: ${why}`;
});
