package dbconn

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// OptionFiles defines which option files are read.
type OptionFiles struct {
	Only  string // --defaults-file: this one and no other
	Extra string // --defaults-extra-file: read before the user's own
	Home  string // the user's folder; "" for none
}

// Filed is the content of option files.
type Filed struct {
	Options  Options
	Settings []Setting // in the order of files and lines
	Notes    []string  // about files that are ignored
}

// Setting is a line of the group [midstream] that is not about the connection.
type Setting struct {
	Name  string // with dashes
	Value string
	// Said means that there is a value, possibly an empty one.
	Said  bool
	Loose bool   // written loose-name: it may be unknown
	Place string // file and line, for messages
}

// ownGroup is the group that has only our own options.
const ownGroup = "midstream"

// optionGroups are the groups that are read. Later lines win, whatever their group.
var optionGroups = []string{"client", ownGroup}

// Read reads the option files as MySQL's client programs do: /etc/my.cnf, /etc/mysql/my.cnf, Extra,
// ~/.my.cnf, or Only alone. It passes over a file that does not exist, or that everybody may write
// to. If that file was asked for, it is an error.
//
// Other programs share the group [client], so unknown options in it are theirs. Read returns the
// options of [midstream].
//
// It does not read ~/.mylogin.cnf.
func (f OptionFiles) Read() (Filed, error) {
	r := optionReader{}
	if f.Only != "" {
		err := r.file(f.Only, true, 0)
		return r.filed, err
	}
	errs := []error{r.file("/etc/my.cnf", false, 0), r.file("/etc/mysql/my.cnf", false, 0)}
	if f.Extra != "" {
		errs = append(errs, r.file(f.Extra, true, 0))
	}
	if f.Home != "" {
		errs = append(errs, r.file(filepath.Join(f.Home, ".my.cnf"), false, 0))
	}
	return r.filed, errors.Join(errs...)
}

// optionReader reads option files one after the other. Its rules of quotes, comments and escapes
// are those of mysys/my_default.cc. TestOptionFile has the results of MySQL 9.7.4's client for the
// same lines.
type optionReader struct {
	filed Filed
}

// deepest is how deep files may include others; more is taken for a circle.
const deepest = 10

func (r *optionReader) file(path string, required bool, depth int) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) && !required {
		return nil
	}
	if err != nil {
		return fmt.Errorf("option file: %w", err)
	}
	if info.Mode().IsRegular() && info.Mode().Perm()&0o002 != 0 {
		if required {
			return fmt.Errorf("option file %s: every user may write to it; run chmod o-w", path)
		}
		r.filed.Notes = append(r.filed.Notes, fmt.Sprintf("ignored option file %s: every user may write to it", path))
		return nil
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrPermission) && !required {
		return nil
	}
	if err != nil {
		return fmt.Errorf("option file: %w", err)
	}
	return r.lines(path, string(text), depth)
}

// lines takes the settings of the groups that are read.
func (r *optionReader) lines(path, text string, depth int) error {
	group := ""
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		place := fmt.Sprintf("option file %s, line %d", path, i+1)
		var err error
		switch {
		case line == "" || line[0] == '#' || line[0] == ';':
			continue
		case line[0] == '!':
			err = r.include(line, depth)
		case line[0] == '[':
			name, _, closed := strings.Cut(line[1:], "]")
			if !closed {
				err = errors.New("the group's name has no closing ]")
			}
			group = strings.TrimRight(name, " \t")
		case group == "":
			err = errors.New("an option precedes the first group")
		case slices.Contains(optionGroups, group):
			err = r.option(line, group, place)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", place, err)
		}
	}
	return nil
}

// include follows !include and !includedir. Other words are passed over, and so is a
// file that is not there.
func (r *optionReader) include(line string, depth int) error {
	word, path, _ := strings.Cut(line, " ")
	path = strings.TrimSpace(path)
	if depth >= deepest {
		return fmt.Errorf("files include each other more than %d times", deepest)
	}
	switch word {
	case "!include":
		return r.file(path, false, depth+1)
	case "!includedir":
		files, err := filepath.Glob(filepath.Join(path, "*.cnf")) // sorted
		for _, file := range files {
			err = errors.Join(err, r.file(file, false, depth+1))
		}
		return err
	}
	return nil
}

