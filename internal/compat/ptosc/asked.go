package ptosc

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"midstream/internal/compat/speech"
	"midstream/internal/mysql/schema"
)

// Mode is what is to be done.
type Mode string

// The modes that a command line may ask for.
const (
	Looking Mode = ""        // neither --dry-run nor --execute: look, and refuse
	DryRun  Mode = "dry-run" // look, and say what would be done
	Execute Mode = "execute"
)

// Asked is what a command line asks for.
type Asked struct {
	Mode   Mode
	Table  schema.Name
	Alter  string
	Server DSN
	// AskPassword says that the password is to be asked for.
	AskPassword bool
	// Variables are of all sessions.
	Variables map[string]string
	Replicas  Replicas
	// PID is the path of the file of the process's number; "" for none.
	PID string
	// KeepOnSignal says that a run that a signal ends keeps its work.
	KeepOnSignal bool
	// Notes tell what has no meaning here.
	Notes []string

	said    said
	loads   map[string][]load // of max-load and critical-load
	history history
	swaps   bool
	dropOld bool
	dropNew bool
	// leavesOut means that the old table has rows which the new one does not get, so it is not dropped.
	leavesOut bool
	// reverses means that the run follows the table after the swap.
	reverses bool
	report   report
}

// Replicas says which replicas are looked at.
type Replicas struct {
	// Only are host:port of those that are looked at and no others; nil for those that are found.
	Only []string
	// None says that none are looked for.
	None bool
	Skip []string // host:port
	// Account is theirs; "" for the server's. Password likewise: nil for the server's.
	Account  string
	Password *string

	table *DSN // in which table they stand; nil for none
	below DSN
}

// Wrong is a command line that can't be taken.
type Wrong struct {
	Warnings []string
	Problems []string
}

func (w *Wrong) Error() string { return strings.Join(slices.Concat(w.Warnings, w.Problems), "\n") }

// Told says that a command line asks for something to read: the help or the version.
type Told struct{ Help bool }

func (t *Told) Error() string { return "there is nothing to do" }

// Read reads a command line, with the files of options that it or that program's custom names. home
// is the user's folder. The error is *Wrong or *Told.
func Read(args []string, home string) (*Asked, error) {
	all, err := withFiles(args, home)
	if err != nil {
		return nil, &Wrong{Warnings: []string{err.Error()}, Problems: []string{"Error parsing options"}}
	}
	l := newLine()
	l.read(all)
	if l.said.on("version", false) || l.said.on("help", false) {
		return nil, &Told{Help: !l.said.on("version", false)}
	}
	r := &reading{line: l, asked: &Asked{said: l.said}}
	if len(l.warnings) > 0 {
		r.problem("Error parsing options")
	}
	for _, part := range []func(){r.mode, r.server, r.table, r.fates, r.values, r.replicas, r.sessions, r.ends, r.reverse} {
		part()
	}
	if len(r.problems) > 0 {
		return nil, &Wrong{Warnings: l.warnings, Problems: r.problems}
	}
	return r.asked, nil
}

// reading makes what is asked of a line.
type reading struct {
	*line
	asked    *Asked
	problems []string
}

func (r *reading) problem(format string, args ...any) {
	r.problems = append(r.problems, fmt.Sprintf(format, args...))
}

func (r *reading) note(format string, args ...any) {
	r.asked.Notes = append(r.asked.Notes, fmt.Sprintf(format, args...))
}

func (r *reading) mode() {
	dry, execute := r.said.on("dry-run", false), r.said.on("execute", false)
	switch {
	case dry && execute:
		r.problem("--dry-run and --execute are mutually exclusive.")
	case dry:
		r.asked.Mode = DryRun
	case execute:
		r.asked.Mode = Execute
	}
}

// server reads the DSN over the options that say the same.
func (r *reading) server() {
	below := DSN{
		Host:     r.said.last("host"),
		Port:     r.said.last("port"),
		User:     r.said.last("user"),
		Socket:   r.said.last("socket"),
		SSL:      r.said.last("mysql_ssl"),
		File:     r.said.last("defaults-file"),
		Charset:  r.said.last("charset"),
		Database: r.said.last("database"),
	}
	if password := r.said.last("password"); r.said.has("password") {
		below.Password = &password
	}
	r.asked.Server, r.asked.AskPassword = below, r.said.on("ask-pass", false)
	switch {
	case len(r.rest) == 0:
		r.problem("A DSN must be specified")
		return
	case len(r.rest) > 1:
		r.problem("Specify only one DSN on the command line")
	}
	d, err := parseDSN(r.rest[0], below)
	if err != nil {
		r.problem("%s", err)
		return
	}
	r.asked.Server = d
}

func (r *reading) table() {
	d := r.asked.Server
	if d.Database == "" || d.Table == "" {
		r.problem("The DSN must specify a database (D) and a table (t)")
	}
	r.asked.Table = schema.Name{Schema: d.Database, Table: d.Table}
	r.asked.Alter = r.said.last("alter")
	if strings.TrimSpace(r.asked.Alter) == "" {
		r.asked.Alter = "ENGINE = InnoDB"
	}
}

