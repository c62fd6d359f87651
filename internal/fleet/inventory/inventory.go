package inventory

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"midstream/internal/fleet/selector"
)

// Server is a server of the fleet.
type Server struct {
	Name string
	// File is its option file, with the account and perhaps the server. Host, Port, Socket and User override it; they may be empty.
	File   string
	Host   string
	Port   int
	Socket string
	User   string
	Labels map[string]string
}

// NameLabel is the label that each server has of itself: its name.
const NameLabel = "server"

// AllLabels are the labels with the server's name.
func (s Server) AllLabels() map[string]string {
	all := maps.Clone(s.Labels)
	if all == nil {
		all = map[string]string{}
	}
	all[NameLabel] = s.Name
	return all
}

// Flags are the flags by which a verb reaches the server.
func (s Server) Flags() []string {
	var flags []string
	for _, f := range []struct{ name, value string }{{"defaults-file", s.File}, {"host", s.Host}, {"port", strconv.Itoa(s.Port)}, {"socket", s.Socket}, {"user", s.User}} {
		if f.value != "" && f.value != "0" {
			flags = append(flags, "--"+f.name+"="+f.value)
		}
	}
	return flags
}

func (s Server) equal(other Server) bool {
	return s.File == other.File && slices.Equal(s.Flags(), other.Flags()) && maps.Equal(s.Labels, other.Labels)
}

// Problem is what is wrong with one server of the inventory.
type Problem struct {
	Name string
	Err  error
}

func (p Problem) Error() string { return "server " + p.Name + ": " + p.Err.Error() }
func (p Problem) Unwrap() error { return p.Err }

// Inventory are the servers at one moment, by their names.
type Inventory struct {
	Servers  []Server
	Problems []Problem
	Notes    []string // about what is not a server, and looks like one
	hash     string   // of what was read
}

// Chosen are the servers whose labels a selector takes.
func (i Inventory) Chosen(takes func(labels map[string]string) bool) (chosen []Server) {
	for _, s := range i.Servers {
		if takes(s.AllLabels()) {
			chosen = append(chosen, s)
		}
	}
	return chosen
}

func (i *Inventory) sort() {
	slices.SortFunc(i.Servers, func(a, b Server) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(i.Problems, func(a, b Problem) int { return cmp.Compare(a.Name, b.Name) })
}

// names are what a server may be called.
var names = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// CheckName returns the error in a server's name.
func CheckName(name string) error {
	if !names.MatchString(name) {
		return errors.New("the name must have up to 64 letters, digits and . _ -, and begin with a letter or a digit")
	}
	return nil
}

// Files are option files by the names of their servers.
type Files map[string]string

// Take adds a server, given as name=file.
func (f Files) Take(text string) error {
	name, file, paired := strings.Cut(text, "=")
	if !paired || CheckName(name) != nil || file == "" {
		return errors.New("must be name=file; the name has letters, digits and . _ -")
	}
	if _, twice := f[name]; twice {
		return fmt.Errorf("two servers have the name %s", name)
	}
	path, err := filepath.Abs(file)
	f[name] = path
	return err
}

// ParseLabels reads the labels of a server, such as env=prod,app=shop. Its name is one of them already.
func ParseLabels(text string) (map[string]string, error) {
	labels, err := selector.ParseLabels(text)
	if err == nil && labels[NameLabel] != "" {
		err = fmt.Errorf("the label %s is the name of the server: remove it", NameLabel)
	}
	return labels, err
}

// checkLabels returns the error in labels.
func checkLabels(labels map[string]string) error {
	text := selector.FormatLabels(labels)
	read, err := ParseLabels(text)
	if err == nil && !maps.Equal(read, labels) && len(labels) > 0 {
		err = fmt.Errorf("the labels %q have a comma or blanks at an end", text)
	}
	return err
}
