#!/usr/bin/env bash
# Sees to it that the services which tests talk to are installed, from Debian's packages, since some tests start their own,
# and answer on their standard local ports. Ends with an error, naming it, when one of them still does not answer.
set -uo pipefail

readonly PATIENCE_S=60

answers() {
  (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

# Package lists are fetched once, and only when something is missing.
update_lists() {
  [ -n "${lists_updated:-}" ] || timeout 300 apt-get update -q >&2
  lists_updated=yes
}

# Some packages start their server when they are installed, on machines with an init system.
wait_for() {
  local port=$1 deadline=$((SECONDS + $2))
  until answers "$port"; do
    [ "$SECONDS" -lt "$deadline" ] || return 1
    sleep 0.2
  done
}

# Most packages have the name of their program.
is_installed() {
  command -v "$1" >/dev/null || [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# ensure NAME PORT PACKAGE COMMAND...: the command puts itself into the background.
ensure() {
  local name=$1 port=$2 package=$3
  shift 3
  if ! is_installed "$package"; then
    update_lists
    installed_now="${installed_now:-} $package"
    DEBIAN_FRONTEND=noninteractive timeout 600 apt-get install -q -y "$package" >&2
  fi
  if answers "$port"; then
    echo "$name answers on $port"
    return 0
  fi
  wait_for "$port" 2 || "$@" >&2
  if wait_for "$port" "$PATIENCE_S"; then
    echo "$name started on $port"
    return 0
  fi
  echo "$name does not answer on $port; started with: $*" >&2
  return 1
}

start_nats() {
  nohup nats-server -a 127.0.0.1 -p 4222 >/dev/null 2>&1 &
}

as_postgres() {
  if [ "$(id -u)" = 0 ]; then runuser -u postgres -- "$@"; else "$@"; fi
}

# A cluster of its own, which lets everybody in, over loopback alone. PostgreSQL does not run as root.
start_postgres() {
  local programs data
  programs=$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -V | tail -n 1)
  data=$(as_postgres mktemp -d /tmp/postgres.XXXXXX) || return 1
  as_postgres "$programs/initdb" -A trust -U postgres -E UTF8 -D "$data/cluster" >/dev/null &&
    as_postgres "$programs/pg_ctl" -D "$data/cluster" -l "$data/log" -o "-p 5432 -h 127.0.0.1 -k $data" start
}

lets_postgres_in() {
  psql -w -h 127.0.0.1 -U postgres -d postgres -c '' >&2
}

# Tests come as user postgres, without a password. Only a server that was installed here is told to let them in.
ensure_trust() {
  lets_postgres_in && return 0

  if [[ "${installed_now:-}" != *postgresql* ]]; then
    echo 'postgres asks for a password: put "host all postgres 127.0.0.1/32 trust" on top of its pg_hba.conf, and reload it' >&2
    return 1
  fi
  local rules
  rules=$(as_postgres psql -At -c 'show hba_file') || return 1
  as_postgres sed -i '1i host all postgres 127.0.0.1/32 trust' "$rules"
  as_postgres psql -At -c 'select pg_reload_conf()' >/dev/null
  sleep 1
  lets_postgres_in
}

missing=0
PATH=$PATH:/usr/sbin:/usr/lib/rabbitmq/bin
ensure redis 6379 redis-server redis-server --bind 127.0.0.1 --save '' --daemonize yes || missing=1
ensure nats 4222 nats-server start_nats || missing=1
ensure rabbitmq 5672 rabbitmq-server rabbitmq-server -detached || missing=1
ensure mosquitto 1883 mosquitto mosquitto -d -p 1883 || missing=1
ensure postgres 5432 postgresql start_postgres && ensure_trust || missing=1
exit "$missing"