// fates notes what has no meaning here, and refuses what can't be.
func (r *reading) fates() {
	for _, o := range Options() {
		if !r.said.has(o.Name) || o.Kind == onOff && r.said.last(o.Name) == no {
			continue
		}
		switch {
		case o.Fate == speech.Refused:
			r.problem("--%s can't be taken: %s", o.Name, o.Becomes)
		case o.Fate == speech.Noted && !(o.Name == "version-check" && r.said.last(o.Name) == no):
			r.note("--%s has no effect: %s", o.Name, o.Becomes)
		}
	}
	switch method := r.said.last("alter-foreign-keys-method"); method {
	case "", "auto", "rebuild_constraints", "drop_swap", "none":
	default:
		r.problem("Invalid --alter-foreign-keys-method value: %s", method)
	}
}

// values reads what has a form of its own.
func (r *reading) values() {
	r.asked.loads = map[string][]load{}
	for name, dflt := range map[string]string{"max-load": "Threads_running=25", "critical-load": "Threads_running=50"} {
		text := dflt
		if r.said.has(name) {
			text = r.said.last(name)
		}
		loads, err := parseLoads(text)
		if err != nil {
			r.problem("Invalid --%s: %s", name, err)
		}
		r.asked.loads[name] = loads
	}
	for _, o := range Options() {
		if o.Kind == span && r.said.has(o.Name) {
			if _, err := parseTime(r.said.last(o.Name)); err != nil {
				r.problem("%s for --%s", err, o.Name)
			}
		}
	}
	if t := r.said.seconds("chunk-time", 0); t > 0 && (t < 10*time.Millisecond || t > 10*time.Second) {
		r.problem("--chunk-time %s: must be between 0.01 and 10", r.said.last("chunk-time"))
	}
	var err error
	if r.asked.report, err = parseReport(r.said.last("progress")); err != nil {
		r.problem("--progress %s", err)
	}
	if _, err := r.asked.patience(); err != nil {
		r.problem("%s", err)
	}
}

// replicas reads which replicas are looked at.
func (r *reading) replicas() {
	a := r.asked
	below := a.Server
	below.Table, below.Database = "", ""
	a.Replicas.below = below
	for _, name := range []string{"check-replica-lag", "check-slave-lag"} {
		a.Replicas.Only = append(a.Replicas.Only, r.addresses(name)...)
	}
	for _, name := range []string{"skip-check-replica-lag", "skip-check-slave-lag"} {
		a.Replicas.Skip = append(a.Replicas.Skip, r.addresses(name)...)
	}
	for _, name := range []string{"slave-user", "replica-user"} {
		if r.said.has(name) {
			a.Replicas.Account = r.said.last(name)
		}
	}
	for _, name := range []string{"slave-password", "replica-password"} {
		if password := r.said.last(name); r.said.has(name) {
			a.Replicas.Password = &password
		}
	}
	if err := a.Replicas.method(r.said.last("recursion-method")); err != nil {
		r.problem("Invalid --recursion-method: %s", err)
	}
}

// addresses reads the DSNs of an option.
func (r *reading) addresses(name string) (list []string) {
	for _, text := range r.said[name] {
		d, err := parseDSN(text, r.asked.Replicas.below)
		if err != nil {
			r.problem("--%s: %s", name, err)
			continue
		}
		list = append(list, d.address())
	}
	return list
}

// method reads how replicas are found.
func (r *Replicas) method(text string) error {
	if len(text) > 4 && strings.EqualFold(text[:4], "dsn=") {
		d, err := parseDSN(text[4:], r.below)
		if database, table, both := strings.Cut(d.Table, "."); both {
			d.Database, d.Table = database, table
		}
		if err == nil && (d.Table == "" || d.Database == "") {
			err = errors.New("the DSN of the table of DSNs must specify a database (D) and a table (t)")
		}
		r.table = &d
		return err
	}
	methods := strings.Split(strings.ToLower(text), ",")
	for _, m := range methods {
		switch {
		case m == "processlist" || m == "hosts" || m == "":
		case m == "none" && len(methods) == 1:
			r.None = true
		case len(methods) > 1:
			return fmt.Errorf(
				"Invalid combination of recursion methods: %s. Only hosts and processlist may be combined.",
				strings.Join(methods, ", "),
			)
		default:
			return fmt.Errorf("Invalid recursion method: %s", m)
		}
	}
	return nil
}

// ends reads what is done with the tables at the end, and with the job.
func (r *reading) ends() {
	a := r.asked
	a.swaps = r.said.on("swap-tables", true)
	a.dropNew = r.said.on("drop-new-table", true) && (a.swaps || r.said.on("drop-triggers", true))
	a.leavesOut = r.said.last("where") != ""
	a.dropOld = r.said.on("drop-old-table", true) && r.said.on("drop-triggers", true)
	a.PID = r.said.last("pid")
	a.history = history{
		wanted: r.said.on("history", false),
		binary: r.said.on("binary-index", false),
		table:  "percona.pt_osc_history",
		resume: r.said.last("resume"),
	}
	if r.said.has("history-table") {
		a.history.table = r.said.last("history-table")
	}
	if _, _, err := a.history.name(); err != nil {
		r.problem("--history-table: %s", err)
	}
	a.KeepOnSignal = a.swaps && (!a.dropNew || a.history.wanted || a.history.resume != "")
}
