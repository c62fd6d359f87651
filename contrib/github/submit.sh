#!/usr/bin/env bash
# A step of action.yml: plans, and submits a change for each table that differs. The same id does not submit a change twice.
set -euo pipefail
fail() { echo "::error title=midstream::$1"; exit 10; }
[ -n "$SERVE" ] && [ -n "$SERVE_TOKEN" ] && [ -n "$SERVER" ] || fail "submit needs serve, serve-token and server"
umask 077
folder=${RUNNER_TEMP:-/tmp}/midstream
mkdir -p "$folder"
printf '%s' "$SERVE_TOKEN" >"$folder/token"
unset SERVE_TOKEN
trap 'rm -f "$folder/token"' EXIT
arguments=(--to="$TO")
[ -z "$DATABASE" ] || arguments+=(--database="$DATABASE")
[ -z "$DB_HOST" ] || arguments+=(--host="$DB_HOST")
[ -z "$DB_PORT" ] || arguments+=(--port="$DB_PORT")
[ -z "$DB_USER" ] || arguments+=(--user="$DB_USER")
while IFS= read -r flag; do [ -z "$flag" ] || arguments+=("$flag"); done <<<"$FLAGS"
[ -n "${MYSQL_PWD:-}" ] || unset MYSQL_PWD
options=()
while IFS= read -r option; do [ -z "$option" ] || options+=(--option="$option"); done <<<"$OPTIONS"

ended() { echo "exit-code=$1" >>"$GITHUB_OUTPUT"; exit "$1"; }
code=0
"$MIDSTREAM" plan "${arguments[@]}" --json >"$folder/plan.jsonl" || code=$?
[ $code = 0 ] || { jq -r 'select(.event == "result") | .error' "$folder/plan.jsonl" >&2; ended $code; }
unset MYSQL_PWD
# Each table that differs: its name, and what follows ALTER TABLE name. JSON has no newline in a line.
jq -c 'select(.event == "plan" and (.alter != "" or .create != "")) | [.table, .alter, .create]' "$folder/plan.jsonl" >"$folder/changes"
submit() { # more flags
	while IFS= read -r change <&3; do
		table=$(jq -r '.[0]' <<<"$change") alter=$(jq -r '.[1]' <<<"$change")
		[[ $table =~ ^([A-Za-z0-9_$]+)\.([A-Za-z0-9_$]+)$ ]] || fail "submit takes plain names only: submit the change of $table yourself"
		if [ -n "$alter" ]; then
			statement="ALTER TABLE \`${BASH_REMATCH[1]}\`.\`${BASH_REMATCH[2]}\` $alter" more=(${options[@]+"${options[@]}"})
		else # its options are of an ALTER
			statement=$(jq -r '.[2]' <<<"$change") more=(--option=database="${BASH_REMATCH[1]}")
		fi
		id=$ID-${table//\$/_}
		[ ${#id} -le 64 ] || id=${id:0:51}-$(sha256sum <<<"$id" | cut -c 1-12)
		"$MIDSTREAM" submit "$statement" --service="$SERVE" --token-file="$folder/token" --server="$SERVER" --id="$id" \
			${more[@]+"${more[@]}"} "$@" || ended $?
	done 3<"$folder/changes"
}
submit
[ "$WAIT" != true ] || submit --wait
ended 0
