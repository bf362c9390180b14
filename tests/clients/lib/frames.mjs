// Bytes of a protobuf stream in, frames and their events out, as the reference decoder reads them.
import assert from 'node:assert/strict';
import { EventEncoder } from '@ag-ui/encoder';
import { decode } from '@ag-ui/proto';

export const PROTOBUF = 'application/vnd.ag-ui.event+proto';

const encoder = new EventEncoder({ accept: PROTOBUF });

/** The frame that the reference encoder makes of an event. */
export const binaryFrame = event => Buffer.from(encoder.encodeBinary(event));

/** The frames of a body, each with its length before it. The body must end with a whole one. */
export function frames(body) {
  const list = [];
  for (let at = 0; at < body.length;) {
    assert.ok(at + 4 <= body.length, 'the last length is whole');
    const end = at + 4 + body.readUInt32BE(at);
    assert.ok(end <= body.length, 'the last frame is whole');
    list.push(body.subarray(at, end));
    at = end;
  }
  return list;
}

/** The events of a body. */
export const eventsOf = body => frames(body).map(frame => decode(frame.subarray(4)));
