package migration_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"midstream/internal/cli"
	"midstream/internal/lab/fault"
)

// asMidstream makes the test's own program work as midstream.
const asMidstream = "MIDSTREAM_TEST_CHILD"

func beMidstream() {
	ctx, interrupts := cli.WatchInterrupts(context.Background(), os.Exit)
	os.Exit(cli.Main(ctx, cli.Env{Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv,
		Version: "test", Interrupts: interrupts, Wipe: func(string, int) {}}))
}

// child is a run in a process of its own, which can be killed.
type child struct {
	*bench
	cmd       *exec.Cmd
	complaint bytes.Buffer

	mu   sync.Mutex
	said []string // the lines of --json
	at   string   // when a line has this text
	do   func()   // this is done, once
	done chan struct{}
}

// slowly are the flags of a run that takes seconds to copy a table of the tests, so that tests can
// act during the copy.
var slowly = []string{"--chunk-time=10ms", "--workers=1", "--copy-share=10%", "--checkpoint=20ms"}

// child starts midstream run on table t. do, if any, is called when a line first contains at.
func (b *bench) child(clauses, at string, do func(*child), flags ...string) *child {
	b.Helper()
	return b.process(at, do, append([]string{"run", "--method=shadow", "ALTER TABLE " + b.schema + ".t " + clauses}, flags...)...)
}

// undoing starts midstream undo on table t.
func (b *bench) undoing(flags ...string) *child {
	b.Helper()
	return b.process("", nil, append([]string{"undo", b.schema + ".t"}, flags...)...)
}

// releasing has the process that follows table t take the change back. It has its own settings.
func (b *bench) releasing(sockets string) *child {
	b.Helper()
	return b.command("", nil, "undo", b.schema+".t", sockets)
}

// process starts midstream with a verb of a change, and arguments.
func (b *bench) process(at string, do func(*child), args ...string) *child {
	b.Helper()
	works := !slices.ContainsFunc(args, func(a string) bool { return a == "--end" || strings.HasPrefix(a, "--extend") })
	if works && !b.steered {
		args = append(args, "--full-speed")
	}
	if works && b.settings.Lock.Work == patientWork && !slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "--lock-work=") }) {
		args = append(args, "--lock-work="+patientWork.String())
	}
	if way := cmp.Or(string(b.capture), *captured); works && way != "" {
		args = append(args, "--capture="+way)
	}
	return b.command(at, do, args...)
}

// command starts midstream with arguments.
func (b *bench) command(at string, do func(*child), args ...string) *child {
	b.Helper()
	host, port, err := net.SplitHostPort(b.address)
	if err != nil {
		b.Fatal(err)
	}
	args = append(args, "--json", "--defaults-file=/dev/null", "--ssl-mode=DISABLED", "--host="+host, "--port="+port, "--user="+b.server.User)
	c := &child{bench: b, cmd: exec.Command(os.Args[0], args...), at: at, done: make(chan struct{})}
	c.do = func() {
		if do != nil {
			do(c)
		}
	}
	c.cmd.Env = append(os.Environ(), asMidstream+"=1", "MYSQL_PWD="+b.server.Password, "XDG_STATE_HOME="+b.TempDir())
	c.cmd.Stderr = &c.complaint
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(c.kill)
	go func() {
		defer close(c.done)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			c.hear(lines.Text())
		}
		c.cmd.Wait()
	}()
	return c
}

// killedAt runs midstream on table t until it is killed just before a statement reaches the server.
func (b *bench) killedAt(statement, clauses string, flags ...string) {
	b.Helper()
	b.killedBy(fault.Rule{At: statement}, clauses, flags...)
}

// undoKilledAt is killedAt for midstream undo.
func (b *bench) undoKilledAt(statement string, flags ...string) {
	b.Helper()
	if code, last := b.killIf(fault.Rule{At: statement}, func() *child { return b.undoing(flags...) }); code != -1 {
		b.Fatalf("%s: the undo was not killed: exit code %d: %s", statement, code, last)
	}
}

// killedBy is killedAt by a rule.
func (b *bench) killedBy(rule fault.Rule, clauses string, flags ...string) {
	b.Helper()
	if code, last := b.killIf(rule, func() *child { return b.child(clauses, "", nil, flags...) }); code != -1 {
		b.Fatalf("exit code %d: %s", code, last)
	}
}

// killIf starts midstream, and kills it if the rule's command comes. It returns what child.wait does.
func (b *bench) killIf(rule fault.Rule, start func() *child) (code int, last string) {
	b.Helper()
	var c *child
	ready := make(chan struct{})
	rule.Cut, rule.Call = true, func() {
		<-ready
		c.kill()
	}
	b.wire(rule)
	c = start()
	close(ready)
	code, last = c.wait()
	b.address = b.server.Address
	return code, last
}

func (c *child) hear(line string) {
	c.mu.Lock()
	c.said = append(c.said, line)
	now := c.at != "" && strings.Contains(line, c.at)
	if now {
		c.at = ""
	}
	c.mu.Unlock()
	if now {
		c.do()
	}
}

// await waits until a line contains a text.
func (c *child) await(text string) {
	c.Helper()
	for !c.heard(text) {
		select {
		case <-c.done:
			_, last := c.wait()
			c.Fatalf("it ended without a word of %s: %s", text, last)
		case <-c.ctx().Done():
			c.Fatalf("no line contains %s", text)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// ended reports whether the process has ended.
func (c *child) ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// kill is kill -9.
func (c *child) kill() { c.cmd.Process.Kill() }

// wait returns the exit code, -1 if it was killed, and the last line.
func (c *child) wait() (code int, last string) {
	c.Helper()
	select {
	case <-c.done:
	case <-c.ctx().Done():
		c.log("")
		c.Fatalf("the run does not end: %v", context.Cause(c.ctx()))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.said) > 0 {
		last = c.said[len(c.said)-1]
	}
	return c.cmd.ProcessState.ExitCode(), last
}

// mustEnd waits for the end and fails if the exit code is not 0.
func (c *child) mustEnd() {
	c.Helper()
	if code, last := c.wait(); code != 0 {
		c.log("note")
		c.Fatalf("exit code %d: %s\n%s", code, last, &c.complaint)
	}
}

// log logs the lines with a text.
func (c *child) log(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, line := range c.said {
		if strings.Contains(line, text) {
			c.Log(line)
		}
	}
}

// heard reports whether a line contains a text.
func (c *child) heard(text string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Contains(strings.Join(c.said, "\n"), text)
}

func phaseLine(phase any) string { return fmt.Sprintf(`"phase":"%v"`, phase) }
