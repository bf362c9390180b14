// Runs as a busy agent of today would say them: many things in one stream, open at the same time.

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const image = (more = {}) => ({ type: 'image', source: { type: 'data', value: PIXEL, mimeType: 'image/png' }, ...more });
const linked = (type, mimeType) => ({ type, source: { type: 'url', value: `https://example.com/one.${type}`, mimeType } });
const words = text => ({ type: 'text', text });

const started = (runId = 'r1', more = {}) => ({ type: 'RUN_STARTED', threadId: 't1', runId, protocolVersion: '1.0', ...more });
const finished = (runId = 'r1', more = {}) => ({ type: 'RUN_FINISHED', threadId: 't1', runId, ...more });
const say = (messageId, more = {}) => ({ type: 'TEXT_MESSAGE_START', messageId, role: 'assistant', ...more });
const text = (messageId, delta) => ({ type: 'TEXT_MESSAGE_CONTENT', messageId, delta });
const said = messageId => ({ type: 'TEXT_MESSAGE_END', messageId });
const message = (id, delta = `text of ${id}`) => [say(id), text(id, delta), said(id)];
const call = (toolCallId, toolCallName, more = {}) => ({ type: 'TOOL_CALL_START', toolCallId, toolCallName, ...more });
const args = (toolCallId, delta) => ({ type: 'TOOL_CALL_ARGS', toolCallId, delta });
const called = toolCallId => ({ type: 'TOOL_CALL_END', toolCallId });
const result = (toolCallId, content, messageId = `result-of-${toolCallId}`) =>
  ({ type: 'TOOL_CALL_RESULT', messageId, toolCallId, content, role: 'tool' });
const step = (stepName, more = {}) => ({ type: 'STEP_STARTED', stepName, ...more });
const stepped = (stepName, more = {}) => ({ type: 'STEP_FINISHED', stepName, ...more });
const reasoning = (id, delta = 'because') => [
  { type: 'REASONING_START', messageId: id },
  { type: 'REASONING_MESSAGE_START', messageId: id, role: 'reasoning' },
  { type: 'REASONING_MESSAGE_CONTENT', messageId: id, delta },
  { type: 'REASONING_MESSAGE_END', messageId: id },
  { type: 'REASONING_END', messageId: id },
];

