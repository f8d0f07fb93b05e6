#!/usr/bin/env bash
# Builds the images of the Dockerfile with podman and runs them: `npm run image`. No registry of images is needed: the
# base image is the Debian of this machine (debootstrap) with its Node, and the image with uv holds stand-ins.
# Exit code: 0 if nothing failed, 1 if something did, 77 if it cannot run here.
#
#   IMAGE_DIR   the folder for all files; the next run uses the base image in it   (TMPDIR/mcp-proxy-image)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

skip() { echo "image: not checked: $*"; exit 77; }
[ "$(uname -s)" = Linux ] || skip 'needs Linux'
[ "$(id -u)" = 0 ] || skip 'needs root'
for program in podman debootstrap npm; do command -v "$program" >/dev/null || skip "$program is not installed"; done

dir=${IMAGE_DIR:-${TMPDIR:-/tmp}/mcp-proxy-image}
mkdir -p "$dir" && dir=$(cd "$dir" && pwd -P)
log=$dir/log
: >"$log"
began=$(date +%s)
# crun does not run where systemd does not manage the control groups.
runtime=$(command -v runc || command -v crun) || skip 'neither runc nor crun is installed'
pod() { podman --root "$dir/storage" --runroot "$dir/run" --runtime "$runtime" --cgroup-manager cgroupfs "$@"; }
failed=0
check() { # title, command …
  local title=$1 why
  shift
  if why=$("$@" 2>&1); then echo "PASS $title"; else
    failed=1
    printf 'FAIL %s\n%s\n' "$title" "$why"
  fi
}

# ── the base image ──

node_image=localhost/node:$(node --version)

base() {
  local root=$dir/debian
  if pod image exists "$node_image"; then return; fi
  if [ ! -e "$root/etc/debian_version" ]; then
    debootstrap --variant=minbase "$(. /etc/os-release && echo "$VERSION_CODENAME")" "$root.new"
    rm -rf "$root.new/var/cache/apt/archives/"*.deb
    mv "$root.new" "$root"
  fi
  # Node of this machine, and the certificates with which its npm reaches the registry.
  local npm
  npm=$(dirname "$(dirname "$(readlink -f "$(command -v npm)")")")
  mkdir -p "$root/usr/local/bin" "$root/usr/local/lib/node_modules" "$root/etc/ssl"
  cp -L "$(command -v node)" "$root/usr/local/bin/node"
  cp -R "$npm" "$root/usr/local/lib/node_modules/"
  ln -sf ../lib/node_modules/npm/bin/npm-cli.js "$root/usr/local/bin/npm"
  ln -sf ../lib/node_modules/npm/bin/npx-cli.js "$root/usr/local/bin/npx"
  cp -RL /etc/ssl/certs "$root/etc/ssl/" 2>/dev/null || true
  tar -C "$root" -c . | pod import - "$node_image" >/dev/null
  mkdir -p "$dir/uv" && printf '#!/bin/sh\necho uv of the test\n' | tee "$dir/uv/uv" >"$dir/uv/uvx" && chmod 755 "$dir/uv/"*
  tar -C "$dir/uv" -c . | pod import - localhost/uv >/dev/null
}

# The cache and the settings of npm are not part of the images.
mounts=(--volume "$(npm config get cache):/root/.npm")
for pair in userconfig:/root/.npmrc globalconfig:/usr/local/etc/npmrc; do
  file=$(npm config get "${pair%%:*}")
  [ ! -f "$file" ] || mounts+=(--volume "$file:${pair#*:}:ro")
done
build() { # target
  pod build --format docker --isolation chroot --network host --layers "${mounts[@]}" \
    --build-arg NODE_IMAGE="$node_image" --build-arg UV_IMAGE=localhost/uv --target "$1" --tag "mcp-proxy:$1" .
}

base >>"$log" 2>&1 || { tail -20 "$log"; echo "FAIL the base image: see $log"; exit 1; }

# ── the images, as an unknown user without capabilities, and with a read-only root ──

