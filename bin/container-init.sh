#!/bin/sh
# The first process of the images (Dockerfile): runs the proxy, passes signals on to it, and reaps processes
# whose parents have exited. Node, as the first process, would leave these as zombies.
child=
forward() { [ -z "$child" ] || kill -s "$1" "$child" 2>/dev/null; }
for signal in HUP INT QUIT TERM USR1 USR2; do
  # shellcheck disable=SC2064
  trap "forward $signal" "$signal"
done
# A terminal sends these to the proxy itself.
if [ -t 0 ]; then trap : INT QUIT; fi

# The shell connects a background process to /dev/null, so keep the input under another number.
exec 3<&0
"$@" <&3 3<&- &
child=$!
# A signal interrupts `wait`.
while
  wait "$child"
  code=$?
  kill -0 "$child" 2>/dev/null
do :; done
exit "$code"
