// Faults on real sockets: what agents and clients do wrong, and what the gateway makes of it. Prints one line a fault:
// what was done, what the client got, what was counted, what leaked.
//
//   TIDEGATE_BIN=… node tests/faults/run.mjs [WORD…]     only the lanes and faults whose name has one of the words
import { LANES } from './lanes.mjs';
import { lane } from './lib/lane.mjs';

const words = process.argv.slice(2);
const wanted = (name, fault) => !words.length || words.some(word => name === word || fault.name.includes(word));

const begun = Date.now();
const rows = (await Promise.all(Object.entries(LANES).map(async ([name, { faults, ...how }]) => {
  const some = faults.filter(fault => wanted(name, fault));
  if (!some.length) return [];
  return lane(name, some, how).catch(error => [{ lane: name, fault: 'the lane itself', got: '', counted: '', complaints: [error.stack] }]);
}))).flat();

const width = (key, most) => Math.min(most, Math.max(...rows.map(row => row[key].length)));
const [first, second] = [width('fault', 64), width('got', 64)];
let group;
for (const row of rows) {
  if (row.lane !== group) console.log(`\n${group = row.lane}`);
  const leaks = row.complaints.some(complaint => complaint.startsWith('leaks')) ? 'leaks' : 'no leak';
  console.log(`${row.complaints.length ? 'FAILED' : '    ok'}  ${row.fault.padEnd(first)} · ${row.got.padEnd(second)} · ${row.counted} · ${leaks}${process.env.TIMES ? ` · ${row.ms} ms` : ''}`);
  for (const complaint of row.complaints) console.log(`          ${complaint}`);
}
const failed = rows.filter(row => row.complaints.length).length;
console.log(`\nℹ ${rows.length} faults tried, ${rows.length - failed} survived, in ${((Date.now() - begun) / 1000).toFixed(0)} s`);
console.log(`${rows.length - failed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
