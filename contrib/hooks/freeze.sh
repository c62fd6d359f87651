#!/bin/sh
# Keeps a run from changing the table while a file exists; the run's error has the text of the file.
#   midstream run --hook before-cutover=contrib/hooks/freeze.sh ...
# FREEZE_FILE is the file. While it exists the hook fails: the run is held, midstream status prints the text, and the run asks again.
# With --hook-veto=abort the run ends instead, with the text in its error, and the table is unchanged.
set -eu
if [ -e "$FREEZE_FILE" ]; then
  echo "no changes of $MIDSTREAM_TABLE now: $(cat "$FREEZE_FILE")"
  exit 1
fi
