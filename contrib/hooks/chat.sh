#!/bin/sh
# Reports to a chat, with an incoming webhook that takes {"text": ...} (Slack, Mattermost, Rocket.Chat, ...).
#   midstream run --hook on-held=contrib/hooks/chat.sh --hook on-end=contrib/hooks/chat.sh ...
# CHAT_WEBHOOK is the URL. It needs curl and jq. Names and messages of others cannot mention people or make links: & < > are escaped.
set -eu
jq '{text: ("midstream: " + .run.table + " on " + .run.server + ": "
  + (if .outcome != "" then .outcome + (if .record.error != "" then ": " + .record.error else "" end) else .moment end)
  + (if .report != "" then " (" + .report + ")" else "" end)
  | gsub("&"; "&amp;") | gsub("<"; "&lt;") | gsub(">"; "&gt;"))}' |
  curl --fail --silent --show-error --max-time 20 --header 'Content-Type: application/json' --data-binary @- "$CHAT_WEBHOOK"
