// Heads of requests that are odd, or that try to say more than a client may.
import { INPUT, post } from '../lib/peer.mjs';
import { either, having, HEAD, LENGTH, none, refused, sends, taken, WHOLE, without } from './requests.mjs';

const with_ = (lines, more) => ({ client: sends(`${HEAD}${LENGTH}${lines}\r\n${INPUT}`), ...taken(more) });
const bad = lines => ({ client: sends(`${HEAD}${LENGTH}${lines}\r\n${INPUT}`), ...refused });
const target = (start, how) => ({
  client: sends(`${start}\r\nhost: gate\r\naccept: text/event-stream\r\ncontent-type: application/json\r\n${LENGTH}\r\n${INPUT}`),
  ...how,
});
const asked = wanted => request => (`${request.method} ${request.target}` === wanted ? undefined : `${request.method} ${request.target}`);

export const heads = [
  { name: 'connection names content-length', ...with_('connection: close, content-length\r\n') },
  { name: 'connection names host', ...with_('connection: close, host\r\n') },
  {
    name: 'connection names x-forwarded-for',
    ...with_(
      'connection: close, x-forwarded-for, x-forwarded-host\r\nx-forwarded-for: 9.9.9.9\r\n',
      having('x-forwarded-for', '127.0.0.1'),
    ),
  },
  { name: 'connection names a header of its own', ...with_('connection: close, x-secret\r\nx-secret: 1\r\n', without('x-secret')) },
  {
    name: 'keep-alive, te, proxy-connection, upgrade',
    ...with_(
      'keep-alive: 5\r\nte: gzip\r\nproxy-connection: close\r\nupgrade: h2c\r\nhttp2-settings: AAMA\r\nconnection: upgrade, http2-settings\r\n',
      r => ['keep-alive', 'te', 'proxy-connection', 'upgrade', 'http2-settings', 'connection'].map(name => without(name)(r)).find(Boolean),
    ),
  },
  {
    name: 'an upgrade to a web socket',
    ...with_('upgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-key: x\r\n', without('upgrade')),
  },
  {
    name: 'names who it speaks for',
    ...with_(
      'x-forwarded-for: 9.9.9.9\r\nforwarded: for=9.9.9.9\r\nx-forwarded-proto: https\r\n',
      r => having('x-forwarded-for', '127.0.0.1')(r) ?? having('x-forwarded-proto', 'http')(r),
    ),
  },
  { name: 'expects 100-continue', ...with_('expect: 100-continue\r\n', without('expect')) },
  { name: 'a NUL in a header', ...bad('x-a: b\0c\r\n') },
  { name: 'a carriage return in a header', ...bad('x-a: b\rc\r\n') },
  { name: 'a folded header', ...bad('x-a: b\r\n c\r\n') },
  { name: 'a header without a colon', ...bad('nonsense\r\n') },
  { name: 'a header without a name', ...bad(': b\r\n') },
  { name: 'a name with a space', ...bad('x a: b\r\n') },
  { name: 'a name above ASCII', ...bad('x-\xe9: b\r\n') },
  { name: 'a value above ASCII', ...with_('x-a: \xe9\xff\r\n', having('x-a', '\xe9\xff')) },
  { name: 'a head with bare line feeds', client: sends(`${HEAD}${LENGTH}\r\n`.replaceAll('\r\n', '\n') + INPUT), ...either },
  { name: 'empty lines before the request', client: sends(`\r\n\r\n${post()}`), ...either },
  {
    name: 'two hosts',
    client: sends(`${HEAD}host: other\r\n${LENGTH}\r\n${INPUT}`),
    got: '400 BAD_HOST',
    refused: 'malformed',
    seen: none,
  },
  { name: 'no host', client: sends(`${HEAD.replace('host: gate\r\n', '')}${LENGTH}\r\n${INPUT}`), ...either },
  { name: 'a host that is none', client: sends(`${HEAD.replace('host: gate', 'host: a b/c@d')}${LENGTH}\r\n${INPUT}`), ...either },
  { name: 'absolute form with another authority', ...target('POST http://other.example/x?y=1 HTTP/1.1', taken(asked('POST /agui/x?y=1'))) },
  { name: 'absolute form with a user', ...target('POST http://user:pass@other/x HTTP/1.1', either) },
  {
    name: 'two slashes before the path',
    ...target('POST //evil/x HTTP/1.1', { ...either, seen: seen => seen.some(r => !r.target.startsWith('/agui')) && seen[0].target }),
  },
  { name: 'a segment that climbs', ...target('POST /a/../../x HTTP/1.1', { got: '400 BAD_PATH', refused: 'malformed', seen: none }) },
  {
    name: 'a segment that climbs, in percents',
    ...target('POST /a/%2e%2E/x HTTP/1.1', { got: '400 BAD_PATH', refused: 'malformed', seen: none }),
  },
  {
    name: 'a segment that climbs, with a backslash',
    ...target('POST /a/..\\x HTTP/1.1', { got: /^4\d\d|^200/, runs: ['', 'finished'], refused: ['', 'malformed'] }),
  },
  { name: 'a fragment', ...target('POST /x#y HTTP/1.1', either) },
  { name: 'a NUL in the path', ...target('POST /x\0y HTTP/1.1', refused) },
  { name: 'a space in the path', ...target('POST /x y HTTP/1.1', refused) },
  { name: 'a tab in the path', ...target('POST /x\ty HTTP/1.1', refused) },
  { name: 'bytes above ASCII in the path', ...target('POST /\xff\xfe HTTP/1.1', either) },
  { name: 'a path that is no path', ...target('POST x HTTP/1.1', { ...refused, refused: ['', 'malformed', 'not_found'] }) },
  { name: 'a path of 60 KiB', ...target(`POST /${'x'.repeat(60_000)} HTTP/1.1`, { got: /^(414|431|200)/, runs: ['', 'finished'] }) },
  { name: 'a method that is none', ...target('P@ST / HTTP/1.1', refused) },
  { name: 'a method in small letters', ...target('post / HTTP/1.1', { got: /^(4\d\d|200)/, runs: ['', 'finished'] }) },
  {
    name: 'CONNECT',
    client: sends('CONNECT gate:80 HTTP/1.1\r\nhost: gate\r\n\r\n', 1, 'CONNECT'),
    got: /^4\d\d/,
    refused: ['', 'malformed', 'not_found'],
    seen: none,
  },
  {
    name: 'the asterisk',
    client: sends('OPTIONS * HTTP/1.1\r\nhost: gate\r\n\r\n'),
    got: /^(4\d\d|200)/,
    runs: ['', 'finished'],
    refused: ['', 'malformed', 'not_found'],
  },
  { name: 'HTTP/0.9', client: sends('GET /\r\n\r\n'), got: [refused.got, 'closed'], refused: 'malformed', seen: none },
  { name: 'HTTP/1.2', ...target('POST / HTTP/1.2', { ...either, got: [WHOLE, /^(4|5)\d\d/] }) },
  { name: 'HTTP/9.9', ...target('POST / HTTP/9.9', { ...refused, got: /^(4|5)\d\d|closed/ }) },
  { name: 'spaces in the request line', ...target('POST  /  HTTP/1.1', either) },
  {
    name: 'TLS where none is spoken',
    client: sends('\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'),
    got: [refused.got, 'closed', 'reset'],
    refused: 'malformed',
    seen: none,
  },
  { name: 'random bytes', client: sends(`\xfe\xff${'\x01\x80'.repeat(500)}\r\n\r\n`), got: [refused.got, 'closed', 'reset'], refused: 'malformed', seen: none },
];
