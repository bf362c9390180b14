// The figures of a soak come in, a verdict on each promise is printed.
import { SHARE } from './kinds.mjs';

/** How far memory may grow from the first to the last part after the warm-up. */
const GROWTH = 1.1,
  SLACK = 8 << 20;
/** The same of descriptors. */
const FDS = 1.1,
  FDS_SLACK = 100;

const median = list => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];
const total = counts => Object.values(counts).reduce((sum, n) => sum + n, 0);
const MiB = bytes => `${(bytes / 2 ** 20).toFixed(1)} MiB`;

export function judge({ runs, ramp, before, samples, after, seen, code, asked, reloading, late, log }) {
  let passed = 0,
    failed = 0;
  const check = (name, holds, words) => {
    holds ? passed++ : failed++;
    console.log(`${holds ? '    ok' : 'FAILED'}  ${name}: ${words}`);
  };
  console.log();
  if (!seen) {
    check('the clients end', false, 'they did not within 60 s');
    return false;
  }

  // The warm-up is the ramp and the time of a run; what follows is cut in three.
  const warm = samples.filter(sample => sample.at > Math.max(ramp + 10, samples.at(-1).at / 4));
  const third = Math.ceil(warm.length / 3);
  const [first, last] = [warm.slice(0, third), warm.slice(-third)];
  const of = (part, what) => median(part.map(sample => sample[what]));
  const most = Math.max(...samples.map(sample => sample.active));

  const counted = Object.fromEntries(Object.entries(after.outcomes).filter(([, n]) => n));
  const wrong = Object.entries(seen.wrong);
  const unexplained = wrong.filter(([what]) => /: (5\d\d|no answer)/.test(what));
  const many = total(seen.wrong);
  console.log(
    `ℹ ${seen.begun} runs begun, at most ${most} at once, ${(SHARE * 100).toFixed(0)} % of each of ${Object.keys(seen.faults).length - 1} faults, ${Object.keys(seen.kinds).length} kinds`,
  );
  console.log(
    `ℹ memory ${MiB(before.memory)} at first, ${MiB(of(first, 'memory'))} after the warm-up, ${MiB(of(last, 'memory'))} in the end; descriptors ${of(first, 'descriptors')}, ${of(last, 'descriptors')}`,
  );
  for (const [what, n] of wrong.sort(([, a], [, b]) => b - a).slice(0, 20)) console.log(`        ${n} × ${what}`);

  if (many) console.log(`ℹ that was at ${[...new Set(seen.at)].slice(0, 20).join(', ')} s; the agents were late by ${late.toFixed(0)} ms at worst`);

  check('so many runs at once', most >= runs * 0.85, `${most} of ${runs}`);
  check('every run is accounted for', total(counted) === seen.begun, `${total(counted)} outcomes for ${seen.begun} runs`);
  for (const outcome of new Set([...Object.keys(counted), ...Object.keys(seen.outcomes)])) {
    const [is, wanted] = [counted[outcome] ?? 0, seen.outcomes[outcome] ?? 0];
    check(`outcome ${outcome}`, Math.abs(is - wanted) <= many + 0.002 * seen.begun, `${is} counted, ${wanted} made`);
  }
  check('each client sees what its fault explains', many <= 0.002 * seen.begun, `${many} do not`);
  // Agents that are late themselves explain some, but never many.
  const wronged = total(Object.fromEntries(unexplained));
  check('no 5xx beyond what faults explain', wronged <= (late > 1000 ? 0.002 * seen.begun : 0), `${wronged}`);
  check(
    'memory does not grow',
    of(last, 'memory') <= of(first, 'memory') * GROWTH + SLACK,
    `${MiB(of(first, 'memory'))} to ${MiB(of(last, 'memory'))}`,
  );
  check(
    'descriptors do not grow',
    of(last, 'descriptors') <= of(first, 'descriptors') * FDS + FDS_SLACK,
    `${of(first, 'descriptors')} to ${of(last, 'descriptors')}`,
  );
  check(
    'nothing is left',
    after.active === 0 && after.held === 0 && after.descriptors <= before.descriptors + 10,
    `${after.active} runs, ${after.held} bytes, ${after.descriptors - before.descriptors} descriptors`,
  );
  if (reloading) check('every reload is counted', after.reloads >= asked, `${after.reloads} of ${asked}`);
  check('it stops as it should', code === 0, `exit ${code}`);
  check('nothing panics', !log.includes('panicked'), log.includes('panicked') ? /.*panicked.*/.exec(log)[0] : 'nothing did');
  console.log(`\n${passed} passed, ${failed} failed`);
  return failed === 0;
}
