package sandbox_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"midstream/internal/lab/sandbox"
)

// TestMain turns this binary into the process that TestServerDiesWithItsProcess kills, if asked.
func TestMain(m *testing.M) {
	if os.Getenv("SANDBOX_TEST_HELPER") != "" {
		if err := helper(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// helper starts a server, tells about it, and waits to be killed.
func helper() error {
	b, err := sandbox.Fetch(context.Background(), sandbox.MySQL97, nil)
	if err != nil {
		return err
	}
	s, err := b.Start(context.Background(), sandbox.Options{})
	if err != nil {
		return err
	}
	fmt.Println(s.PID(), s.ErrorLog())
	_, err = io.Copy(io.Discard, os.Stdin) // never ends while the test lives
	return err
}

// startHelper runs this binary as a helper and returns it with its server's process id and log.
func startHelper(t *testing.T) (cmd *exec.Cmd, pid int, log string) {
	t.Helper()
	cmd = exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "SANDBOX_TEST_HELPER=1")
	cmd.Stderr = os.Stderr
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the helper said nothing: %v, %v", err, cmd.Wait())
	}
	number, log, _ := strings.Cut(strings.TrimSpace(line), " ")
	if pid, err = strconv.Atoi(number); err != nil {
		t.Fatal(err)
	}
	return cmd, pid, log
}

// alive says whether the process exists and is no zombie.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}
