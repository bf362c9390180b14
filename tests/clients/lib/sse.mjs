// Bytes of an event stream in, payloads out, as the HTML standard reads them. Payloads stay bytes:
// what a proxy must not change is compared before anybody parses it.

/** The payloads of all frames in `body`. A last frame without its blank line counts where `loose`. */
export function payloads(body, { loose = false } = {}) {
  let text = body.toString('latin1'); // one character a byte, so that no byte is lost
  if (text.startsWith('\xef\xbb\xbf')) text = text.slice(3);
  const frames = [];
  let data = [];
  const lines = text.split(/\r\n|\r|\n/);
  const tail = lines.pop(); // what follows the last line end is no whole line
  if (loose && tail) lines.push(tail, '');
  else if (loose) lines.push('');
  for (const line of lines) {
    if (line === '') {
      if (data.length) frames.push(Buffer.from(data.join('\n'), 'latin1'));
      data = [];
    } else if (line.startsWith('data:')) {
      data.push(line.slice(line[5] === ' ' ? 6 : 5));
    }
  }
  return frames;
}

/** One frame a payload, framed plainly. */
export function frame(payload) {
  return Buffer.from(`data: ${payload}\n\n`);
}

/**
 * Whether `body` is framed the plain way: comments and `data: ` lines, LF alone, no mark at the front,
 * a blank line after each frame, nothing left over.
 */
export function isPlainlyFramed(body) {
  return body.toString('latin1').split('\n\n').every((piece, i, all) =>
    i === all.length - 1
      ? piece === '' || piece.split('\n').every(line => line === '' || line.startsWith(':'))
      : piece.split('\n').every(line => (line.startsWith('data: ') || line.startsWith(':')) && !line.includes('\r')));
}

/** The type of the event in a payload, or undefined where it is no JSON object with one. */
export function typeOf(payload) {
  try { return JSON.parse(payload).type; } catch { return undefined; }
}

/** Whether a stream says how its last run ended. */
export function isTerminated(frames) {
  const last = frames.map(typeOf).findLast(type => ['RUN_STARTED', 'RUN_FINISHED', 'RUN_ERROR'].includes(type));
  return last === 'RUN_FINISHED' || last === 'RUN_ERROR';
}
