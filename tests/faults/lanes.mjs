// Which faults are tried on which gateway, side by side.
import { garbage } from './agents/garbage.mjs';
import { lengths } from './agents/lengths.mjs';
import { resets } from './agents/resets.mjs';
import { stalls } from './agents/stalls.mjs';

export const LANES = {
  'agents that break off': { faults: resets },
  'agents that stall': { faults: stalls },
  'agents that lie about lengths': { faults: lengths },
  'agents that break the grammar of HTTP': { faults: garbage },
};