mkdir -p "$dir/config"
entry='{ "command": "node", "args": ["/fixtures/tiny-server.mjs"] }'
configure() { printf '{ "mcpServers": { %s } }' "$1" >"$dir/config/mcp.json"; }
configure "\"shop\": $entry"
# podman leaves health checks to systemd, so this script runs them.
locked=(--no-healthcheck --ulimit nofile=1024:1024 --ulimit nproc=1000:1000 --network none --read-only --read-only-tmpfs=false --user 1234 --cap-drop all --security-opt no-new-privileges
  --volume "$dir/config:/etc/mcp-proxy:ro" --volume "$PWD/test/fixtures:/fixtures:ro")
name=mcp-proxy-test-$$
trap 'pod rm --force --volumes --ignore "$name" >/dev/null 2>&1 || true' EXIT

soon() { # command …: succeeds within 20 s
  for _ in $(seq 100); do
    if "$@" >/dev/null 2>&1; then return; fi
    sleep 0.2
  done
  "$@" || { pod logs "$name"; return 1; }
}
inside() { pod exec "$name" "$@"; }
hello='{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}'

start() { pod run --detach --name "$name" "${locked[@]}" mcp-proxy:proxy serve --host 0.0.0.0 --allow-remote; }
# The command of the health check, one word a line.
health() { pod image inspect --format '{{range slice .HealthCheck.Test 1}}{{println .}}{{end}}' mcp-proxy:proxy; }
is_healthy() { mapfile -t words < <(health) && soon inside "${words[@]}"; }
has_status() { inside mcp-proxy status | grep shop; }
has_other() { inside mcp-proxy status | grep other; }
reloads() { configure "\"shop\": $entry, \"other\": $entry" && soon has_other; }
answers() {
  # shellcheck disable=SC2016
  inside node -e 'fetch("http://localhost:8808/mcp", { method: "POST", body: process.argv[1], headers: { "content-type": "application/json",
    accept: "application/json, text/event-stream" } }).then(answer => answer.text()).then(console.log)' "$hello" | grep '"serverInfo"'
}
lists() { inside mcp-proxy list | grep shop__echo; }
reaps() {
  inside sh -c 'sleep 0.2 & exit' && soon inside sh -c '! grep -l ") Z " /proc/[0-9]*/stat'
}
stops() {
  local from
  from=$(date +%s)
  pod stop --time 20 "$name" >/dev/null
  local code
  code=$(pod inspect --format '{{.State.ExitCode}}' "$name")
  [ "$code" = 0 ] && [ $(($(date +%s) - from)) -lt 10 ] || { pod logs "$name"; echo "exit code $code"; return 1; }
}
speaks() {
  local line=
  coproc stdio { pod run --rm --interactive "${locked[@]}" mcp-proxy:proxy stdio 2>/dev/null; }
  local input=${stdio[1]} output=${stdio[0]} pid=$stdio_PID
  echo "$hello" >&"$input"
  read -r -t 30 line <&"$output" || true
  exec {input}>&-
  wait "$pid" || true
  [[ $line == *'"serverInfo"'* ]] || { echo "answer: $line"; return 1; }
}
checks() { pod run --rm "${locked[@]}" mcp-proxy:proxy check; }
has_programs() {
  pod run --rm "${locked[@]}" --entrypoint sh mcp-proxy:local -c 'git --version && npx --version && uvx && touch /cache/x && mcp-proxy --version'
}

check 'the image for remote servers builds' build proxy
check 'it starts' start
check 'its health check succeeds' is_healthy
check 'a client over HTTP gets an answer' answers
check 'list shows the tools of a server' lists
check 'status finds the proxy' has_status
check 'a changed configuration takes effect' reloads
check 'processes without a parent are reaped' reaps
check 'it stops in order on SIGTERM' stops
check 'it serves a client on stdio' speaks
check 'it checks a configuration' checks
check 'the image for local servers builds' build local
check 'it has git, npx and uvx' has_programs

pod image list --format '{{.Repository}}:{{.Tag}} {{.Size}}' | grep mcp-proxy: || true
echo "image: $(($(date +%s) - began)) s"
exit "$failed"
