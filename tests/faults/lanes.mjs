// Which faults are tried on which gateway, side by side.
import { binary } from './agents/binary.mjs';
import { early } from './agents/early.mjs';
import { garbage } from './agents/garbage.mjs';
import { lengths } from './agents/lengths.mjs';
import { resets } from './agents/resets.mjs';
import { stalls } from './agents/stalls.mjs';
import { answersOfOtherKinds, streams } from './agents/streams.mjs';
import { leaving, slow } from './clients/leaving.mjs';
import { limits } from './clients/limits.mjs';
import { framing, heads, pipelines } from './clients/smuggling.mjs';

export const LANES = {
  'agents that break off': { faults: resets },
  'agents that stall': { faults: stalls },
  'agents that lie about lengths': { faults: lengths },
  'agents that break the grammar of HTTP': { faults: garbage },
  'agents with odd streams': { faults: streams },
  'agents with other answers': { faults: answersOfOtherKinds },
  'agents that answer early': { faults: early },
  'agents with broken protobuf': { faults: binary, values: { encoding: 'protobuf' } },
  'clients that leave': { faults: leaving },
  'clients that are slow': { faults: slow },
  'clients that send too much': { faults: limits },
  'requests with two meanings': { faults: framing },
  'requests with odd heads': { faults: heads },
  'requests that follow each other': { faults: pipelines },
};
