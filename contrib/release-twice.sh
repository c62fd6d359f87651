#!/usr/bin/env bash
# Proves that a release is reproducible: builds the commit in two clones in folders of different names, and compares every byte.
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
commit=$(git -C "$top" rev-parse HEAD) # once: somebody may commit meanwhile
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for place in one another/place; do
	mkdir -p "$(dirname "$work/$place")"
	git clone -q "$top" "$work/$place"
	git -C "$work/$place" checkout -q "$commit"
	"$work/$place/contrib/release.sh" "$work/$place/dist" >/dev/null
done
diff "$work/one/dist/SHA256SUMS" "$work/another/place/dist/SHA256SUMS"
diff -r "$work/one/dist" "$work/another/place/dist"
echo "the same, twice:" && cat "$work/one/dist/SHA256SUMS"
