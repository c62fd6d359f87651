package callers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"midstream/internal/lab/ledger"
	"midstream/internal/mysql/dbconn"
)

// The table, and its change.
const (
	database = "shop"
	table    = "orders"
	clause   = "ADD COLUMN note VARCHAR(40)"
	rows     = 30_000
	rate     = 150.0 // transactions a second
)

// stage is the place of one case: a database, a ledger that writes, and a folder that is the home of all programs.
type stage struct {
	*Suite
	ctx    context.Context
	home   string
	ledger *ledger.Ledger
	said   bytes.Buffer
}

// command is one command of a caller. Its arguments are in line, or it is a line of the shell.
type command struct {
	line  []string
	shell string
	dir   string   // Defaults to the home.
	env   []string // in addition to the environment
}

// look is a text that a caller looks for, by its own regular expression.
type look struct {
	pattern string
	first   bool // on standard output alone
	slow    bool // only with SIGTERM: in the output from before, too
	no      bool // it must not be there
}

func (s *Suite) stage(ctx context.Context, name string) (*stage, error) {
	st := &stage{Suite: s, ctx: ctx, home: filepath.Join(s.dir, name)}
	if err := os.Mkdir(st.home, 0o700); err != nil {
		return nil, err
	}
	db := s.pool.DB()
	for _, statement := range []string{"DROP DATABASE IF EXISTS " + database, "CREATE DATABASE " + database + " CHARACTER SET utf8mb4"} {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return nil, err
		}
	}
	var err error
	st.ledger, err = ledger.New(db, database+"."+table, ledger.Orders(), ledger.Options{Number: dbconn.Number, Rate: rate})
	if err == nil {
		err = st.ledger.Create(ctx)
	}
	if err == nil {
		err = st.ledger.Seed(ctx, rows, nil)
	}
	if err == nil {
		_, err = db.ExecContext(ctx, "ANALYZE TABLE "+database+"."+table)
	}
	if err == nil {
		err = st.ledger.Start(ctx)
	}
	return st, err
}

// end stops the writers, and compares the table with the ledger.
func (s *stage) end() error {
	if err := s.ledger.Stop(); err != nil {
		return fmt.Errorf("a writer failed: %w", err)
	}
	proof, err := s.ledger.Compare(s.ctx)
	if err == nil && !proof.Equal() {
		err = fmt.Errorf("rows differ: %s", proof)
	}
	return err
}

// settings writes the option file that every run of midstream reads: the server could add the column at
// once, but the case is about a row copy, and about a slow one if it is to be stopped.
func (s *stage) settings(slow bool) error {
	text := "[midstream]\nmethod = shadow\n"
	if slow {
		text += "copy-share = 1%\nchunk-time = 10ms\n"
	}
	return s.write(".my.cnf", text)
}

// write writes a file below the home.
func (s *stage) write(name, text string) error {
	path := filepath.Join(s.home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o600)
}

// play makes the caller's change, and checks it.
func (s *stage) play(c caller, signal bool) error {
	if c.prepare != nil {
		if err := c.prepare(s); err != nil {
			return fmt.Errorf("prepare: %w", err)
		}
	}
	if err := s.settings(signal); err != nil {
		return err
	}
	change := c.change
	if signal {
		if err := s.stop(c, c.change(s)[0]); err != nil {
			return err
		}
		if err := s.settings(false); err != nil {
			return err
		}
		if c.again != nil {
			change = c.again
		}
	}
	from := s.said.Len()
	var first strings.Builder
	for _, one := range change(s) {
		out, err := s.run(one)
		first.WriteString(out)
		if err != nil {
			return fmt.Errorf("%s: %w", one, err)
		}
	}
	if has, err := s.altered(); err != nil || !has {
		return errors.Join(errors.New("the table has no column note"), err)
	}
	for _, l := range c.finds {
		text := s.said.String()[from:]
		switch {
		case l.slow && !signal:
			continue
		case l.slow:
			text = s.said.String()
		case l.first:
			text = first.String()
		}
		if regexp.MustCompile(l.pattern).MatchString(text) == l.no {
			return fmt.Errorf("its regular expression %s, in the output: %t", l.pattern, !l.no)
		}
	}
	if c.check != nil {
		return c.check(s)
	}
	return nil
}

