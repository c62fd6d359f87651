package cli

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/termios"
	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"midstream/internal/lab/mysqltest"
)

// press writes keys to a terminal until it shows a text.
func press(t *testing.T, terminal *os.File, screen *terminalOutput, text string, keys ...string) {
	t.Helper()
	for range 20 {
		for _, k := range keys {
			if _, err := io.WriteString(terminal, k); err != nil {
				t.Fatal(err)
			}
			time.Sleep(50 * time.Millisecond) // keys that come together are none
		}
		for end := time.Now().Add(2 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			if strings.Contains(ansi.Strip(screen.String()), text) {
				return
			}
		}
	}
	t.Fatalf("keys %q: no %q in:\n%q", keys, text, screen)
}

// lineMode says that a terminal gives whole lines, and shows what is typed.
func lineMode(t *testing.T, terminal *os.File) bool {
	t.Helper()
	modes, err := termios.GetTermios(int(terminal.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	return modes.Lflag&unix.ICANON != 0 && modes.Lflag&unix.ECHO != 0
}

// TestKeysOnATerminal commands a run by keys on its own terminal, and on that of who watches it.
func TestKeysOnATerminal(t *testing.T) {
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	name, _ := table(t, i, 1000)
	folder := "--control-dir=" + filepath.Join(t.TempDir(), "run")
	cmd := command(
		t,
		append([]string{"run", "--method=shadow", "--hold", folder, "ALTER TABLE " + name + " ADD COLUMN c INT"}, flagsTo(t, i)...)...)
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 30, Cols: 120})
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	screen := watch(terminal)
	screen.await(t, "on hold")
	press(t, terminal, screen, "pause, by ", "p")
	if lineMode(t, terminal) {
		t.Error("the terminal waits for whole lines")
	}
	if _, err := io.WriteString(terminal, "ay\x1b[a"); err != nil { // pasted; an arrow of some terminals
		t.Fatal(err)
	}
	press(t, terminal, screen, "resume, by ", "a", "n", "r")

	watching := command(t, "watch", folder, name)
	other, err := pty.StartWithSize(watching, &pty.Winsize{Rows: 30, Cols: 120})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	seen := watch(other)
	seen.await(t, "q leave")
	press(t, other, seen, "pause, by ", "c", "n", "p")
	press(t, other, seen, "resume, by ", "r")
	if _, err := io.WriteString(other, "q"); err != nil {
		t.Fatal(err)
	}
	if err := watching.Wait(); err != nil {
		t.Errorf("watch: %v\n%s", err, seen)
	}
	press(t, terminal, screen, "altered "+name, "c", "y")
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if !lineMode(t, terminal) || !lineMode(t, other) {
		t.Error("a terminal is not as it was")
	}
	contains(t, ansi.Strip(screen.String()), "cutover, by ")
}

// TestKeysOfTheDemo: the change of the demo is commanded by keys, like any run.
func TestKeysOfTheDemo(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	needsServer(t)
	cmd := command(t, "demo", "--rows=60000", "--rate=20")
	cmd.Env = append(cmd.Env, "XDG_RUNTIME_DIR="+t.TempDir())
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 30, Cols: 120})
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	screen := watch(terminal)
	screen.await(t, "copy: ")
	press(t, terminal, screen, "pause, by ", "p")
	press(t, terminal, screen, "resume, by ", "r")
	screen.await(t, "its data folder removed")
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	contains(t, ansi.Strip(screen.String()), "0 differing, 0 missing, 0 extra")
}
