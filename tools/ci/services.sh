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

# ensure NAME PORT PACKAGE COMMAND...: packages have the name of their program; the command puts itself into the background.
ensure() {
  local name=$1 port=$2 package=$3
  shift 3
  if ! command -v "$package" >/dev/null; then
    update_lists
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

missing=0
PATH=$PATH:/usr/sbin:/usr/lib/rabbitmq/bin
ensure redis 6379 redis-server redis-server --bind 127.0.0.1 --save '' --daemonize yes || missing=1
ensure nats 4222 nats-server start_nats || missing=1
ensure rabbitmq 5672 rabbitmq-server rabbitmq-server -detached || missing=1
ensure mosquitto 1883 mosquitto mosquitto -d -p 1883 || missing=1
exit "$missing"
