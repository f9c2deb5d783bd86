#!/bin/sh
# One campaign, for cron: silent where nobody has to do anything, since cron mails whatever is printed.
# usage: sweep.sh SWEEP [THRESHOLD]    SWEEP as `drysweep run` takes it; THRESHOLD such as new:major
set -u

sweep=$1
threshold=${2:-new:major}
home=${DRYSWEEP_HOME:?say where ledgers and reports lie, such as /var/lib/drysweep}
# A sweep's own lock and log: another sweep at the same time is no reason to wait, and overwrites nothing. Whatever of the
# name is not safe in a file's name becomes a hyphen, and the sum keeps two such names apart.
own=$(printf %s "$sweep" | tr -c 'A-Za-z0-9._' '-' | tail -c 80).$(printf %s "$sweep" | cksum | cut -d ' ' -f 1)
log=$home/cron/$own.log

mkdir -p "$home/cron"
# Two at once would be two campaigns of one sweep; the later one is left out.
exec 9> "$home/cron/$own.lock"
if ! flock -n 9; then
    echo "$sweep: the campaign before this one is still under way; skipped"
    exit 75
fi

drysweep run "$sweep" --home "$home" --fail-on "$threshold" > "$log" 2>&1
code=$?

case $code in
    0) exit 0 ;;                                    # converged, and nothing as bad as the threshold
    3) what="was cut short: what it saw is a lower bound" ;;
    4) what="waits for a person" ;;
    5) what="failed: a strategy did not run three times in a row" ;;
    6) what="converged, with findings at or above $threshold" ;;
    75) what="found somebody else at work; the next time will do" ;;
    *) what="did not work (exit code $code)" ;;
esac
echo "$sweep $what."
tail -n 40 "$log"
exit $code
