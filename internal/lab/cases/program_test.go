package cases

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// longest is how long a run may take before it counts as one that does not end.
const longest = 2 * time.Minute

// program is a run of midstream that is held before its swap.
type program struct {
	of      *running
	cmd     *exec.Cmd
	control string
	held    bool
	ended   chan struct{}

	mu  sync.Mutex
	out bytes.Buffer
}

// Write collects what the program prints.
func (p *program) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.Write(b)
}

func (p *program) output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String()
}

// command is midstream with arguments. It finds no option files.
func (r *running) command(args ...string) *exec.Cmd {
	r.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(dbconn.WithoutEnv(os.Environ()), asMidstream+"=1", "HOME="+r.TempDir())
	return cmd
}

// begin starts the run.
func (r *running) begin() *program {
	r.Helper()
	host, port, err := net.SplitHostPort(r.server.Address)
	if err != nil {
		r.Fatal(err)
	}
	user, password := r.server.User, r.server.Password
	if r.folder.account != "" {
		user, password = r.folder.account, "case"
	}
	p := &program{of: r, control: filepath.Join(r.TempDir(), "c"), ended: make(chan struct{})}
	statement := "ALTER TABLE " + changed + "." + schema.Quote(r.folder.table) + " " + r.folder.alter
	p.cmd = r.command("run", "--host="+host, "--port="+port, "--user="+user, "--password="+password, "--control-dir="+p.control,
		"--json", "--full-speed", "--hold", "--method=shadow", statement)
	p.cmd.Stdout, p.cmd.Stderr = p, p
	if err := p.cmd.Start(); err != nil {
		r.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait() // the exit code is asked for later
	}()
	r.Cleanup(func() {
		_ = p.cmd.Process.Kill() // it may have ended
		<-p.ended
	})
	return p
}

// untilHeld waits until the run is held or has ended, and returns its exit code then.
func (p *program) untilHeld() int {
	end := time.After(longest)
	for {
		select {
		case <-p.ended:
			return p.cmd.ProcessState.ExitCode()
		case <-end:
			p.of.Fatalf("the run does not end\n%s", p.output())
		case <-time.After(5 * time.Millisecond):
			if strings.Contains(p.output(), `"phase":"hold"`) {
				p.held = true
				return 0
			}
		}
	}
}

// cutOver lets the run swap, and returns its exit code.
func (p *program) cutOver() int {
	if out, err := p.of.command("cutover", "--yes", "--control-dir="+p.control).CombinedOutput(); err != nil {
		p.of.Errorf("cutover: %v\n%s", err, out)
	}
	select {
	case <-p.ended:
	case <-time.After(longest):
		p.of.Fatalf("the run does not end\n%s", p.output())
	}
	return p.cmd.ProcessState.ExitCode()
}
