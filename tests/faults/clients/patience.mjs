// Clients that say nothing, or as little as they can. One lane each: the gateway gives them 75 seconds.
import { until } from '../../clients/lib/net.mjs';
import { head } from '../lib/peer.mjs';

const LIMIT = 77_000;
/** Says this and then a byte of `more` every five seconds, until the gateway has had enough. */
const waits =
  (first, more = '') =>
  async ({ connect }) => {
    const peer = await connect();
    if (first) await peer.send(first);
    for (let n = 0; !peer.how && n * 5000 < LIMIT; n++) {
      await until(5000, async () => peer.how);
      if (more[n] && !peer.how) await peer.send(more[n]);
    }
    const got = peer.bytes.toString('latin1').split('\r\n')[0];
    peer.leave();
    return peer.how ? [got, 'closed'].filter(Boolean).join(', ') : 'it may stay';
  };
const closed = { got: /^(HTTP\/1.1 408 .*, )?closed$/, within: LIMIT, seen: 0 };

export const patience = {
  'says nothing at all': { ...closed, client: waits('') },
  'says half a preface and no more': { ...closed, client: waits('PRI * HT') },
  'says half a head and no more': { ...closed, client: waits(head().slice(0, 40)) },
  'drips its head, a byte every 5 s': { ...closed, client: waits(head().slice(0, 40), 'x'.repeat(99)) },
};