/** The runs: `{ name, events, json }`; `json`: no encoder of today has another form for them. */
export const mixed = () => [
  {
    // Two texts, two calls, steps, state and an activity, all open at once.
    name: 'everything interleaved',
    events: [
      started('r1', { input: { threadId: 't1', runId: 'r1', messages: [{ id: 'u0', role: 'user', content: [words('hi'), image({ id: 'p1' })] }], protocolVersion: '1.0' } }),
      step('plan'), { type: 'STATE_SNAPSHOT', snapshot: { title: 'Draft', todo: [] } },
      say('m1', { name: 'Writer', metadata: { tone: 'warm' } }), text('m1', 'One '),
      call('c1', 'search', { parentMessageId: 'm1' }), args('c1', '{"q":'),
      { type: 'STATE_DELTA', delta: [{ op: 'add', path: '/todo/-', value: 'search' }] },
      text('m1', 'two '), args('c1', '"tide"}'), called('c1'),
      { type: 'ACTIVITY_SNAPSHOT', messageId: 'a1', activityType: 'PROGRESS', content: { done: 1, of: 3 } },
      { type: 'CUSTOM', name: 'note', value: { a: null, b: [1, 2] } },
      text('m1', 'three'), said('m1'), result('c1', [words('three '), image(), words('hits')]),
      stepped('plan'), step('write'),
      say('m2'), text('m2', 'And so '), { type: 'RAW', event: { vendor: true, value: null }, source: 'model' },
      { type: 'ACTIVITY_DELTA', messageId: 'a1', activityType: 'PROGRESS', patch: [{ op: 'replace', path: '/done', value: 3 }] },
      { type: 'STATE_DELTA', delta: [{ op: 'replace', path: '/title', value: 'Zürich ✓' }] },
      text('m2', 'it ends.'), said('m2'), stepped('write'),
      finished('r1', { outcome: { type: 'success' }, result: { ok: true }, usage: [{ inputTokens: 3, outputTokens: 4, cacheWriteInputTokens: 1 }] }),
    ],
  },
  {
    // Two subagents at work at the same time, with steps of the same name as the parent's.
    name: 'subagents side by side',
    events: [
      started(), step('work'),
      { type: 'SUBAGENT_STARTED', subagentRunId: 's1', name: 'reader' },
      { type: 'SUBAGENT_STARTED', subagentRunId: 's2', name: 'critic' },
      step('work', { subagentRunId: 's1' }),
      say('m1', { subagentRunId: 's1' }), text('m1', 'I read '), say('m2', { subagentRunId: 's2' }), text('m2', 'I doubt '),
      text('m1', 'it.'), text('m2', 'it.'), said('m2'), said('m1'),
      call('c1', 'open', { subagentRunId: 's1' }), args('c1', '{}'), called('c1'), result('c1', 'opened'),
      stepped('work', { subagentRunId: 's1' }),
      { type: 'SUBAGENT_FINISHED', subagentRunId: 's1', outcome: { type: 'success' } },
      { type: 'SUBAGENT_ERROR', subagentRunId: 's2', message: 'too much doubt' },
      stepped('work'), ...message('m3', 'Both are done.'), finished('r1', { outcome: { type: 'success' } }),
    ],
  },
  {
    name: 'reasoning between texts, then a tool',
    events: [
      started(), ...reasoning('q1', 'First I look.'), ...message('m1', 'I look.'),
      { type: 'REASONING_ENCRYPTED_VALUE', subtype: 'message', entityId: 'q1', encryptedValue: 'c2VhbGVk' },
      ...reasoning('q2', 'Now I call.'), call('c1', 'look'), args('c1', '{"at":"x"}'), called('c1'), result('c1', 'seen'),
      { type: 'REASONING_ENCRYPTED_VALUE', subtype: 'tool-call', entityId: 'c1', encryptedValue: 'c2VhbGVk' },
      say('m2'), text('m2', 'It '), ...reasoning('q3', 'Almost.'), text('m2', 'is there.'), said('m2'), finished(),
    ],
  },
  {
    name: 'only chunks',
    events: [
      started(),
      { type: 'REASONING_MESSAGE_CHUNK', messageId: 'q1', delta: 'Well' }, { type: 'REASONING_MESSAGE_CHUNK', messageId: 'q1', delta: ' then' },
      { type: 'TEXT_MESSAGE_CHUNK', messageId: 'm1', role: 'assistant', delta: 'Look' },
      { type: 'TEXT_MESSAGE_CHUNK', delta: ' here' }, { type: 'TEXT_MESSAGE_CHUNK', messageId: 'm1', delta: '.' },
      { type: 'TOOL_CALL_CHUNK', toolCallId: 'c1', toolCallName: 'look', parentMessageId: 'm1', delta: '{"at"' },
      { type: 'TOOL_CALL_CHUNK', toolCallId: 'c1', delta: ':1}' },
      { type: 'TOOL_CALL_CHUNK', toolCallId: 'c2', toolCallName: 'listen', delta: '{}' },
      result('c1', 'seen'), result('c2', 'heard'),
      { type: 'TEXT_MESSAGE_CHUNK', messageId: 'm2', role: 'assistant', delta: 'Done' }, finished(),
    ],
  },
  {
    // A chunk stream in which events come that some clients do not know: none of them may close it.
    name: 'unknown events between chunks',
    json: true,
    events: [
      started(), { type: 'TEXT_MESSAGE_CHUNK', messageId: 'm1', role: 'assistant', delta: 'One ' },
      { type: 'EVENT_OF_TOMORROW', payload: [1] }, { type: 'TEXT_MESSAGE_CHUNK', delta: 'two ' },
      { type: 'RAW', event: {} }, { type: 'TEXT_MESSAGE_CHUNK', delta: 'three' }, finished(),
    ],
  },
  {
    name: 'a history with media',
    events: [
      started(), { type: 'ACTIVITY_SNAPSHOT', messageId: 'a1', activityType: 'PLAN', content: { steps: ['x'] } },
      ...reasoning('q1'),
      {
        type: 'MESSAGES_SNAPSHOT',
        messages: [
          { id: 'y1', role: 'system', content: 'Be kind.' },
          { id: 'u1', role: 'user', content: [words('What is '), image({ id: 'part-1' }), words('this?'), linked('document', 'application/pdf')] },
          { id: 'q0', role: 'reasoning', content: 'hm' },
          { id: 'h1', role: 'assistant', content: 'I look.', toolCalls: [{ id: 'c1', type: 'function', function: { name: 'see', arguments: '{"x":1}' } }] },
          { id: 'o1', role: 'tool', toolCallId: 'c1', content: [words('a '), words('dot'), image()] },
          { id: 'a0', role: 'activity', activityType: 'PLAN', content: { steps: [] } },
          { id: 'u2', role: 'user', content: [image({ source: { type: 'file', value: 'file-1', mimeType: 'image/png' } }), linked('audio', 'audio/mpeg'), linked('video', 'video/mp4')] },
          { id: 'u3', role: 'user', content: 'And?', name: 'Ann' },
          { id: 'h2', role: 'assistant', content: 'A dot.' },
        ],
      },
      ...message('m1', 'That is all.'), finished(),
    ],
  },
  {
    // The snapshot comes in the middle of the text that it holds.
    name: 'a snapshot that holds the open text',
    events: [
      started(), say('m1'), text('m1', 'One '),
      { type: 'MESSAGES_SNAPSHOT', messages: [{ id: 'u1', role: 'user', content: 'Go on' }, { id: 'm1', role: 'assistant', content: 'One ' }] },
      text('m1', 'two '), { type: 'STATE_SNAPSHOT', snapshot: { at: 2 } }, text('m1', 'three'), said('m1'), ...message('m2', 'Bye'), finished(),
    ],
  },
  {
    name: 'an interrupt',
    events: [
      started(), ...message('m1', 'May I?'), call('c1', 'pay', { parentMessageId: 'm1' }), args('c1', '{"chf":5}'), called('c1'),
      finished('r1', { outcome: { type: 'interrupt', interrupts: [{ id: 'i1', reason: 'confirmation', message: 'Pay 5 francs?', toolCallId: 'c1' }] } }),
    ],
  },
  { name: 'a call that the application has to answer', events: [
    started(), call('c1', 'confirm'), args('c1', '{"text":"Go?"}'), called('c1'),
    finished('r1', { outcome: { type: 'success', pendingToolCallIds: ['c1'] } })] },
  {
    name: 'three runs',
    events: [
      started('r1'), ...message('m1'), finished('r1'),
      started('r2', { parentRunId: 'r1' }), { type: 'STATE_SNAPSHOT', snapshot: { run: 2 } }, ...message('m2'), finished('r2'),
      started('r3'), step('last'), ...message('m3'), stepped('last'), finished('r3', { outcome: { type: 'success' } }),
    ],
  },
  { name: 'an error in the middle of things', events: [
    started(), step('try'), say('m1'), text('m1', 'I try'), call('c1', 'break', { parentMessageId: 'm1' }), args('c1', '{"ha'),
    { type: 'RUN_ERROR', message: 'It broke.', code: 'BROKEN' }] },
  { name: 'cancelled', events: [
    started(), ...message('m1', 'I began'), finished('r1', { outcome: { type: 'cancelled' } })] },
  {
    name: 'things of tomorrow',
    json: true,
    events: [
      started('r1', { protocolVersion: '1.1', tomorrow: { a: 1 } }), { type: 'EVENT_OF_TOMORROW', payload: { deep: [1] } },
      say('m1', { tomorrow: true }), text('m1', 'Hello'), { type: 'OTHER_OF_TOMORROW' }, said('m1'),
      { type: 'MESSAGES_SNAPSHOT', messages: [
        { id: 'u1', role: 'user', content: [words('a'), { type: 'hologram', source: {} }], tomorrow: 1 },
        { id: 'z1', role: 'oracle', content: 'never' }, { id: 'm1', role: 'assistant', content: 'Hello' }] },
      ...message('m2', 'Bye'), finished('r1', { outcome: { type: 'postponed', until: 'noon' }, tomorrow: 1 }),
    ],
  },
  {
    name: 'one tool after another inside one text',
    events: [
      started(), say('m1'), text('m1', 'I '), call('c1', 'a', { parentMessageId: 'm1' }), call('c2', 'b', { parentMessageId: 'm1' }),
      args('c2', '{"b"'), args('c1', '{"a":'), args('c2', ':2}'), args('c1', '1}'), called('c2'), called('c1'),
      text('m1', 'use '), result('c2', 'two'), result('c1', 'one'), text('m1', 'both.'), said('m1'), finished(),
    ],
  },
];
