// What kinds of runs there are, and what may go wrong with each: for those who ask, those who answer, and those who
// count. `outcome` is what the gateway has to count, `got` what the client has to see.

/** Each kind is as frequent as any other. `path` is a route of the gateway. */
export const KINDS = [
  { name: 'plain', path: '/' },
  { name: 'throttled', path: '/throttle' },
  { name: 'with tools denied', path: '/tools', tools: true },
  { name: 'with every stage', path: '/all', tools: true },
  { name: 'of an old client', path: '/', headers: { 'x-agui-version': '0.0.47' } },
  { name: 'to a client of protobuf', path: '/', headers: { accept: 'application/vnd.ag-ui.event+proto' } },
  { name: 'from an agent of protobuf', path: '/binary', binary: true },
  { name: 'to an agent of HTTP/2', path: '/h2' },
  { name: 'over HTTP/2', path: '/', h2: true },
  { name: 'over HTTP/2 on both sides', path: '/h2', h2: true },
];

/** Five of a hundred runs have each of these. */
export const FAULTS = [
  { name: 'the agent resets before its head', agent: 'reset_early', outcome: 'truncated', got: '502' },
  { name: 'the agent resets in the middle', agent: 'reset', outcome: 'truncated', got: 'UPSTREAM_TRUNCATED' },
  { name: 'the agent ends without a terminal event', agent: 'unfinished', outcome: 'truncated', got: 'UPSTREAM_TRUNCATED' },
  { name: 'the agent stalls before its head', agent: 'stall_early', outcome: 'timeout_first_event', got: '504' },
  { name: 'the agent stalls in the middle', agent: 'stall', outcome: 'timeout_idle', got: 'IDLE_TIMEOUT' },
  { name: 'the agent answers with an error', agent: 'status', outcome: 'agent_status', got: '500' },
  { name: 'the agent sends an event that is too large', agent: 'large', outcome: 'violation', got: 'FRAME_TOO_LARGE' },
  { name: 'the client leaves before the answer', agent: 'stall_early', client: 'leave_early', outcome: 'client_gone', got: 'left' },
  { name: 'the client leaves in the middle', client: 'leave', outcome: 'client_gone', got: 'left' },
  { name: 'the client stops reading for a while', client: 'pause', outcome: 'finished', got: 'RUN_FINISHED' },
  { name: 'the body is too large', client: 'large', outcome: undefined, got: '413' },
];
export const HEALTHY = { name: 'nothing', outcome: 'finished', got: 'RUN_FINISHED' };
export const SHARE = 0.05;
export const LIMIT = 6; // seconds, of the first event and of silence
