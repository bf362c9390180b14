// Answers each line of stdin with what @ag-ui/encoder and @ag-ui/proto make of it:
// {"encode": text of an event} → {"frame": hex, "valid": whether it met their schema}
// {"decode": hex of a message, "text": what ours makes of it} → {"same": whether theirs is the same value}
// Either may answer {"error": why}.
import { createInterface } from "node:readline";
import { isDeepStrictEqual } from "node:util";
import { EventEncoder, AGUI_MEDIA_TYPE } from "@ag-ui/encoder";
import { decode } from "@ag-ui/proto";

const encoder = new EventEncoder({ accept: AGUI_MEDIA_TYPE });
let warnings = 0;
console.warn = () => void warnings++;

/** As JSON has it: numbers that are not finite, and holes in arrays, are null. */
function plain(value) {
  if (Array.isArray(value)) return value.map((entry) => (entry === undefined ? null : plain(entry)));
  if (typeof value === "number") return Number.isFinite(value) ? value : null;
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, entry]) => entry !== undefined)
      .map(([key, entry]) => [key, plain(entry)]),
  );
}

function answer(request) {
  try {
    warnings = 0;
    if (request.encode !== undefined) {
      const frame = Buffer.from(encoder.encodeBinary(JSON.parse(request.encode))).toString("hex");
      return { frame, valid: warnings === 0 };
    }
    const theirs = plain(decode(Buffer.from(request.decode, "hex")));
    if (request.text === undefined) return { theirs: JSON.stringify(theirs) };
    const same = isDeepStrictEqual(plain(JSON.parse(request.text)), theirs);
    return same ? { same } : { same, theirs: JSON.stringify(theirs) };
  } catch (error) {
    return { error: String(error.message ?? error) };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(JSON.stringify(answer(JSON.parse(line))) + "\n");
}
