package reach

import (
	"encoding/json"
	"net"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// Flags are those that reach a server, as a shell takes them, without a password. "" for none: an option file or the
// defaults reach it, and texts stay unchanged.
type Flags string

// where are the flags of a command line that say where the server is.
var where = []string{"host", "port", "socket", "user", "defaults-file", "defaults-extra-file", "ssl-mode", "ssl-ca", "ssl-cert", "ssl-key"}

// files are those with the path of a file.
var files = []string{"socket", "defaults-file", "defaults-extra-file", "ssl-ca", "ssl-cert", "ssl-key"}

// connects are the verbs that take these flags.
var connects = []string{"run", "plan", "check", "verify", "blockers", "cleanup", "undo"}

// Of returns the flags of a command line that were given. password says that it has a password, or asks for one: the flags ask.
func Of(set *pflag.FlagSet, password bool) Flags {
	var given []string
	set.Visit(func(f *pflag.Flag) {
		if slices.Contains(where, f.Name) {
			given = append(given, "--"+f.Name+"="+schema.Shell(anywhere(f)))
		}
	})
	if password {
		given = append(given, "-p")
	}
	return Flags(strings.Join(given, " "))
}

// With adds flags for what only the environment says about the server. Another terminal, or this one tomorrow, may have other
// variables, and a copied command would reach another server. others are the settings that count more than the environment.
func (f Flags) With(env, others dbconn.Options) Flags {
	var given []string
	add := func(name, value string, counts bool) {
		if counts && value != "" {
			given = append(given, "--"+name+"="+schema.Shell(value))
		}
	}
	add("host", env.Host, others.Host == "")
	if env.Port != 0 {
		add("port", strconv.Itoa(env.Port), others.Port == 0)
	}
	add("socket", env.Socket, others.Socket == "")
	if f != "" {
		given = append(given, string(f))
	}
	return Flags(strings.Join(given, " "))
}

// anywhere is the value of a flag in other folders, too.
func anywhere(f *pflag.Flag) string {
	value := f.Value.String()
	if !slices.Contains(files, f.Name) || value == "" {
		return value
	}
	path, err := filepath.Abs(value)
	if err != nil {
		return value
	}
	return path
}

// To returns the flags that reach an address: host:port, or the path of a socket. Who reads them has an account of their own.
func To(address string) Flags {
	host, port, err := net.SplitHostPort(address)
	switch {
	case address == "":
		return ""
	case err != nil:
		return Flags("--socket=" + schema.Shell(address))
	}
	return Flags("--host=" + schema.Shell(host) + " --port=" + schema.Shell(port))
}

// In returns a text in which each command that connects has the flags.
func (f Flags) In(text string) string {
	if f == "" || !strings.Contains(text, program) {
		return text
	}
	var b strings.Builder
	end := 0
	for _, w := range split(text) {
		if w.flags > 0 {
			b.WriteString(text[end:w.flags] + " " + string(f))
			end = w.flags
		}
	}
	return b.String() + text[end:]
}

// All is In for each text.
func (f Flags) All(texts []string) []string {
	all := slices.Clone(texts)
	for i := range all {
		all[i] = f.In(all[i])
	}
	return all
}

// ours are the fields of JSON that have texts of Midstream. A field's name in a value has its quotes escaped, and is none.
var ours = regexp.MustCompile(`"(?:next|left|fix|text|resume)":"(?:[^"\\]|\\.)*"`)

// JSON is In for the fields of a record that have texts of ours.
func (f Flags) JSON(line string) string {
	if f == "" || !strings.Contains(line, program) {
		return line
	}
	return ours.ReplaceAllStringFunc(line, func(field string) string {
		name, value, _ := strings.Cut(field, ":")
		var text string
		if err := json.Unmarshal([]byte(value), &text); err != nil || f.In(text) == text {
			return field
		}
		var b strings.Builder
		encoder := json.NewEncoder(&b)
		encoder.SetEscapeHTML(false)
		_ = encoder.Encode(f.In(text)) // a string is written
		return name + ":" + strings.TrimSuffix(b.String(), "\n")
	})
}
