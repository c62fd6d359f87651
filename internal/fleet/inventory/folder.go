package inventory

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"midstream/internal/mysql/dbconn"
)

// ending is that of the option files in a folder; the rest of a file's name is the server's.
const ending = ".cnf"

// LabelsSetting is the setting of the group [midstream] that has a server's labels.
const LabelsSetting = "labels"

// Folder is a folder with an option file for each server.
type Folder string

func (f Folder) String() string { return "folder " + string(f) }

// read reads the folder, unless its files are those of a hash. An error means that the folder itself cannot be used.
func (f Folder) read(_ context.Context, known string) (Inventory, error) {
	path, err := filepath.Abs(string(f))
	if err != nil {
		return Inventory{}, err
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return Inventory{}, err
	}
	hash := sha256.New()
	var files []string
	inventory := Inventory{}
	for _, e := range entries {
		name := e.Name()
		if strings.HasPrefix(name, ".") || strings.HasSuffix(name, "~") { // of editors, and of Kubernetes
			continue
		}
		file := filepath.Join(path, name)
		info, err := os.Stat(file) // follows links
		if err == nil && info.IsDir() {
			inventory.Notes = append(inventory.Notes, fmt.Sprintf("ignored folder %s: only files that end in %s are servers", file, ending))
			continue
		}
		addContent(hash, file, info, err)
		if strings.HasSuffix(name, ending) {
			files = append(files, file)
		} else {
			inventory.Notes = append(inventory.Notes, fmt.Sprintf("ignored file %s: only files that end in %s are servers", file, ending))
		}
	}
	if len(files) == 0 {
		return Inventory{}, fmt.Errorf("no file ends in %s", ending)
	}
	if inventory.hash = fmt.Sprintf("%x", hash.Sum(nil)); inventory.hash == known {
		return inventory, errSame
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ending)
		server, err := ReadFile(name, file)
		if err != nil {
			inventory.Problems = append(inventory.Problems, Problem{name, err})
		} else {
			inventory.Servers = append(inventory.Servers, server)
		}
	}
	inventory.sort()
	return inventory, nil
}

// errSame means that a source has not changed.
var errSame = errors.New("the inventory is unchanged")

// addContent adds a file to the hash, with all on which its reading depends.
func addContent(hash io.Writer, file string, info fs.FileInfo, err error) {
	fmt.Fprintf(hash, "%q %v\n", file, err)
	if err != nil || !info.Mode().IsRegular() {
		return
	}
	text, err := os.ReadFile(file)
	fmt.Fprintf(hash, "%v %v %d %s\n", info.Mode(), err, len(text), text)
}

// ReadFile reads the option file of one server.
func ReadFile(name, file string) (Server, error) {
	server := Server{Name: name, File: file}
	filed, err := dbconn.OptionFiles{Only: file}.Read()
	if err != nil {
		return server, errors.Join(CheckName(name), err)
	}
	problems := []error{CheckName(name)}
	for _, s := range filed.Settings {
		if s.Name != LabelsSetting {
			continue
		}
		if server.Labels, err = ParseLabels(s.Value); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", s.Place, err))
		}
	}
	if filed.Options.AskPassword {
		problems = append(problems, fmt.Errorf("option file %s has a password without a value, and no terminal asks for it", file))
	}
	return server, errors.Join(problems...)
}
