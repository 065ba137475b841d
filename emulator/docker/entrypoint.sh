#!/usr/bin/env bash
# Starts the emulator of this container, and serves its loopback ports to the outside. `health`: has Android booted?
#
#   SOPBENCH_ACCEL   auto (default): KVM where it boots, else software; on: KVM or nothing; off: software
#   SOPBENCH_TIED    1: end when standard input closes (emulator/docker.py holds its other end)
#   SOPBENCH_AVD     AVD to start (default AndroidWorldAvd)
#   SOPBENCH_BOOT    seconds that a boot with KVM may take before software is tried (default 240)
#   SOPBENCH_EMULATOR, SOPBENCH_ADB   other programs (tests)
set -euo pipefail

readonly console=5554 adb_port=5555 grpc=8554
readonly avd="${SOPBENCH_AVD:-AndroidWorldAvd}"
readonly accel="${SOPBENCH_ACCEL:-auto}"
readonly boot_seconds="${SOPBENCH_BOOT:-240}"
readonly emulator="${SOPBENCH_EMULATOR:-emulator}"
readonly adb="${SOPBENCH_ADB:-adb}"
pids=()
emulator_pid=""

say() { printf 'sopbench-emulator: %s\n' "$*" >&2; }

booted() { [[ "$(timeout 5 "$adb" -s "emulator-$console" shell getprop sys.boot_completed 2>/dev/null | tr -d '\r')" == 1 ]]; }

end() {
  trap - EXIT INT TERM
  local pid
  for pid in "$emulator_pid" "${pids[@]}"; do
    if [[ -n "$pid" ]]; then kill "$pid" 2>/dev/null || true; fi
  done
  wait 2>/dev/null || true
}

start() {  # start ACCEL
  "$emulator" -avd "$avd" -no-window -no-audio -no-boot-anim -gpu swiftshader_indirect -accel "$1" \
    -grpc "$grpc" -ports "$console,$adb_port" -no-snapshot-save -no-snapshot-load &
  emulator_pid=$!
}

# With KVM: wait for the boot, by a deadline. 1: it ended or did not boot.
boots() {
  local deadline=$((SECONDS + boot_seconds))
  while ((SECONDS < deadline)); do
    kill -0 "$emulator_pid" 2>/dev/null || return 1
    if booted; then return 0; fi
    sleep 1
  done
  return 1
}

kvm_there() {
  if [[ ! -r /dev/kvm || ! -w /dev/kvm ]]; then
    say "no /dev/kvm that this user may open: pass --device /dev/kvm --group-add \$(stat -c %g /dev/kvm)"
    return 1
  fi
  "$emulator" -accel-check >&2 || { say "the emulator cannot use /dev/kvm"; return 1; }
}

software() {
  if [[ "$accel" == on ]]; then
    say "SOPBENCH_ACCEL=on, and KVM does not serve: giving up"
    exit 1
  fi
  say "starting in software: many times slower; for trying out only"
  start off
}

run() {
  trap end EXIT
  trap 'exit 143' TERM
  trap 'exit 130' INT
  if [[ "${SOPBENCH_TIED:-}" == 1 ]]; then
    local me=$$
    exec 3<&0
    (cat <&3 >/dev/null || true; kill -TERM "$me" 2>/dev/null || true) &
    pids+=($!)
  fi
  "$adb" start-server >&2 || true
  local pair
  for pair in "15554:$console" "15555:$adb_port" "18554:$grpc"; do
    socat "TCP-LISTEN:${pair%%:*},fork,reuseaddr" "TCP:127.0.0.1:${pair##*:}" &
    pids+=($!)
  done
  if [[ "$accel" != off ]] && kvm_there; then
    start on
    if boots; then
      say "booted with KVM"
    else
      say "KVM is there and the emulator did not boot with it within $boot_seconds s"
      kill -KILL "$emulator_pid" 2>/dev/null || true
      wait "$emulator_pid" 2>/dev/null || true
      software
    fi
  else
    software
  fi
  local code=0
  wait "$emulator_pid" || code=$?
  say "the emulator ended (status $code)"
  exit "$code"
}

case "${1:-run}" in
  run) run ;;
  health) booted ;;
  *) say "run or health, not $1"; exit 2 ;;
esac
