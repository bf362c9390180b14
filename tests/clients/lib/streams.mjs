// The streams that the transparency suite plays, all in one shape:
// `{ name, body, cut, headers, job, recorded }`. `job` is what the client is asked to run, `body` what
// the agent says. Recordings of answers that are no event stream are given apart.
import { captures, conformance } from './paths.mjs';
import { frame } from './sse.mjs';

const SSE = 'text/event-stream';

/** The specification's streams, served as one frame an event. */
export function conformanceStreams() {
  return conformance().map(file => ({
    name: `conformance/${file.name}`,
    pieces: file.stream.map(event => frame(JSON.stringify(event))),
    headers: { 'content-type': SSE },
    job: {
      threadId: file.stream.find(e => e.threadId)?.threadId,
      runId: file.stream.findLast(e => e.type === 'RUN_STARTED')?.runId,
      messages: file.input?.messages,
      maxProtocolVersion: file.client?.maxProtocolVersion,
    },
  }));
}

/** Recordings of real agents, by what they are: event streams, other answers, and those of other encodings. */
export function recordings() {
  const streams = [], answers = [], others = [];
  for (const { name, request, response } of captures()) {
    const headers = endToEnd(response.headers);
    const type = headers['content-type'] ?? '';
    const pieces = response.chunks.map(c => c.b64 === undefined ? Buffer.from(c.text) : Buffer.from(c.b64, 'base64'));
    const { threadId, runId, messages, state, tools } = request.body;
    const one = {
      name: `captures/${name}`, pieces, headers, status: response.status, cut: response.end !== 'clean',
      request, job: { threadId, runId, messages, state, tools },
    };
    if (response.status === 200 && type.startsWith(SSE)) streams.push(one);
    else if (response.status === 200 && type.includes('proto')) others.push(one);
    else answers.push(one);
  }
  return { streams, answers, others };
}

/**
 * A stream of our own in which everything is spelled in an odd but legal way: what a proxy that parses
 * and prints again would change. Each member is one payload.
 */
export const ODD_PAYLOADS = [
  '{"type":"RUN_STARTED","threadId":"thread-1","runId":"run-1"}',
  '{"threadId":"t","delta":"key order","type":"TEXT_MESSAGE_CONTENT","messageId":"m"}',
  '{ "type" : "CUSTOM" , "name" : "spaces" , "value" : [ 1 , 2 ] }',
  '{"type":"CUSTOM","name":"numbers","value":[1.0,1e2,1.50E+03,-0,0.1000,12345678901234567890,1e400,123456789012345678901234567890.5]}',
  '{"type":"CUSTOM","name":"escapes","value":"\\u00e9 \\/ \\u0041 \\ud83d\\ude00 \\ud800 \\u2028 \\u0000"}',
  '{"type":"CUSTOM","name":"raw","value":"é 日本 👩‍👩‍👧 e\u0301 \u2028 \u2029 \u0085 \u007f \ufeff"}',
  '{"type":"CUSTOM","name":"twice","value":1,"value":2}',
  '{"type":"CUSTOM","name":"null","value":null,"unknown":{"a":[null,{}]},"":"empty key"}',
  '{"type":"TYPE_OF_TOMORROW","payload":{"deep":[[[[[]]]]]}}',
  '{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"data: not a frame\\n\\nevent: x"}',
  '{\n  "type": "RUN_FINISHED",\n  "threadId": "thread-1",\n  "runId": "run-1"\n}',
];

/** The odd payloads framed in every way that the standard allows. */
export function oddFramings() {
  const lines = eol => ODD_PAYLOADS.map(p => p.split('\n').map(l => `data: ${l}${eol}`).join('') + eol).join('');
  return {
    'line feeds': Buffer.from(lines('\n')),
    'carriage returns and line feeds': Buffer.from(lines('\r\n')),
    'carriage returns': Buffer.from(lines('\r')),
    'a mark at the front': Buffer.from('\ufeff' + lines('\n')),
    // One space belongs to the field, so a line that begins with one keeps it.
    'no space after the colon': Buffer.from(lines('\n').replace(/^data: (?! )/gm, 'data:')),
    'other fields and comments': Buffer.from(ODD_PAYLOADS.map((p, i) =>
      `: comment ${i}\nid: ${i}\nevent: message\nretry: 10\n${p.split('\n').map(l => `data: ${l}\n`).join('')}\n`).join('')),
    'empty lines between frames': Buffer.from(lines('\n').replaceAll('\n\n', '\n\n\n\n')),
  };
}

/** The headers that are about the content and not about the connection. */
function endToEnd(headers) {
  const hop = ['connection', 'keep-alive', 'transfer-encoding', 'date', 'content-length'];
  return Object.fromEntries(Object.entries(headers).map(([k, v]) => [k.toLowerCase(), v]).filter(([k]) => !hop.includes(k)));
}
