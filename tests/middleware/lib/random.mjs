// Chance that can be had again: a seed goes in, always the same numbers come out.

/** Numbers from 0 up to 1, by a text as the seed. */
export function chance(seed) {
  let state = [...String(seed)].reduce((sum, letter) => Math.imul(sum ^ letter.codePointAt(0), 0x01000193) >>> 0, 0x811c9dc5);
  return () => {
    state = (state + 0x9e3779b9) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32;
  };
}

/** A die over `next`: `below(n)`, `one(list)`, `happens(share)`. */
export function die(seed) {
  const next = chance(seed);
  const below = n => Math.floor(next() * n);
  return { below, one: list => list[below(list.length)], happens: share => next() < share };
}
