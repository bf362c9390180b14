// Which faults are tried on which gateway, side by side.
import { binary } from './agents/binary.mjs';
import { h2agents, silentH2agents } from './agents/h2.mjs';
import { h2frames } from './agents/h2frames.mjs';
import { early } from './agents/early.mjs';
import { garbage } from './agents/garbage.mjs';
import { lengths } from './agents/lengths.mjs';
import { resets } from './agents/resets.mjs';
import { stalls } from './agents/stalls.mjs';
import { answersOfOtherKinds, streams } from './agents/streams.mjs';
import { h2clients } from './clients/h2.mjs';
import { h2spelling } from './clients/h2spelling.mjs';
import { heads } from './clients/heads.mjs';
import { leaving, slow } from './clients/leaving.mjs';
import { limits } from './clients/limits.mjs';
import { patience } from './clients/patience.mjs';
import { framing, pipelines } from './clients/smuggling.mjs';
import { healthyH2, startH2Agent } from './lib/h2agent.mjs';

const h2 = { agent: startH2Agent, well: healthyH2 };

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
  'agents that break HTTP/2': { faults: h2agents, values: { http: 2 }, ...h2 },
  'agents with forbidden frames of HTTP/2': { faults: h2frames, values: { http: 2 }, ...h2 },
  'agents that fall silent over HTTP/2': { faults: silentH2agents, values: { http: 2, wait: 'off', run: '70s' }, ...h2 },
  'clients that break HTTP/2': { faults: h2clients },
  'requests that only HTTP/2 can spell': { faults: h2spelling },
  ...Object.fromEntries(Object.entries(patience).map(([name, fault]) => [`a client that ${name}`, { faults: [{ name, ...fault }] }])),
};
