// Answers each line of stdin, {"release": of @ag-ui/core, "input": text of a run input}, with what that release's own
// schema says of it: {} or {"error": why}.
import { createInterface } from "node:readline";

const schemas = new Map();

async function schemaOf(release) {
  if (!schemas.has(release)) {
    const module = `core-${release}${release.startsWith("0.") ? "" : "/schemas"}`;
    schemas.set(release, (await import(module)).RunAgentInputSchema);
  }
  return schemas.get(release);
}

for await (const line of createInterface({ input: process.stdin })) {
  const { release, input } = JSON.parse(line);
  const judged = (await schemaOf(release)).safeParse(JSON.parse(input));
  process.stdout.write(JSON.stringify(judged.success ? {} : { error: JSON.stringify(judged.error.issues) }) + "\n");
}
