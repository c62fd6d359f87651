package ghost

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"midstream/internal/compat/speech"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
	"midstream/internal/mysql/schema/token"
)

// Wrong is a command line that can't be taken.
type Wrong struct {
	Problems []string
	// Unread says that its flags can't be read at all.
	Unread bool
}

func (w *Wrong) Error() string { return strings.Join(w.Problems, "\n") }

// Told says that a command line asks for something to read: the help, the version, or, by --check-flag, nothing.
type Told struct{ Help, Version bool }

func (t *Told) Error() string { return "there is nothing to do" }

// said are the values of all flags, those that were said and defaults.
type said struct {
	values map[string]string
	given  map[string]bool // those that were said
}

func (s said) text(name string) string { return s.values[name] }
func (s said) on(name string) bool     { return s.values[name] == "true" }

// number is the value of a flag that is a number: Read has looked at it.
func (s said) number(name string) float64 {
	n, _ := strconv.ParseFloat(s.values[name], 64)
	return n
}

// several is the value of a flag that may be said several times.
type several []string

func (s *several) String() string         { return strings.Join(*s, ",") }
func (s *several) Set(value string) error { *s = append(*s, value); return nil }

// readFlags reads arguments as that program does, by the same package. rest are those behind the
// first that is no flag.
func readFlags(args []string) (s said, rest []string, err error) {
	set := flag.NewFlagSet("gh-ost", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	for _, f := range Flags() {
		switch f.Kind {
		case onOff:
			set.Bool(f.Name, f.Default == "true", "")
		case word:
			set.String(f.Name, f.Default, "")
		case whole:
			n, _ := strconv.ParseInt(f.Default, 10, 64) // none: 0
			set.Int64(f.Name, n, "")
		case real:
			set.Float64(f.Name, 0, "")
		case list:
			set.Var(new(several), f.Name, "")
		}
	}
	if err := set.Parse(args); err != nil {
		return s, nil, err
	}
	s = said{map[string]string{}, map[string]bool{}}
	set.VisitAll(func(f *flag.Flag) { s.values[f.Name] = f.Value.String() })
	set.Visit(func(f *flag.Flag) { s.given[f.Name] = true })
	return s, set.Args(), nil
}

// Read reads a command line, with the file that --conf names. The error is *Wrong or *Told.
func Read(args []string, getenv func(string) string, now time.Time) (*Asked, error) {
	s, rest, err := readFlags(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return nil, &Told{Help: true}
	case err != nil:
		return nil, &Wrong{Problems: []string{err.Error()}, Unread: true}
	case s.on("check-flag"):
		return nil, &Told{}
	case s.on("help"):
		return nil, &Told{Help: true}
	case s.on("version"):
		return nil, &Told{Version: true}
	}
	r := &reading{said: s, asked: &Asked{said: s, Execute: s.on("execute"), Began: now}}
	if len(rest) > 0 {
		r.note("ignored the arguments from %q on: write the value of an on/off flag after =", rest[0])
	}
	for _, part := range []func(){r.fates, r.revert, r.table, r.together, r.servers, r.values} {
		part()
	}
	r.account(getenv)
	if len(r.problems) > 0 {
		return nil, &Wrong{Problems: r.problems}
	}
	r.asked.names()
	return r.asked, nil
}

// reading makes what is asked of flags.
type reading struct {
	said
	asked    *Asked
	problems []string
}

func (r *reading) problem(format string, args ...any) {
	r.problems = append(r.problems, fmt.Sprintf(format, args...))
}

func (r *reading) note(format string, args ...any) {
	r.asked.Notes = append(r.asked.Notes, fmt.Sprintf(format, args...))
}

// fates notes what has no meaning here, and refuses what can't be.
func (r *reading) fates() {
	for _, f := range Flags() {
		switch {
		case !r.given[f.Name] || f.Kind == onOff && !r.on(f.Name) || f.Kind == word && r.text(f.Name) == "":
		case f.Fate == speech.Refused:
			r.problem("--%s can't be taken: %s", f.Name, f.Becomes)
		case f.Fate == speech.Noted:
			r.note("--%s has no effect: %s", f.Name, f.Becomes)
		}
	}
}

// table reads which table is changed, and how.
func (r *reading) table() {
	a := r.asked
	text := strings.TrimSpace(r.text("alter"))
	a.Table = schema.Name{Schema: r.text("database"), Table: r.text("table")}
	if words := strings.Fields(text); len(words) > 2 && strings.EqualFold(words[0], "ALTER") {
		named, clauses, err := ddl.Cut(text)
		if err != nil {
			r.problem("--alter: %v", err)
			return
		}
		text = clauses
		if a.Table.Schema == "" {
			a.Table.Schema = named.Schema
		}
		if a.Table.Table == "" {
			a.Table.Table = named.Table
		}
		if named.Table != a.Table.Table || named.Schema != "" && named.Schema != a.Table.Schema {
			r.problem("--alter names the table %s, --database and --table name %s", named, a.Table)
		}
	}
	a.Alter = text
	switch {
	case text == "" && !r.on("revert"):
		r.problem("--alter must be provided and statement must not be empty")
	case a.Table.Schema == "":
		r.problem("--database must be provided and database name must not be empty, or --alter must specify database name")
	case a.Table.Table == "":
		r.problem("--table must be provided and table name must not be empty, or --alter must specify table name")
	case !r.on("revert"):
		r.renamed()
	}
}

// renamed has renames of CHANGE approved, as far as they can be read without the server.
func (r *reading) renamed() {
	var approved error
	err := ddl.Guess(func(d token.Dialect) error {
		alter, err := ddl.ParseClausesIn(d, r.asked.Table, r.asked.Alter)
		if err == nil {
			approved = r.asked.Approves(alter)
		}
		return err
	})
	switch {
	case err != nil:
		r.problem("--alter: %v", err)
	case approved != nil:
		r.problem("%v", approved)
	}
}

// Approves returns an error if the ALTER gives columns other names by CHANGE, and the command line
// does not approve of it.
func (a *Asked) Approves(alter *ddl.Alter) error {
	var pairs []string
	for _, c := range alter.Renames {
		if !strings.EqualFold(c.Old, c.New) && slices.Contains(alter.Modified, c.Old) {
			pairs = append(pairs, c.Old+" to "+c.New)
		}
	}
	if len(pairs) > 0 && !a.said.on("approve-renamed-columns") {
		return fmt.Errorf(
			"the ALTER renames columns (%s): --approve-renamed-columns confirms that, and the values stay",
			strings.Join(pairs, ", "),
		)
	}
	return nil
}

// together says which flags need, or exclude, each other.
func (r *reading) together() {
	for _, pair := range [][2]string{{"allow-on-master", "test-on-replica"}, {"allow-on-master", "migrate-on-replica"}, {"migrate-on-replica", "test-on-replica"}, {"switch-to-rbr", "assume-rbr"}} {
		if r.on(pair[0]) && r.on(pair[1]) {
			r.problem("--%s and --%s are mutually exclusive", pair[0], pair[1])
		}
	}
	has := func(name string) bool { return r.on(name) || r.text(name) != "" && r.text(name) != "false" }
	for _, pair := range [][2]string{{"master-user", "assume-master-host"}, {"master-password", "assume-master-host"}, {"ssl-ca", "ssl"}, {"ssl-cert", "ssl"}, {"ssl-key", "ssl"},
		{"ssl-allow-insecure", "ssl"}, {"include-triggers", "trigger-suffix"}, {"trigger-suffix", "include-triggers"}, {"test-on-replica-skip-replica-stop", "test-on-replica"}} {
		if has(pair[0]) && !has(pair[1]) {
			r.problem("--%s requires --%s", pair[0], pair[1])
		}
	}
	if cut := r.text("cut-over"); !slices.Contains([]string{"", "atomic", "default", "two-step"}, cut) {
		r.problem("Unknown cut-over: %s", cut)
	}
	if engine := r.text("storage-engine"); !strings.EqualFold(engine, "innodb") {
		r.problem("--storage-engine %s can't be taken: tables are InnoDB's", engine)
	}
}

// address reads host or host:port.
func address(text string) (string, error) {
	host, port, err := net.SplitHostPort(text)
	if err != nil && !strings.Contains(text, ":") {
		host, port, err = text, "3306", nil
	}
	if n, failed := strconv.Atoi(port); err != nil || host == "" || failed != nil || n < 1 || n > 65535 {
		return "", fmt.Errorf("%q must be host or host:port", text)
	}
	if host == "localhost" { // which would be a socket
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port), nil
}

// addresses reads several, with commas between.
func addresses(text string) (list []string, err error) {
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		one, err := address(part)
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, nil
}

// servers reads which servers are meant.
func (r *reading) servers() {
	var err error
	if r.asked.Server, err = address(net.JoinHostPort(r.text("host"), r.text("port"))); err != nil {
		r.problem("--host and --port: %v", err)
	}
	if text := r.text("assume-master-host"); text != "" {
		if r.asked.master, err = address(text); err != nil {
			r.problem("--assume-master-host: %v", err)
		}
	}
	if r.asked.replicas, err = addresses(r.text("throttle-control-replicas")); err != nil {
		r.problem("--throttle-control-replicas: %v", err)
	}
}

// values looks at numbers, and at what is only for a table that is not there.
func (r *reading) values() {
	for name, most := range map[string]float64{"nice-ratio": 100, "max-lag-millis": 3.6e6, "default-retries": 1e6, "cut-over-lock-timeout-seconds": 3600, "exponential-backoff-max-interval": 86400} {
		if n := r.number(name); n < 0 || n > most {
			r.problem("--%s must be between 0 and %g", name, most)
		}
	}
	if query := r.text("throttle-query"); strings.Contains(query, r.asked.sibling("_ghc")) {
		r.note(
			"--throttle-query has no effect: the table %s does not exist. For --max-lag-millis, Midstream measures the lag of replicas with its own heartbeats",
			r.asked.sibling("_ghc"),
		)
		r.said.values["throttle-query"] = ""
	}
	if url := r.text("throttle-http"); url != "" && !strings.Contains(url, "://") {
		r.note("--throttle-http has no effect: %s does not begin with http:// or https://", url)
		r.said.values["throttle-http"] = ""
	}
}

// reference is a variable of the environment, as the value of an option.
var reference = regexp.MustCompile(`^\$\{(.*)\}$`)

// account reads who connects: what the command line says counts more than the file.
func (r *reading) account(getenv func(string) string) {
	a := r.asked
	a.User, a.AskPassword, a.masterUser = r.text("user"), r.on("ask-pass"), r.text("master-user")
	a.Password, a.masterPassword = r.password("password"), r.password("master-password")
	path := r.text("conf")
	if path == "" {
		return
	}
	path, err := filepath.Abs(path)
	var filed dbconn.Filed
	if err == nil {
		filed, err = dbconn.OptionFiles{Only: path}.Read()
	}
	if err != nil {
		r.problem("--conf: %v", err)
		return
	}
	value := func(text string) string {
		if m := reference.FindStringSubmatch(text); m != nil {
			return getenv(m[1])
		}
		return text
	}
	if a.User == "" {
		a.User = value(filed.Options.User)
	}
	if a.Password == nil && filed.Options.Password != nil {
		secret := dbconn.Secret(value(string(*filed.Options.Password)))
		a.Password = &secret
	}
}

// password is the value of a flag that has one; nil where it was not said.
func (r *reading) password(name string) *dbconn.Secret {
	if !r.given[name] {
		return nil
	}
	secret := dbconn.Secret(r.text(name))
	return &secret
}

// Secrets are the arguments that have a password, by their numbers, and where in them it begins.
func Secrets(args []string) map[int]int {
	found := map[int]int{}
	for i, arg := range args {
		name, _, attached := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		secret := strings.HasPrefix(arg, "-") && strings.HasSuffix(name, "password")
		switch {
		case secret && attached:
			found[i] = strings.IndexByte(arg, '=') + 1
		case secret && i+1 < len(args):
			found[i+1] = 0
		}
	}
	return found
}