// altered reports whether the table has its new column.
func (s *stage) altered() (has bool, err error) {
	err = s.pool.DB().QueryRowContext(s.ctx, "SELECT COUNT(*) FROM information_schema.columns "+
		"WHERE table_schema = ? AND table_name = ? AND column_name = 'note'", database, table).Scan(&has)
	return has, err
}

// copied is how many rows the new table has; 0 if there is none.
func (s *stage) copied() (n int) {
	for _, name := range []string{table + "_shadow", "_" + table + "_new", "_" + table + "_gho", table + "_new", table + "_gho"} {
		var here int
		if s.pool.DB().QueryRowContext(s.ctx, "SELECT COUNT(*) FROM "+database+"."+name).Scan(&here) == nil {
			n = max(n, here)
		}
	}
	return n
}

func (c command) String() string {
	if c.shell != "" {
		return c.shell
	}
	return strings.Join(c.line, " ")
}

// cmd is the command, as the leader of a process group.
func (s *stage) cmd(c command) *exec.Cmd {
	line := c.line
	if c.shell != "" {
		line = []string{"sh", "-c", c.shell}
	}
	cmd := exec.CommandContext(s.ctx, line[0], line[1:]...)
	if !strings.Contains(line[0], "/") {
		if here := filepath.Join(s.dir, line[0]); exists(here) {
			cmd.Path, cmd.Err = here, nil
		}
	}
	cmd.Dir = s.home
	if c.dir != "" {
		cmd.Dir = c.dir
	}
	cmd.Env = append(os.Environ(), "HOME="+s.home, "PATH="+s.dir+":"+os.Getenv("PATH"), "MIDSTREAM_CONTROL_DIR="+s.home)
	cmd.Env = append(cmd.Env, c.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// run runs a command to its end, and returns its standard output.
func (s *stage) run(c command) (string, error) {
	cmd := s.cmd(c)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	fmt.Fprintf(&s.said, "$ %s\n%s%s", c, out.Bytes(), errs.Bytes())
	if err != nil {
		err = fmt.Errorf("%w: %s", err, lastLine(errs.String()+out.String()))
	}
	return out.String(), err
}

// stop runs a command and sends SIGTERM in the middle of the row copy.
func (s *stage) stop(c caller, one command) error {
	cmd := s.cmd(one)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if c.alone {
		cmd.WaitDelay = 500 * time.Millisecond // midstream keeps the pipe
	}
	defer func() { fmt.Fprintf(&s.said, "$ %s\n%s[SIGTERM]\n", one, out.Bytes()) }()
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for s.copied() < rows/20 {
		select {
		case err := <-ended:
			return fmt.Errorf("%s: it ended before SIGTERM: %w", one, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
	whom := -cmd.Process.Pid
	if c.passesOn || c.alone {
		whom = cmd.Process.Pid
	}
	if err := syscall.Kill(whom, syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case err := <-ended:
		if err == nil {
			return fmt.Errorf("%s: exit code 0 after SIGTERM", one)
		}
		fmt.Fprintf(&out, "[%s]\n", err)
		if c.exits != "" && err.Error() != c.exits {
			return fmt.Errorf("%s: %w after SIGTERM, and not %s", one, err, c.exits)
		}
	case <-time.After(30 * time.Second):
		return errors.Join(fmt.Errorf("%s: at work 30 s after SIGTERM", one), cmd.Cancel())
	}
	return s.stopped(c)
}

// stopped checks what SIGTERM has left. A caller may end before midstream does.
func (s *stage) stopped(c caller) error {
	var n int
	for range 50 {
		time.Sleep(100 * time.Millisecond)
		n = s.copied()
		if c.keeps || n == 0 {
			break
		}
	}
	has, err := s.altered()
	switch {
	case err != nil:
		return err
	case c.alone:
		return nil
	case has:
		return errors.New("the table is altered after SIGTERM: the copy was too fast for the case")
	case c.keeps && n < rows/20:
		return fmt.Errorf("SIGTERM has left %d rows of the work", n)
	case !c.keeps && n > 0:
		return fmt.Errorf("SIGTERM has left %d rows of the work, though docs/callers.md promises that it is removed", n)
	}
	return nil
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
