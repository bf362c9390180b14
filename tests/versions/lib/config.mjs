// The configuration that the suites about versions give to Tidegate: routes that say what a client speaks, agents
// that say what they speak.

/** How far the grammar of a stream is judged where agents of frameworks are tried; empty while no build knows it. */
export const GUARD = 'repair';

/** Whether all of this is left out, to see what a suite says of a Tidegate that converts nothing. */
const plain = Boolean(process.env.PLAIN);

/**
 * `agents`: `{ name: { url, version } }`, `routes`: `[{ path, agent, client }]`; a version that is absent is not
 * configured. `unrepresentable`: what becomes of events that a client has no shape for.
 */
export function configOf({ agents, routes, guard = '', unrepresentable = '' }) {
  const key = (name, value) => value && !plain ? `${name} = "${value}"\n` : '';
  return [
    'listen = "{listen}"\n[admin]\nlisten = "{admin}"\n',
    ...Object.entries(agents).map(([name, { url, version }]) => `[agents."${name}"]\nurl = "${url}"\n${key('version', version)}`),
    ...routes.map(({ path, agent, client }) =>
      `[[routes]]\npath = "/${path}"\nagent = "${agent}"\n${key('client_version', client)}${key('guard', guard)}`
      + (unrepresentable && !plain ? `downgrade = { unrepresentable = "${unrepresentable}" }\n` : '')),
  ].join('');
}
