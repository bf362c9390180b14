#!/usr/bin/env bash
# What `openssl s_client` says of a listener with TLS: the versions and ciphers that are spoken, and those that are
# not. Wants the binary as its argument. Prints one line a check, then how many passed and failed.
set -uo pipefail

bin=$1
dir=$(mktemp -d)
gateway=
trap '[ -z "$gateway" ] || kill "$gateway" 2>/dev/null; rm -rf "$dir"' EXIT
passed=0 failed=0

verdict() { # RESULT TEXT
  if [ "$1" = 0 ]; then passed=$((passed + 1)); echo "ok      $2"; else failed=$((failed + 1)); echo "FAILED  $2"; fi
}

# An authority, two certificates of the gateway (ECDSA and RSA), and one of a client.
{
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=authority \
    -keyout "$dir/ca.key" -out "$dir/ca.pem"
  printf 'subjectAltName=DNS:gate.example\n' >"$dir/names"
  issue() { # NAME KEY-OPTIONS…
    local name=$1
    shift
    openssl req -newkey "$@" -nodes -subj "/CN=$name" -keyout "$dir/$name.key" -out "$dir/$name.csr" &&
      openssl x509 -req -in "$dir/$name.csr" -CA "$dir/ca.pem" -CAkey "$dir/ca.key" -CAcreateserial -days 2 \
        -extfile "$dir/names" -out "$dir/$name.pem"
  }
  issue ecdsa ec -pkeyopt ec_paramgen_curve:P-256 && issue rsa rsa:2048 && issue client ec -pkeyopt ec_paramgen_curve:P-256
} >"$dir/openssl.log" 2>&1 || { cat "$dir/openssl.log"; exit 1; }

# serve KEY [MORE]: a gateway with that certificate; its port into $port.
serve() {
  [ -z "$gateway" ] || { kill "$gateway"; wait "$gateway" 2>/dev/null; }
  cat >"$dir/gate.toml" <<EOF
listen = "127.0.0.1:0"
agent = "http://127.0.0.1:9/"
threads = 1
tls = { cert = "$1.pem", key = "$1.key"${2:-} }
admin = { listen = "off" }
log = { format = "json" }
EOF
  "$bin" serve --config "$dir/gate.toml" 2>"$dir/gate.log" &
  gateway=$!
  for _ in $(seq 100); do
    port=$(sed -n 's/.*"listen":"127\.0\.0\.1:\([0-9]*\)".*/\1/p' "$dir/gate.log" | head -1)
    [ -n "$port" ] && return
    sleep 0.1
  done
  cat "$dir/gate.log"
  exit 1
}

# said OPTIONS…: what s_client says of one connection. Its own lowest level of security, so that nothing is refused on
# this side; and time to read, since with TLS 1.3 a client learns only then that its certificate is not wanted.
said() {
  { printf 'GET /../ HTTP/1.1\r\nhost: gate.example\r\nconnection: close\r\n\r\n'; sleep 0.3; } |
    timeout 10 openssl s_client -connect "127.0.0.1:$port" -servername gate.example -CAfile "$dir/ca.pem" \
      -verify_return_error -ign_eof "$@" 2>&1
}
answered() { grep -q 'HTTP/1.1 400' <<<"$(said "$@")"; }
refused() { ! grep -q 'HTTP/1.1' <<<"$(said "$@")"; }

for kind in ecdsa rsa; do
  serve "$kind"
  answered -tls1_3; verdict $? "$kind: TLS 1.3"
  answered -tls1_2; verdict $? "$kind: TLS 1.2"
  for version in tls1_1 tls1; do
    refused -"$version" -cipher 'ALL:@SECLEVEL=0'; verdict $? "$kind: no ${version/tls1/TLS 1}"
  done
  for cipher in TLS_AES_128_GCM_SHA256 TLS_AES_256_GCM_SHA384 TLS_CHACHA20_POLY1305_SHA256; do
    answered -tls1_3 -ciphersuites "$cipher"; verdict $? "$kind: $cipher"
  done
  # Of all ciphers of TLS 1.2 that this openssl knows, which are taken: only those with forward secrecy and AEAD.
  taken=
  for cipher in $(openssl ciphers -tls1_2 -s 'ALL:COMPLEMENTOFALL:@SECLEVEL=0' | tr : ' '); do
    [[ $cipher == TLS_* ]] || ! answered -tls1_2 -cipher "$cipher:@SECLEVEL=0" || taken+="$cipher "
  done
  prefix=ECDHE-${kind^^}
  expected="$prefix-AES256-GCM-SHA384 $prefix-CHACHA20-POLY1305 $prefix-AES128-GCM-SHA256"
  [ "$(tr ' ' '\n' <<<"$taken" | sed '/^$/d' | sort)" = "$(tr ' ' '\n' <<<"$expected" | sort)" ]
  verdict $? "$kind: of TLS 1.2 only ${expected// /, } (taken: $taken)"
done

grep -q '^ALPN protocol: h2' <<<"$(said -alpn h2,http/1.1)"; verdict $? "h2 is agreed on where the client wants it"
grep -q '^ALPN protocol: http/1.1' <<<"$(said -alpn http/1.1)"; verdict $? "http/1.1 is agreed on where the client wants only that"
grep -q 'Secure Renegotiation IS supported' <<<"$(said -tls1_2)"; verdict $? "renegotiation is secure"
grep -q '^Compression: NONE' <<<"$(said)"; verdict $? "nothing is compressed"
grep -q 'Early data was not sent' <<<"$(said -tls1_3)"; verdict $? "no early data"
if command -v curl >/dev/null; then
  code=$(curl -s -o /dev/null -w '%{http_version} %{http_code}' --cacert "$dir/ca.pem" --path-as-is \
    --resolve "gate.example:$port:127.0.0.1" "https://gate.example:$port/../")
  [ "$code" = "2 400" ] || [ "$code" = "1.1 400" ]; verdict $? "curl is answered ($code)"
fi

serve ecdsa ', client_ca = "ca.pem"'
for version in tls1_2 tls1_3; do
  refused -"$version"; verdict $? "a client without a certificate is refused ($version)"
  answered -"$version" -cert "$dir/client.pem" -key "$dir/client.key"; verdict $? "one with a certificate is answered ($version)"
done

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
