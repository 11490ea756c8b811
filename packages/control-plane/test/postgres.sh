#!/usr/bin/env bash
# Runs a command with HEDDLE_TEST_POSTGRES_URL set to a throw-away Postgres server, which ends with the command:
#   packages/control-plane/test/postgres.sh npx -y pnpm@10.34.9 test
# Takes the server of the system; when there is none, installs Debian's (as root). Nothing outside a temporary
# directory is written, and nothing is listened on but a free port of the loopback interface.
set -euo pipefail

find_server() {
  local found
  found=$(command -v postgres || ls -d /usr/lib/postgresql/*/bin/postgres /usr/pgsql-*/bin/postgres 2>/dev/null | sort -V | tail -1) || true
  [ -n "$found" ] && dirname "$(readlink -f "$found")"
}

bin=$(find_server) || {
  [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || { echo "postgres.sh: no Postgres server here; install one" >&2; exit 1; }
  echo "postgres.sh: installing Debian's postgresql" >&2
  export DEBIAN_FRONTEND=noninteractive
  # Only the programs are wanted, not a cluster of the system's.
  mkdir -p /etc/postgresql-common/createcluster.d
  echo "create_main_cluster = false" >/etc/postgresql-common/createcluster.d/heddle.conf
  { apt-get update && apt-get install -y --no-install-recommends postgresql; } >&2
  bin=$(find_server) || { echo "postgres.sh: the package brought no server" >&2; exit 1; }
}

# In memory where there is room: hundreds of databases are made and dropped, each with a checkpoint.
root=${TMPDIR:-/tmp}
free=$(df --output=avail -k /dev/shm 2>/dev/null | tail -1) || true
[ -n "${TMPDIR:-}" ] || [ "${free:-0}" -lt 4000000 ] || root=/dev/shm
directory=$(mktemp -d "$root/heddle-postgres-XXXXXX")
as_user=()
if [ "$(id -u)" = 0 ]; then # The server refuses to run as root.
  user=postgres
  id "$user" >/dev/null 2>&1 || user=nobody
  chown "$user" "$directory"
  as_user=(setpriv --reuid="$user" --regid="$(id -g "$user")" --clear-groups env HOME="$directory")
fi
cd "$directory"
"${as_user[@]}" "$bin/initdb" -D "$directory/data" -U heddle --auth=trust --encoding=UTF8 --locale=C --no-sync >"$directory/initdb.log"

for attempt in 1 2 3 4 5; do
  port=$((20000 + RANDOM % 20000))
  "${as_user[@]}" "$bin/postgres" -D "$directory/data" -h 127.0.0.1 -p "$port" -k "$directory" \
    -c fsync=off -c full_page_writes=off -c max_connections=200 >"$directory/postgres.log" 2>&1 &
  server=$!
  ready=
  for _ in $(seq 150); do
    kill -0 "$server" 2>/dev/null || break
    if "$bin/pg_isready" -q -h 127.0.0.1 -p "$port" -U heddle; then ready=1; break; fi
    sleep 0.2
  done
  [ -n "$ready" ] && kill -0 "$server" 2>/dev/null && break
  kill "$server" 2>/dev/null || true
  [ "$attempt" = 5 ] && { cat "$directory/postgres.log" >&2; rm -rf "$directory"; exit 1; }
done

stop() {
  kill -INT "$server" 2>/dev/null || true
  wait "$server" 2>/dev/null || true
  rm -rf "$directory"
}
trap stop EXIT
trap 'exit 130' INT TERM
cd "$OLDPWD"
HEDDLE_TEST_POSTGRES_URL="postgres://heddle@127.0.0.1:$port/postgres" "$@"
