#!/bin/sh
# Keeps a run from changing the table while a file exists; the run's error has the text of the file.
#   midstream run --hook before-cutover=contrib/hooks/freeze.sh ...
# FREEZE_FILE is the file. The error of the run has the output of a before- hook; the hook fails, so the run ends and the table is unchanged.
set -eu
if [ -e "$FREEZE_FILE" ]; then
  echo "no changes of $MIDSTREAM_TABLE now: $(cat "$FREEZE_FILE")"
  exit 1
fi