// option takes one line of a group. The client programs of MySQL 9.7.4 fail on a name with a space
// in it. Only mysql itself passes over everything unknown.
func (r *optionReader) option(line, group, place string) error {
	name, value, said := strings.Cut(uncomment(line), "=")
	name, loose := strings.CutPrefix(strings.ReplaceAll(strings.TrimRight(name, " \t"), "_", "-"), "loose-")
	value = unquote(strings.TrimSpace(value))
	word, _, spaced := strings.Cut(strings.ReplaceAll(name, "\t", " "), " ")
	switch {
	case spaced && loose:
		return nil
	// The rest may be a password: don't repeat it.
	case spaced:
		return fmt.Errorf("unknown option %q: a value must follow after =", word+" ...")
	case name == "":
		return errors.New("an option has no name")
	}
	known, err := r.set(name, value, said)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if !known && group == ownGroup {
		r.filed.Settings = append(r.filed.Settings, Setting{Name: name, Value: value, Said: said, Loose: loose, Place: place})
	}
	return nil
}

// uncomment cuts a # and the text after it, unless the # is in quotes.
func uncomment(line string) string {
	var quote byte
	escaped := false
	for i := 0; i < len(line); i++ {
		c := line[i]
		if (c == '\'' || c == '"') && !escaped {
			switch quote {
			case 0:
				quote = c
			case c:
				quote = 0
			}
		}
		if quote == 0 && c == '#' {
			return line[:i]
		}
		escaped = quote != 0 && c == '\\' && !escaped
	}
	return line
}

// unquote removes quotes around the complete value, and resolves escapes.
func unquote(value string) string {
	if n := len(value); n > 1 && (value[0] == '\'' || value[0] == '"') && value[0] == value[n-1] {
		value = value[1 : n-1]
	}
	var b strings.Builder
	for i := 0; i < len(value); i++ {
		if value[i] != '\\' || i+1 == len(value) {
			b.WriteByte(value[i])
			continue
		}
		i++
		if at := strings.IndexByte(`ntrbs"'\`, value[i]); at >= 0 {
			b.WriteByte("\n\t\r\b \"'\\"[at])
		} else {
			b.WriteByte('\\')
			b.WriteByte(value[i])
		}
	}
	return b.String()
}

// needValue are the options that are nothing without a value.
var needValue = []string{"host", "port", "socket", "protocol", "user", "ssl-mode", "ssl-ca", "ssl-cert", "ssl-key"}

// ErrNoValue means that an option was named without the value that it needs.
var ErrNoValue = errors.New("needs a value after =")

// set takes one option, and reports whether it is about the connection. An option that would make
// the connection safer than we can is an error.
func (r *optionReader) set(name, value string, said bool) (known bool, err error) {
	if !said && slices.Contains(needValue, name) {
		return true, ErrNoValue
	}
	o := &r.filed.Options
	switch name {
	case "host":
		o.Host = value
	case "port":
		o.Port, err = parsePort(value)
	case "socket":
		o.Socket = value
	case "protocol":
		o.Protocol, err = parseProtocol(value)
	case "user":
		o.User = value
	case "password":
		secret := Secret(value)
		o.Password, o.AskPassword = &secret, false
		if !said {
			o.Password, o.AskPassword = nil, true
		}
	case "password-command":
		o.PasswordCommand = value
	case "ssl-mode":
		if o.SSLMode, err = ParseSSLMode(value); err != nil {
			err = fmt.Errorf("%q: %w", value, err)
		}
	case "ssl-ca":
		o.SSLCA = value
	case "ssl-cert":
		o.SSLCert = value
	case "ssl-key":
		o.SSLKey = value
	case "skip-ssl":
		o.SSLMode = SSLDisabled
	case "ssl-verify-server-cert":
		if value != "0" && !strings.EqualFold(value, "off") {
			o.SSLMode = SSLVerifyIdentity
		}
	case "ssl-capath", "ssl-crl", "ssl-crlpath":
		err = errors.New("not supported; use ssl-ca to verify the server")
	default:
		return false, nil
	}
	return true, err
}

func parseProtocol(text string) (string, error) {
	switch p := strings.ToLower(text); p {
	case "tcp", "socket":
		return p, nil
	}
	return "", fmt.Errorf("protocol %q: must be TCP or SOCKET", text)
}
