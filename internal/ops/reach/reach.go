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
var where = []string{"host", "port", "socket", "user", "defaults-file", "defaults-extra-file", "ssl-mode", "ssl-ca", "ssl-cert", "ssl-key", "password-command"}

// files are those with the path of a file.
var files = []string{sockets, "token-file", "tls-ca", "socket", "defaults-file", "defaults-extra-file", "ssl-ca", "ssl-cert", "ssl-key"}

// sockets is the flag of the folder in which runs have their sockets, and services are those that reach midstream serve.
const sockets = "control-dir"

var services = []string{"service", "to", "token-file", "tls-ca"}

// ours is the beginning of a command as our code writes it: the flags belong between the two blanks.
var ours = regexp.MustCompile(`\bmidstream (?:run|plan|check|verify|blockers|cleanup|undo|` +
	`status|watch|pause|resume|throttle|set|hold|cutover|abort|submit|queue|withdraw|release|approve|reject|freeze|unfreeze|audit|` +
	`fleet (?:submit|status|approve|reject|release|again|skip|cancel|undo))  `)

// has says whether a verb has a flag: runs and their undos have sockets, and only commands that connect reach a server.
func has(verb, flag string) bool {
	switch verb {
	case "approve", "reject": // another person gives them, whose token is another one
		return slices.Contains(services, flag) && flag != "token-file"
	case "submit", "queue", "withdraw", "release", "freeze", "unfreeze", "audit", "fleet":
		return slices.Contains(services, flag)
	case "run", "undo", "blockers":
		return !slices.Contains(services, flag)
	case "plan", "check", "verify", "cleanup":
		return flag != sockets && !slices.Contains(services, flag)
	}
	return flag == sockets
}

// At is the flag with which midstream serve begins a command: it has the address by which people elsewhere reach the server.
const At = "print-address"

// Served reports whether midstream serve asks: people read the answer on a page, or elsewhere.
func Served(set *pflag.FlagSet) bool {
	f := set.Lookup(At)
	return f != nil && f.Value.String() != ""
}

// Of returns the flags of a command line that were given, or those that reach the address of At.
// password means that it has a password, or asks for one: the flags ask.
func Of(set *pflag.FlagSet, password bool) Flags {
	if Served(set) {
		flags := To(set.Lookup(At).Value.String())
		if own := set.Lookup(sockets); own != nil && own.Changed {
			flags = flags.Sockets(anywhere(own))
		}
		return flags
	}
	names := append([]string{sockets}, where...)
	if set.Lookup("tls-ca") != nil && set.Lookup("host") == nil { // --to of other commands is a file
		names = services
	}
	var given []string
	set.Visit(func(f *pflag.Flag) {
		if slices.Contains(names, f.Name) {
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

// Sockets adds the folder in which runs have their sockets; "" for the folder of everyone.
func (f Flags) Sockets(folder string) Flags {
	if folder == "" {
		return f
	}
	return Flags(strings.TrimPrefix(string(f)+" --"+sockets+"="+schema.Shell(folder), " "))
}

// In returns a text in which each command has those of the flags that its verb takes, and one blank instead of two if there are
// none. A command that asks midstream serve keeps its blanks then: who asked it may know its URL.
func (f Flags) In(text string) string { return f.in(text, bare, false) }

// JSON is In for JSON.
func (f Flags) JSON(line string) string { return f.in(line, inJSON, false) }

// All is In for each text.
func (f Flags) All(texts []string) []string {
	all := slices.Clone(texts)
	for i := range all {
		all[i] = f.In(all[i])
	}
	return all
}

// in is In. last means that no other process adds flags.
func (f Flags) in(text string, escaped func(string) string, last bool) string {
	return ours.ReplaceAllStringFunc(text, func(begin string) string {
		verb, with := strings.Fields(begin)[1], strings.TrimSuffix(begin, " ")
		for _, word := range Words(string(f)) {
			if name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "="); has(verb, name) {
				with += escaped(word) + " "
			}
		}
		if !last && has(verb, "service") && with == strings.TrimSuffix(begin, " ") {
			return begin
		}
		return with
	})
}

func bare(flags string) string { return flags }

func inJSON(flags string) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(flags) // a string is written
	return strings.TrimSuffix(strings.TrimPrefix(b.String(), `"`), "\"\n")
}
