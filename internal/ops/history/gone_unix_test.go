//go:build unix

package history

import (
	"os"
	"os/exec"
	"testing"
	"time"
)

// TestGone: a process that was killed is gone at once, also if its parent has not asked for its end yet.
func TestGone(t *testing.T) {
	c := exec.Command("sleep", "600")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if Gone(c.Process.Pid) || Gone(os.Getpid()) {
		t.Error("a process that is at work is gone")
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); !Gone(c.Process.Pid); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("a killed process is not gone")
		}
	}
	_ = c.Wait() // it was killed
	if !Gone(c.Process.Pid) {
		t.Error("a process that has ended is not gone")
	}
}
