#!/usr/bin/env bash
# A step of action.yml: takes or downloads the program, and compares its checksum.
set -euo pipefail
fail() { echo "::error title=midstream::$1"; exit 10; }
case $MODE in plan | submit) ;; *) fail "mode must be plan or submit" ;; esac
check() { # file
	echo "$SHA256  $1" | sha256sum --check --status || fail "the file does not have the SHA-256 of the input sha256"
}
folder=${RUNNER_TEMP:-/tmp}/midstream
mkdir -p "$folder"
if [ -n "$BINARY" ]; then
	[ -z "$URL" ] || fail "give binary or url, not both"
	program=$(realpath "$BINARY")
	[ -z "$SHA256" ] || check "$program"
else
	case $URL in https://*) ;; *) fail "give binary, or url (https)" ;; esac
	[ -n "$SHA256" ] || fail "url needs sha256: SHA256SUMS of the release has it"
	curl --fail --silent --show-error --location --proto '=https' --retry 3 --output "$folder/download" "$URL"
	check "$folder/download"
	program=$folder/midstream
	case $URL in
	*.tar.gz) tar -xzf "$folder/download" -C "$folder" --strip-components=1 --wildcards '*/midstream' ;;
	*) mv "$folder/download" "$program" ;;
	esac
	chmod +x "$program"
fi
"$program" version
echo "midstream=$program" >>"$GITHUB_OUTPUT"
