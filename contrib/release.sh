#!/usr/bin/env bash
# Builds a release into a folder: contrib/release.sh OUT. The same commit gives the same bytes, wherever and whenever it is built, with the same Go.
# VERSION, COMMIT and SOURCE_DATE_EPOCH are of the commit where they are not set. PLATFORMS="linux/amd64" builds only some.
set -euo pipefail
out=$(mkdir -p "$1" && cd "$1" && pwd)
cd "$(dirname "$0")/.."
export LC_ALL=C TZ=UTC CGO_ENABLED=0 GOFLAGS=-mod=readonly GOWORK=off GOAMD64=v1 GOARM64=v8.0
VERSION=${VERSION:-$(contrib/version.sh)}
COMMIT=${COMMIT:-$(git rev-parse HEAD)}
export VERSION COMMIT SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
PLATFORMS=${PLATFORMS:-linux/amd64 linux/arm64 darwin/amd64 darwin/arm64}
umask 022
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rm -f "$out"/midstream_* "$out"/SHA256SUMS

build() { # os arch file
	GOOS=$1 GOARCH=$2 go build -trimpath -buildvcs=false -ldflags "-s -w -buildid= -X main.version=$VERSION -X main.commit=$COMMIT" -o "$3" ./cmd/midstream
}

# The licences of all that is linked in or embedded, each in a file of its name.
licences() { # program folder
	mkdir -p "$2"
	cp "$(go env GOROOT)/LICENSE" "$2/go.txt"
	find internal -name '*.LICENSE' | while read -r file; do cp "$file" "$2/$(basename "${file%.LICENSE}").txt"; done
	go version -m "$1" | awk '$1 == "dep" { print $2 }' | while read -r module; do
		folder=$(go list -m -f '{{.Dir}}' "$module")
		name=$(tr / _ <<<"$module")
		found=$(find "$folder" -maxdepth 1 -type f \( -iname 'licen[sc]e*' -o -iname 'copying*' -o -iname 'notice*' \) | sort)
		[ -n "$found" ] || { echo "no licence of $module in $folder" >&2; exit 1; }
		cat $found >"$2/$name.txt"
	done
}

archive() { # folder archive
	find "$1" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
	tar --sort=name --owner=0 --group=0 --numeric-owner --format=ustar -C "$(dirname "$1")" -cf - "$(basename "$1")" | gzip -9n >"$2"
}

build "$(go env GOHOSTOS)" "$(go env GOHOSTARCH)" "$work/midstream" # tells its completions
mkdir "$work/completions"
for shell in bash zsh fish; do "$work/midstream" completion $shell >"$work/completions/midstream.$shell"; done

for platform in $PLATFORMS; do
	os=${platform%/*} arch=${platform#*/} name=midstream_${VERSION}_${platform/\//_}
	folder=$work/$name
	mkdir "$folder"
	build "$os" "$arch" "$folder/midstream"
	cp -r docs "$work/completions" CHANGELOG.md LICENSE NOTICE README.md contrib "$folder/"
	rm -rf "$folder/docs/adr"
	licences "$folder/midstream" "$folder/licences"
	archive "$folder" "$out/$name.tar.gz"
	go run github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.9.0 bin -json -noserial -licenses -version "v${VERSION#v}" -output "$work/sbom" "$folder/midstream" 2>/dev/null
	# Its time is that of the commit, and the program that wrote it is named without its own digests.
	python3 - "$work/sbom" "$out/$name.cdx.json" <<-'END'
		import datetime, json, os, sys
		sbom = json.load(open(sys.argv[1]))
		at = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
		sbom["metadata"]["timestamp"] = at.strftime("%Y-%m-%dT%H:%M:%SZ")
		for tool in sbom["metadata"]["tools"]:
		    tool.pop("hashes", None)
		sbom["components"].append({"type": "library", "name": "uPlot", "version": "1.6.32", "purl": "pkg:npm/uplot@1.6.32",
		                           "licenses": [{"license": {"id": "MIT"}}], "description": "embedded: plots of reports and pages"})
		json.dump(sbom, open(sys.argv[2], "w"), indent=1, sort_keys=True)
	END
	if [ "$os" = linux ]; then
		cp "$(cd tools/image && go list -m -f '{{.Dir}}' golang.org/x/crypto/x509roots/fallback)/LICENSE" "$folder/licences/certificates.txt"
		(cd tools/image && go run . -folder "$folder" -arch "$arch" -version "$VERSION" -commit "$COMMIT" -epoch "$SOURCE_DATE_EPOCH" -out "$out/$name.oci.tar")
		rm "$folder/licences/certificates.txt" # the image has them, the package does not
	fi
	if [ "$os" = linux ] && command -v dpkg-deb >/dev/null; then contrib/deb/build.sh "$folder" "$arch" "$out"; fi
done
(cd "$out" && sha256sum midstream_* >SHA256SUMS)
echo "$out:" && cat "$out/SHA256SUMS"
