// The few events of a soak in protobuf: each an arm of the envelope, with its type in the base event.
const ARMS = {
  TEXT_MESSAGE_START: [0, ['messageId', 'role']],
  TEXT_MESSAGE_CONTENT: [1, ['messageId', 'delta']],
  TEXT_MESSAGE_END: [2, ['messageId']],
  RUN_STARTED: [11, ['threadId', 'runId']],
  RUN_FINISHED: [12, ['threadId', 'runId']],
};

function bytes(number, payload) {
  const length = [];
  let rest = payload.length;
  for (; rest >= 128; rest >>= 7) length.push((rest & 127) | 128);
  return Buffer.concat([Buffer.from([(number << 3) | 2, ...length, rest]), payload]);
}

/** The message of an event. */
export function message(event) {
  const [number, members] = ARMS[event.type];
  const base = bytes(1, Buffer.from(number ? [8, number] : []));
  return bytes(number + 1, Buffer.concat([base, ...members.map((name, place) => bytes(place + 2, Buffer.from(event[name])))]));
}

/** With its length before it. */
export function framed(payload) {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(payload.length);
  return Buffer.concat([length, payload]);
}
