// Where things lie: the clone, the binary under test, the recordings, the Python environments.
// Each can be moved by an environment variable. Nothing here is created or changed.
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../..');
export const BIN = path.resolve(ROOT, process.env.TIDEGATE_BIN ?? 'target/release/tidegate');
export const SHARED = path.resolve(ROOT, process.env.TIDEGATE_SHARED ?? '../shared');
export const VENVS = path.resolve(ROOT, process.env.TIDEGATE_VENVS ?? 'tests/.cache/venv');

/** The conformance streams, or nothing where the shared folder is not beside the clone. */
export function conformance() {
  const dir = path.join(SHARED, 'agui/conformance');
  if (!fs.existsSync(dir)) return [];
  return fs.readdirSync(dir).filter(f => f.endsWith('.json')).sort()
    .map(f => JSON.parse(fs.readFileSync(path.join(dir, f), 'utf8')));
}

/** The recordings of real agents: `{ name, request, response }`, or nothing where there are none. */
export function captures() {
  const dir = path.join(SHARED, 'agui/captures');
  if (!fs.existsSync(dir)) return [];
  return fs.readdirSync(dir, { recursive: true }).filter(f => f.endsWith('.http.json')).sort()
    .map(f => ({ name: f.slice(0, -'.http.json'.length), ...JSON.parse(fs.readFileSync(path.join(dir, f), 'utf8')) }));
}
