#!/bin/sh
# Opens a ticket with the error, what is left and what to do, in a tracker that takes {"title", "body"} (GitLab: description for body).
#   midstream run --hook on-failure=contrib/hooks/ticket.sh ...
# The body is a block of code, so that names and messages of others are no tags or Markdown.
# TICKET_URL is the URL for new tickets, TICKET_TOKEN_FILE the file of the token. It needs curl and jq.
set -eu
jq '{title: ("Schema change of " + .run.table + ": " + .outcome),
     body: ("    " + (.run.table + ": " + .run.alter + "\n\nserver: " + .run.server + "\nphase: " + .record.phase
       + "\nerror: " + .record.error + "\nleft: " + .record.left + "\nnext: " + .record.next + "\nreport: " + .report | gsub("\r\n?|\n"; "\n    ")))}' |
  curl --fail --silent --show-error --max-time 20 --header 'Content-Type: application/json' \
    --header "Authorization: Bearer $(cat "$TICKET_TOKEN_FILE")" --data-binary @- "$TICKET_URL"
