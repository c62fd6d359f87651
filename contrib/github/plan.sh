#!/usr/bin/env bash
# A step of action.yml: plans, and writes the plan as a comment of the pull request.
set -euo pipefail
folder=${RUNNER_TEMP:-/tmp}/midstream
mkdir -p "$folder"
arguments=(--to="$TO")
[ -z "$DATABASE" ] || arguments+=(--database="$DATABASE")
[ -z "$DB_HOST" ] || arguments+=(--host="$DB_HOST")
[ -z "$DB_PORT" ] || arguments+=(--port="$DB_PORT")
[ -z "$DB_USER" ] || arguments+=(--user="$DB_USER")
while IFS= read -r flag; do [ -z "$flag" ] || arguments+=("$flag"); done <<<"$FLAGS"
[ -n "${MYSQL_PWD:-}" ] || unset MYSQL_PWD

code=0
env -u GH_TOKEN "$MIDSTREAM" plan "${arguments[@]}" --exit-code --format=md >"$folder/plan" 2>"$folder/errors" || code=$?
cat "$folder/errors" >&2
marker="<!-- midstream plan of $TO -->"
{
	echo "$marker"
	case $code in
	0) echo "**Midstream**: the server is equal to \`$TO\`." ;;
	2) echo "**Midstream**: a run would change these tables." ;;
	*) echo "**Midstream**: the plan ended with exit code $code." ;;
	esac
	echo
	head -c 60000 "$folder/plan" # a comment has 65,536 characters at most
	if [ "$(wc -c <"$folder/plan")" -gt 60000 ]; then printf '\n\nThe plan is longer: the log of this job has all of it.\n'; fi
	if [ $code != 0 ] && [ $code != 2 ]; then
		echo
		head -c 4000 "$folder/errors" | sed 's/^/    /'
	fi
} >"$folder/plan.md"
cat "$folder/plan.md" >>"${GITHUB_STEP_SUMMARY:-/dev/null}"
cat "$folder/plan"
differs=false
[ $code != 2 ] || differs=true
printf '%s\n' "exit-code=$code" "differs=$differs" "plan=$folder/plan.md" >>"$GITHUB_OUTPUT"

if [ "$COMMENT" = true ] && [ -n "$PULL_REQUEST" ]; then
	comments=repos/$GITHUB_REPOSITORY/issues
	old=$(gh api --paginate "$comments/$PULL_REQUEST/comments" |
		jq -r --arg marker "$marker" '.[] | select(.user.type == "Bot" and (.body | startswith($marker))) | .id' | tail -n 1)
	if [ -n "$old" ]; then
		jq -n --rawfile body "$folder/plan.md" '{body: $body}' | gh api --method PATCH "$comments/comments/$old" --input - >/dev/null
	else
		jq -n --rawfile body "$folder/plan.md" '{body: $body}' | gh api --method POST "$comments/$PULL_REQUEST/comments" --input - >/dev/null
	fi
fi
[ $code = 2 ] && [ -s "$folder/plan" ] && exit 0 # without a plan, 2 is a crash
exit $code
