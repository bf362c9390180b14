// The configurations that the suites about middleware give to Tidegate: routes by path in, TOML out.

/** `routes`: `{ path: lines }`, all to the agent at `{agent}`. */
export const configOf = routes => [
  'listen = "{listen}"\n[admin]\nlisten = "{admin}"\n[agents.main]\nurl = "{agent}"\n',
  ...Object.entries(routes).map(([path, lines]) => `[[routes]]\npath = "/${path}"\nagent = "main"\n${lines}\n`),
].join('');

/** Every guardrail, none of which has a reason to act on what the suites' agents say. */
export const GUARDRAILS = `expand = true
guard = "repair"
tools = { deny = ["never_*"], raw = "pass" }
redact = [{ pattern = 'sk-never-[A-Za-z0-9]{20,}', with = "[redacted]" }]
state = { compact = true, on_mismatch = "forward" }`;

/** Throttles, by the path that has them. */
export const THROTTLES = {
  window: 'throttle = { every = "33ms" }',
  instant: 'throttle = { every = "0ms" }',
  short: 'throttle = { every = "33ms", max_chars = 16 }',
};
