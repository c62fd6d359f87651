#!/bin/sh
# Keeps a run from changing the table while a file says that nothing may be changed; what the file says is told.
#   midstream run --hook before-cutover=contrib/hooks/freeze.sh ...
# FREEZE_FILE is the file. What a before- hook prints stands in the error of the run; it fails, so the run ends and the table stays as it was.
set -eu
if [ -e "$FREEZE_FILE" ]; then
  echo "no changes of $MIDSTREAM_TABLE now: $(cat "$FREEZE_FILE")"
  exit 1
fi
