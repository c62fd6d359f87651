#!/usr/bin/env bash
# Makes the Debian package of a release's folder: build.sh FOLDER ARCH OUT (release.sh calls it, and sets VERSION, COMMIT and SOURCE_DATE_EPOCH).
set -euo pipefail
folder=$1 arch=$2 out=$3
here=$(cd "$(dirname "$0")/.." && pwd)
version=${VERSION#v}
[[ $version =~ ^[0-9] && $VERSION == *.* ]] || version=0~$version # no tag yet: any release is newer
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
chmod 755 "$root"

install -Dm755 "$folder/midstream" "$root/usr/bin/midstream"
mkdir -p "$root/usr/share/man/man1"
gzip -9nc "$folder/docs/midstream.1" >"$root/usr/share/man/man1/midstream.1.gz"
install -Dm644 "$folder/completions/midstream.bash" "$root/usr/share/bash-completion/completions/midstream"
install -Dm644 "$folder/completions/midstream.zsh" "$root/usr/share/zsh/vendor-completions/_midstream"
install -Dm644 "$folder/completions/midstream.fish" "$root/usr/share/fish/vendor_completions.d/midstream.fish"
install -Dm644 "$here/systemd/midstream.service" "$root/lib/systemd/system/midstream.service"
install -Dm644 "$here/systemd/midstream.default" "$root/etc/default/midstream"
install -dm750 "$root/etc/midstream"
doc=$root/usr/share/doc/midstream
mkdir -p "$doc/docs" "$doc/licences"
gzip -9nc "$folder/CHANGELOG.md" >"$doc/changelog.gz"
cp "$folder"/README.md "$doc/"
cp -r "$folder"/docs/*.md "$folder"/docs/*.yaml "$folder"/docs/*.txt "$doc/docs/"
cp "$folder"/licences/* "$doc/licences/"
{
	echo "Midstream $VERSION, commit $COMMIT."
	cat "$folder/NOTICE"
	echo "Midstream has the Apache License 2.0: /usr/share/common-licenses/Apache-2.0."
	echo "The files of these names in the folder licences are the licences of what it links in and embeds:"
	ls "$doc/licences"
} >"$doc/copyright"

mkdir "$root/DEBIAN"
cat >"$root/DEBIAN/control" <<END
Package: midstream
Version: $version
Architecture: $arch
Maintainer: Midstream <root@localhost>
Section: database
Priority: optional
Installed-Size: $(find "$root" -type f ! -path '*/DEBIAN/*' -printf '%s\n' | awk '{ n += int(($1 + 1023) / 1024) } END { print n }')
Recommends: ca-certificates
Suggests: default-mysql-client
Description: change the schema of a MySQL table while it is in use
 Midstream builds a shadow table beside the table, keeps the two equal while the
 application goes on writing, proves it, and swaps them under a lock that no
 query waits for longer than a stated bound. It plans, runs, resumes, verifies
 and reports; midstream serve keeps a queue of changes.
END
echo /etc/default/midstream >"$root/DEBIAN/conffiles"
cat >"$root/DEBIAN/postinst" <<'END'
#!/bin/sh
set -e
if [ "$1" = configure ]; then
	if ! getent passwd midstream >/dev/null; then
		useradd --system --user-group --no-create-home --home-dir /var/lib/midstream --shell /usr/sbin/nologin midstream
	fi
	chgrp midstream /etc/midstream
	if [ -d /run/systemd/system ]; then
		systemctl daemon-reload || true
		systemctl try-restart midstream.service || true # its runs go on, and it finds them again
	fi
fi
END
cat >"$root/DEBIAN/prerm" <<'END'
#!/bin/sh
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then systemctl disable --now midstream.service || true; fi
END
cat >"$root/DEBIAN/postrm" <<'END'
#!/bin/sh
set -e
if [ -d /run/systemd/system ]; then systemctl daemon-reload || true; fi
if [ "$1" = purge ]; then
	rmdir /etc/midstream 2>/dev/null || true # with option files in it, it stays
	echo "midstream: /var/lib/midstream (queue, histories, reports) and user midstream are left alone"
fi
END
chmod 755 "$root"/DEBIAN/p*
(cd "$root" && find . -type f ! -path './DEBIAN/*' -printf '%P\0' | sort -z | xargs -0 md5sum >DEBIAN/md5sums)
find "$root" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
dpkg-deb --root-owner-group -Zxz --build "$root" "$out/midstream_${VERSION}_$arch.deb" >/dev/null
