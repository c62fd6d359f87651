#!/bin/sh
# Calls the operator on duty while sessions block the lock or when a run has failed, and resolves the call when the run is done (PagerDuty's events, version 2).
#   midstream run --hook on-blocked=contrib/hooks/pager.sh --hook on-failure=contrib/hooks/pager.sh --hook on-success=contrib/hooks/pager.sh ...
# PAGER_KEY is the routing key, PAGER_URL may name another place. It needs curl and jq.
set -eu
jq --arg key "$PAGER_KEY" '{routing_key: $key, dedup_key: ("midstream " + .run.server + " " + .run.table),
    event_action: (if .moment == "on-success" then "resolve" else "trigger" end),
    payload: {summary: ("midstream: " + .run.table + ": " + (if .outcome != "" then .outcome else .moment end)), source: .run.server,
      severity: (if .moment == "on-failure" then "error" else "warning" end), custom_details: .record}}' |
  curl --fail --silent --show-error --max-time 20 --header 'Content-Type: application/json' --data-binary @- "${PAGER_URL:-https://events.pagerduty.com/v2/enqueue}"
