#!/usr/bin/env bash
# Prints the version of this commit: its tag; else the newest version of CHANGELOG.md, with the commit.
set -euo pipefail
cd "$(dirname "$0")/.."
tag=$(git describe --tags --exact-match --dirty 2>/dev/null || true)
if [ -n "$tag" ] && [[ $tag != *-dirty ]]; then
	echo "$tag"
	exit
fi
newest=$(sed -n 's/^## \(v[0-9][0-9.]*\) .*/\1/p' CHANGELOG.md | head -1)
commit=$(git describe --always --exclude='*' --dirty 2>/dev/null || echo unknown)
echo "${newest:-v0.0.0}+$commit"
