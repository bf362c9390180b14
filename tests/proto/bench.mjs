// What an event of bench.txt costs the reference implementation, JSON to protobuf and back, in nanoseconds.
// Run it on a quiet machine, beside `cargo bench --bench proto`, which measures the same.
import { readFileSync } from "node:fs";
import { encode, decode } from "@ag-ui/proto";

console.warn = (message) => {
  throw new Error(message);
};

/** The median over rounds of some 50 ms each, after as many to get warm. */
function nanoseconds(work) {
  let count = 100;
  const round = () => {
    const start = process.hrtime.bigint();
    for (let i = 0; i < count; i++) work();
    return Number(process.hrtime.bigint() - start) / count;
  };
  for (let warm = 0; warm < 20; warm++) count = Math.max(100, Math.round(5e7 / round()));
  return Array.from({ length: 21 }, round).sort((a, b) => a - b)[10];
}

for (const line of readFileSync(new URL("bench.txt", import.meta.url), "utf8").trim().split("\n")) {
  const [name, text] = line.split("\t");
  const message = encode(JSON.parse(text));
  const there = nanoseconds(() => encode(JSON.parse(text)));
  const back = nanoseconds(() => JSON.stringify(decode(message)));
  console.log(`${name}: to protobuf ${Math.round(there)} ns, to JSON ${Math.round(back)} ns`);
}
