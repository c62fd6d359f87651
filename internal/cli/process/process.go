// Package process is one call of the program: what it has around it, where its verb is now, and how its end is put into words.
// Each verb has it, in whatever package the verb is.
package process

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/spf13/cobra"

	"midstream/internal/cli/exit"
	"midstream/internal/compat/speech"
	"midstream/internal/mysql/escape"
	"midstream/internal/ops/history"
	"midstream/internal/ops/reach"
	"midstream/internal/ops/session"
)

// Env is what the process has around it.
type Env struct {
	Program    string   // the name by which this one was called: that of a program in whose place it stands has its command line taken
	Args       []string // without the program's name
	Stdin      *os.File
	Stdout     *os.File
	Stderr     io.Writer
	Getenv     func(string) string
	Home       string // the user's folder, "" if there is none
	Executable string // this program, to run as a child
	Version    string // "" where the build doesn't say it
	Commit     string // likewise
	Interrupts *session.Interrupts
	// Wipe overwrites an argument in this process's own argument memory; nil where Args
	// are not that.
	Wipe func(arg string, from int)
}

// Process is one call of the program. Its methods may be called at the same time; its fields are set before a verb begins.
type Process struct {
	Env
	// Stdout and Stderr are those of Env for text: what a terminal would obey is escaped, and commands reach the server. Only
	// a screen draws on Env.Stdout itself.
	Stdout, Stderr io.Writer
	// Entered says that a verb has begun: errors are its own, not the command line's.
	Entered bool
	// Speech is of the program whose command line it is; nil for midstream's own.
	Speech *speech.Speech

	at    atomic.Pointer[exit.Place]
	typed atomic.Pointer[reach.Flags]
}

// New makes the process of one command line.
func New(env Env) *Process {
	p := &Process{Env: env}
	p.Stdout, p.Stderr = reach.Writer(escape.Writer(env.Stdout), p.Reach), reach.Writer(escape.Writer(env.Stderr), p.Reach)
	return p
}

// Reach is how a command reaches the server of this one.
func (p *Process) Reach() reach.Flags {
	if typed := p.typed.Load(); typed != nil {
		return *typed
	}
	return ""
}

// Reaches takes the flags of this command line that reach its server.
func (p *Process) Reaches(typed reach.Flags) { p.typed.Store(&typed) }

// Teller puts the ends of the verb into words.
func (p *Process) Teller() exit.Teller {
	return exit.Teller{At: p.Place(), Speech: p.Speech, Reach: p.Reach()}
}

// Stands says where the verb is now. An object that is "" stays.
func (p *Process) Stands(stage, object string) {
	now := p.Place()
	now.Stage, now.Object = stage, cmp.Or(object, now.Object)
	p.at.Store(&now)
}

// Begins says where a verb begins.
func (p *Process) Begins(at exit.Place) { p.at.Store(&at) }

// Place is where the verb is now.
func (p *Process) Place() exit.Place {
	if now := p.at.Load(); now != nil {
		return *now
	}
	return exit.Place{Verb: "midstream", Command: "midstream", Stage: "command line", Object: "midstream"}
}

// Verb wraps the body of a verb.
func (p *Process) Verb(body func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		p.Entered = true
		p.Begins(exit.Place{Verb: cmd.Name(), Command: cmd.CommandPath(), Stage: cmd.Name(), Object: cmd.CommandPath()})
		p.Reaches(reach.Of(cmd.Flags(), false))
		return body(cmd.Context(), args)
	}
}

// Record writes a record as JSON, one a line.
func (p *Process) Record(record any) { (&session.Lines{Out: p.Stdout}).Write(record) }

// StateFolder is a path that somebody has named, or what is called so among what this program keeps of its user.
func (p *Process) StateFolder(named, name string) (string, error) {
	if named != "" {
		return named, nil
	}
	runs := history.Folder(p.Getenv, p.Home)
	if runs == "" {
		return "", errors.New("this user has no folder for state; name one by --state-dir and --token-file")
	}
	return filepath.Join(filepath.Dir(runs), name), nil
}
