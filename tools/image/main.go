// Command image writes the container image of a release as a tarball: an OCI layout, which podman, skopeo, crane and docker (25 and later)
// load, with the manifest.json that earlier versions of docker read. The same files give the same bytes.
//
//	image -folder midstream_v1_linux_amd64 -arch amd64 -version v1 -commit HASH -epoch 1700000000 -out midstream_v1_linux_amd64.oci.tar
package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"encoding/pem"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// user is the account of contrib/container/Containerfile.
const user = 65532

// release is what an image is made of.
type release struct {
	folder, arch, version, commit string
	at                            time.Time
}

func main() {
	var r release
	var epoch int64
	var out string
	flag.StringVar(&r.folder, "folder", "", "unpacked archive of the release")
	flag.StringVar(&r.arch, "arch", "", "architecture, as Go names it")
	flag.StringVar(&r.version, "version", "", "version of the release")
	flag.StringVar(&r.commit, "commit", "", "commit of the release")
	flag.Int64Var(&epoch, "epoch", 0, "time of all files, in seconds since 1970")
	flag.StringVar(&out, "out", "", "the tarball")
	flag.Parse()
	r.at = time.Unix(epoch, 0).UTC()
	if err := r.write(out); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

// write writes the tarball.
func (r release) write(out string) error {
	image, err := r.image()
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "image")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	path, err := layout.Write(work, empty.Index)
	if err != nil {
		return err
	}
	platform := layout.WithPlatform(v1.Platform{OS: "linux", Architecture: r.arch})
	names := layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": r.tag(), "io.containerd.image.name": "docker.io/library/midstream:" + r.tag(),
	})
	if err := path.AppendImage(image, platform, names); err != nil {
		return err
	}
	if err := r.forDocker(image, filepath.Join(work, "manifest.json")); err != nil {
		return err
	}
	var b bytes.Buffer
	if err := r.pack(&b, work); err != nil {
		return err
	}
	return os.WriteFile(out, b.Bytes(), 0o644)
}

// tag is the version as a tag: a tag has no +.
func (r release) tag() string { return strings.ReplaceAll(r.version, "+", "-") }

// image is the image of Containerfile, with the licenses of what is linked in.
func (r release) image() (v1.Image, error) {
	program, err := r.layer(func(w *tar.Writer) error {
		if err := r.file(w, "usr/bin/midstream", filepath.Join(r.folder, "midstream"), 0o755); err != nil {
			return err
		}
		for _, name := range []string{"LICENSE", "NOTICE", "licences"} {
			if err := r.files(w, "usr/share/doc/midstream", name); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	rest, err := r.layer(func(w *tar.Writer) error {
		if err := r.bytes(w, "etc/ssl/certs/ca-certificates.crt", certificates(), 0o644); err != nil {
			return err
		}
		return w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: "state/", Mode: 0o755, Uid: user, Gid: user, ModTime: r.at})
	})
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	if image, err = mutate.Append(image,
		mutate.Addendum{Layer: rest, History: r.history("certificates of authorities, and the folder of the state")},
		mutate.Addendum{Layer: program, History: r.history("midstream " + r.version)}); err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = "linux", r.arch, v1.Time{Time: r.at}
	config.Config = v1.Config{
		User: fmt.Sprintf("%d:%d", user, user), Entrypoint: []string{"/usr/bin/midstream"}, Volumes: map[string]struct{}{"/state": {}},
		Env: []string{"HOME=/", "XDG_STATE_HOME=/state", "XDG_RUNTIME_DIR=/state"},
		Labels: map[string]string{
			"org.opencontainers.image.title": "midstream", "org.opencontainers.image.version": r.version,
			"org.opencontainers.image.revision": r.commit, "org.opencontainers.image.licenses": "Apache-2.0",
			"org.opencontainers.image.description": "change the schema of a MySQL table while it is in use",
		},
	}
	return mutate.ConfigFile(image, config)
}

// certificates are the authorities that Mozilla trusts: those of the machine that builds would differ from machine to machine.
func certificates() []byte {
	var b bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil { // a file of certificates cannot have one
			_ = pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // a buffer takes all
		}
	}
	return b.Bytes()
}

func (r release) history(text string) v1.History {
	return v1.History{Created: v1.Time{Time: r.at}, CreatedBy: text}
}

// layer makes a layer of what fill writes.
func (r release) layer(fill func(*tar.Writer) error) (v1.Layer, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := fill(w); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil }
	return tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(9))
}

// files writes a file or a folder of the release, in the order of names.
func (r release) files(w *tar.Writer, into, name string) error {
	return filepath.WalkDir(filepath.Join(r.folder, name), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		below, err := filepath.Rel(r.folder, path)
		if err != nil {
			return err
		}
		return r.file(w, into+"/"+filepath.ToSlash(below), path, 0o644)
	})
}

func (r release) file(w *tar.Writer, name, from string, mode int64) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return r.bytes(w, name, text, mode)
}

func (r release) bytes(w *tar.Writer, name string, text []byte, mode int64) error {
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: int64(len(text)), ModTime: r.at}); err != nil {
		return err
	}
	_, err := w.Write(text)
	return err
}

// forDocker writes the manifest.json of docker save.
func (r release) forDocker(image v1.Image, path string) error {
	manifest, err := image.Manifest()
	if err != nil {
		return err
	}
	blob := func(d v1.Descriptor) string { return "blobs/" + d.Digest.Algorithm + "/" + d.Digest.Hex }
	var layers []string
	for _, layer := range manifest.Layers {
		layers = append(layers, blob(layer))
	}
	text, err := json.Marshal([]any{map[string]any{"Config": blob(manifest.Config), "RepoTags": []string{"midstream:" + r.tag()}, "Layers": layers}})
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// pack writes a folder as a tarball, in the order of names.
func (r release) pack(out io.Writer, folder string) error {
	var names []string
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			names = append(names, path)
		}
		return err
	})
	if err != nil {
		return err
	}
	slices.Sort(names)
	w := tar.NewWriter(out)
	for _, path := range names {
		name, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		if err := r.file(w, filepath.ToSlash(name), path, 0o644); err != nil {
			return err
		}
	}
	return w.Close()
}
