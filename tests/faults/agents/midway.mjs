// Agents of HTTP/2 in the middle of a run or before it, and what a client then gets.
import { delta, END, FINISHED, frame, START, STARTED } from '../lib/agent.mjs';

export const NO_HEAD = { got: /^502 UPSTREAM_(TRUNCATED|UNREACHABLE)$/, runs: ['truncated', 'agent_unreachable'] };
export const BROKEN = { got: '200, 3 events, RUN_ERROR UPSTREAM_TRUNCATED', runs: 'truncated' };
export const WHOLE = { got: '200, 5 events, RUN_FINISHED', runs: 'finished' };
export const OPEN = Buffer.from([0x88]);

/** After two events, this. */
export const midway = (does, how = BROKEN) => ({
  agent: async (w, s) => {
    await w.head(s);
    await w.events(s, STARTED, START);
    await w.sleep(100);
    await does(w, s);
  },
  ...how,
});
export const instead = (does, how = NO_HEAD) => ({
  agent: async (w, s) => {
    await does(w, s);
  },
  ...how,
});
export const rest = async (w, s) => w.data(s, [delta('x'), END, FINISHED].map(frame).join(''), true);
