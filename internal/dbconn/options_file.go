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

// OptionFiles says which option files are read.
type OptionFiles struct {
	Only  string // --defaults-file: this one and no other
	Extra string // --defaults-extra-file: read before the user's own
	Home  string // the user's folder; "" for none
}

// optionGroups are the groups that are read. Later lines win, whatever their group.
var optionGroups = []string{"client", "midstream"}

// Read reads the option files as MySQL's client programs do: /etc/my.cnf,
// /etc/mysql/my.cnf, Extra, ~/.my.cnf, or Only alone. A file that is not there is
// passed over, unless it was asked for. notes tell of files and options that are not
// heeded.
//
// ~/.mylogin.cnf is not read.
func (f OptionFiles) Read() (o Options, notes []string, err error) {
	r := optionReader{}
	if f.Only != "" {
		err := r.file(f.Only, true, 0)
		return r.options, r.notes, err
	}
	errs := []error{r.file("/etc/my.cnf", false, 0), r.file("/etc/mysql/my.cnf", false, 0)}
	if f.Extra != "" {
		errs = append(errs, r.file(f.Extra, true, 0))
	}
	if f.Home != "" {
		errs = append(errs, r.file(filepath.Join(f.Home, ".my.cnf"), false, 0))
	}
	return r.options, r.notes, errors.Join(errs...)
}

// optionReader reads option files one after the other. Its rules of quotes, comments
// and escapes are those of mysys/my_default.cc; TestOptionFile has what the client of
// MySQL 9.7.4 made of the same lines.
type optionReader struct {
	options Options
	notes   []string
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
		r.notes = append(r.notes, fmt.Sprintf("option file %s is not read: everybody may write to it", path))
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

// lines takes what is said in the groups that are read.
func (r *optionReader) lines(path, text string, depth int) error {
	group := ""
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		var err error
		switch {
		case line == "" || line[0] == '#' || line[0] == ';':
			continue
		case line[0] == '!':
			err = r.include(line, depth)
		case line[0] == '[':
			name, _, closed := strings.Cut(line[1:], "]")
			if !closed {
				err = errors.New("a group's name is not closed by ]")
			}
			group = strings.TrimRight(name, " \t")
		case group == "":
			err = errors.New("an option stands before the first group")
		case slices.Contains(optionGroups, group):
			err = r.option(line)
		}
		if err != nil {
			return fmt.Errorf("option file %s, line %d: %w", path, i+1, err)
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

// option takes one line of a group.
func (r *optionReader) option(line string) error {
	name, value, has := strings.Cut(uncomment(line), "=")
	name = strings.ReplaceAll(strings.TrimRight(name, " \t"), "_", "-")
	return r.set(strings.TrimPrefix(name, "loose-"), unquote(strings.TrimSpace(value)), has)
}

// uncomment cuts a # and what follows it, unless it stands in quotes.
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

// unquote takes quotes away that stand around the whole, and resolves escapes.
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

// set takes one option. Options that other programs want are passed over; those that
// would make the connection safer than we can are an error.
func (r *optionReader) set(name, value string, has bool) (err error) {
	o := &r.options
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
		if !has {
			o.Password, o.AskPassword = nil, true
		}
	case "ssl-mode":
		o.SSLMode, err = ParseSSLMode(value)
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
		err = errors.New("it is not supported; verify with ssl-ca")
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func parseProtocol(text string) (string, error) {
	switch p := strings.ToLower(text); p {
	case "tcp", "socket":
		return p, nil
	}
	return "", fmt.Errorf("protocol %q: it is TCP or SOCKET here", text)
}
