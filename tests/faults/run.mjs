// Faults on real sockets: what agents and clients do wrong, and what the gateway makes of it. Prints one line a fault:
// what was done, what the client got, what was counted, what leaked.
//
//   TIDEGATE_BIN=… node tests/faults/run.mjs [WORD…]     only the lanes and faults whose name has one of the words
//
// Each lane has a gateway and a process of its own, so that no fault's work delays another's clocks.
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { LANES } from './lanes.mjs';
import { lane } from './lib/lane.mjs';

const words = process.argv.slice(2);
if (process.send) await serve();
else process.exit(await main());

/** One lane, in a process of its own. */
async function serve() {
  process.on('disconnect', () => process.exit(1));
  const [name, ...rest] = words;
  const { faults, ...how } = LANES[name];
  const rows = await lane(name, chosen(name, faults, rest), how).catch(error => [failure(name, error.stack)]);
  process.send(rows, () => process.exit(0));
}

async function main() {
  const begun = Date.now();
  const names = Object.keys(LANES).filter(name => chosen(name, LANES[name].faults, words).length);
  const rows = (await Promise.all(names.map(inProcess))).flat();
  table(rows);
  const failed = rows.filter(row => row.complaints.length && !row.known).length;
  const known = rows.filter(row => row.complaints.length && row.known).length;
  const passed = rows.length - failed - known;
  console.log(
    `\nℹ ${rows.length} faults tried, ${passed} survived${known ? `, ${known} known` : ''}, in ${((Date.now() - begun) / 1000).toFixed(0)} s`,
  );
  console.log(`${passed} passed, ${failed} failed, ${known} skipped`);
  return failed ? 1 : 0;
}

function inProcess(name) {
  return new Promise(done => {
    const child = fork(fileURLToPath(import.meta.url), [name, ...words]);
    let rows = [failure(name, 'its process ended without a word')];
    child.on('message', message => {
      rows = message;
    });
    child.on('exit', () => done(rows));
  });
}

function chosen(name, faults, words) {
  return faults.filter(fault => !words.length || words.some(word => name === word || fault.name.includes(word)));
}

function failure(name, why) {
  return { lane: name, fault: 'the lane itself', got: '', counted: '', complaints: [why] };
}

function table(rows) {
  const width = (key, most) => Math.min(most, Math.max(0, ...rows.map(row => row[key].length)));
  const [first, second] = [width('fault', 64), width('got', 64)];
  let group;
  for (const row of rows) {
    if (row.lane !== group) console.log(`\n${(group = row.lane)}`);
    const verdict = !row.complaints.length ? (row.known ? 'MENDED' : 'ok') : row.known ? 'known' : 'FAILED';
    const leaks = row.complaints.some(complaint => complaint.startsWith('leaks')) ? 'leaks' : 'leaks none';
    const time = process.env.TIMES ? ` · ${row.ms} ms` : '';
    console.log(`${verdict.padStart(6)}  ${row.fault.padEnd(first)} · ${row.got.padEnd(second)} · ${row.counted} · ${leaks}${time}`);
    if (row.known) console.log(`          ${row.known}`);
    else for (const complaint of row.complaints) console.log(`          ${complaint}`);
  }
}
