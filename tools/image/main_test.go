package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// TestImageIsValidAndReproducible: the tarball is a valid OCI layout, and what docker reads is the same image. IMAGE names the tarball of a
// release; without it, the image has a program of a line.
func TestImageIsValidAndReproducible(t *testing.T) {
	out := os.Getenv("IMAGE")
	if out == "" {
		folder := filepath.Join(t.TempDir(), "midstream")
		for path, text := range map[string]string{"midstream": "#!/bin/sh\n", "LICENSE": "A", "NOTICE": "N", "licences/go.txt": "G"} {
			path = filepath.Join(folder, path)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		r := release{folder: folder, arch: "arm64", version: "v1.2.3+abc", commit: "abc", at: time.Unix(1_700_000_000, 0).UTC()}
		var texts [2][]byte
		for i := range texts {
			out = filepath.Join(t.TempDir(), "image.tar")
			if err := r.write(out); err != nil {
				t.Fatal(err)
			}
			texts[i], _ = os.ReadFile(out)
		}
		if !bytes.Equal(texts[0], texts[1]) {
			t.Error("the same files give other bytes")
		}
	}
	index, err := layout.ImageIndexFromPath(unpacked(t, out))
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 {
		t.Fatal(manifest, err)
	}
	image, err := index.Image(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	checkImage(t, image)

	tag, err := name.NewTag("midstream:" + manifest.Manifests[0].Annotations["org.opencontainers.image.ref.name"])
	if err != nil {
		t.Fatal(err)
	}
	docker, err := tarball.ImageFromPath(out, &tag)
	if err != nil {
		t.Fatal(err)
	}
	want, _ := image.ConfigName()
	if got, err := docker.ConfigName(); err != nil || got != want {
		t.Errorf("docker would load %v, %v instead of %v", got, err, want)
	}
}

func checkImage(t *testing.T, image v1.Image) {
	t.Helper()
	config, err := image.ConfigFile()
	if err != nil || config.OS != "linux" || config.Config.User != "65532:65532" || config.Config.Entrypoint[0] != "/usr/bin/midstream" {
		t.Errorf("%+v, %v", config, err)
	}
	files := map[string]*tar.Header{}
	flat := mutate.Extract(image)
	defer flat.Close()
	for r := tar.NewReader(flat); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Clean(header.Name)] = header
	}
	for path, mode := range map[string]int64{"usr/bin/midstream": 0o755, "etc/ssl/certs/ca-certificates.crt": 0o644, "state": 0o755,
		"usr/share/doc/midstream/licences/go.txt": 0o644, "usr/share/doc/midstream/NOTICE": 0o644} {
		if f := files[path]; f == nil || f.Mode != mode || path == "state" && f.Uid != user {
			t.Errorf("%s: %+v", path, f)
		}
	}
}

// unpacked is a folder with the files of a tarball.
func unpacked(t *testing.T, path string) string {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	folder := t.TempDir()
	for r := tar.NewReader(file); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return folder
		}
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(folder, header.Name)
		text, err := io.ReadAll(r)
		if err = errors.Join(err, os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, text, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}
