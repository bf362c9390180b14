// The agents that were recorded: the AG-UI library that each was built with, as its operator would configure it.
import { recordings } from '../../clients/lib/streams.mjs';
import { payloads } from '../../clients/lib/sse.mjs';

/** By the name of the recordings' folder: what `version` of an agent in the configuration has to say. */
export const SPOKEN = {
  'plain-1.0.0': '1.0', 'pydantic-ai-2.68.0': '1.0', 'pydantic-ai-1.107.10': '0.1.22', 'pydantic-ai-1.0.18': '0.1.9',
  'pydantic-ai-0.8.1': '0.1.8', 'langgraph-0.0.47': '1.0', 'langgraph-0.0.22': '0.1.10', 'langgraph-0.0.5': '0.1.7',
  'agno-3.1.10': '1.0', 'agno-2.2.0': '0.1.9', 'adk-0.11.0': '1.0', 'adk-0.3.6': '0.1.10', 'strands-1.0.2': '1.0',
  'crewai-1.0.0': '1.0', 'msaf-1.7.0': '0.1.22', 'llamaindex-0.6.0': '1.0', 'node-encoder-1.0.0': '1.0',
  'mastra-1.1.2': '1.0', 'copilotkit-1.75.0': '1.0',
};

/** The recorded streams: `{ name, agent, word, spoken, events, pieces, headers, cut, job }`. */
export const recorded = () => recordings().streams.map(stream => {
  const [, agent, word] = stream.name.split('/');
  const events = payloads(Buffer.concat(stream.pieces), { loose: !stream.cut }).map(payload => JSON.parse(payload));
  return { ...stream, agent, word, spoken: SPOKEN[agent], events };
}).filter(stream => stream.spoken && stream.events.length);
