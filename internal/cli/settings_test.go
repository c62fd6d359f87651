package cli

import (
	"os"
	"path/filepath"
	"testing"

	"midstream/internal/cli/exit"
)

// TestOptionsInFiles: the group [midstream] has flags of all kinds, and nothing in it is
// passed over in silence.
func TestOptionsInFiles(t *testing.T) {
	sideBySide(t)
	const refused = "connection refused" // the command line was right
	for _, c := range []struct {
		lines string // of the group
		args  []string
		code  int
		want  []string
	}{
		{"drop-old\nlock_wait=1s\ndefer-indexes=yes\nfull-speed=off", []string{"run", anAlter}, exit.Failed, []string{refused}},
		{"table=a.b\nalter=ADD COLUMN c INT", []string{"plan"}, exit.Failed, []string{refused}},
		{"database=a", []string{"plan", "ALTER TABLE b ADD COLUMN c INT"}, exit.Failed, []string{refused}},
		{"database=a", []string{"cleanup", "--yes", "b"}, exit.Failed, []string{refused}},
		{"yes", []string{"cleanup", "a.b"}, exit.WrongUsage, []string{"line 2: yes is allowed only on the command line"}},
		{"keep=id > 5", []string{"run", anAlter}, exit.WrongUsage, []string{"line 2: keep is allowed only on the command line"}},
		{"old\npark", []string{"plan", anAlter}, exit.Failed, []string{refused}}, // of other verbs
		{"drop-odl\nworkers=0\nlock-wait\nquiet=x\nmap=x", []string{"run", anAlter}, exit.WrongUsage, []string{
			"5 problems", `line 2: unknown option "drop-odl"`, "line 3: workers 0: must be between 1 and 64", "line 4: lock-wait: needs a value",
			"line 5: quiet x: must be true or false", "line 6: map x: must be old=new", "midstream.cnf"}},
		{"workers=0", []string{"run", "--workers=2", anAlter}, exit.Failed, []string{refused}},
		{"help", []string{"run", anAlter}, exit.WrongUsage, []string{"line 2: help is allowed only on the command line"}},
		{"defaults-file=/x", []string{"run", anAlter}, exit.WrongUsage, []string{"line 2: defaults-file is allowed only on the command line"}},
		{"loose-drop-odl=1", []string{"run", anAlter}, exit.Failed, []string{refused, `line 2: ignored unknown option "drop-odl"`}},
		{"loose-workers=0", []string{"run", anAlter}, exit.WrongUsage, []string{"line 2: workers 0: must be between 1 and 64"}},
		{"port 23306", []string{"run", anAlter}, exit.WrongUsage, []string{`line 2: unknown option "port ..."`}},
		{"json", []string{"run", "-q", anAlter}, exit.WrongUsage, []string{"exclude each other"}},
	} {
		file := filepath.Join(t.TempDir(), "midstream.cnf")
		text := "[midstream]\n" + c.lines + "\n[client]\nquick\nhost=127.0.0.1\nport=1\nuser=u\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		code, stdout, stderr := midstream(t, append(c.args, "--defaults-file="+file)...)
		if code != c.code {
			t.Errorf("%q, %q: exit code %d, not %d\n%s\n%s", c.lines, c.args, code, c.code, stdout, stderr)
		}
		contains(t, stderr, c.want...)
	}
}

// TestFlagsOfFilesAreHeeded: each kind of flag has the file's value.
func TestFlagsOfFilesAreHeeded(t *testing.T) {
	sideBySide(t)
	file := filepath.Join(t.TempDir(), "midstream.cnf")
	if err := os.WriteFile(file, []byte("[midstream]\njson=on\nport=1\nhost=127.0.0.1\nuser=u\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, stdout, _ := midstream(t, "run", "--defaults-extra-file="+file, anAlter)
	contains(t, stdout, `"event":"result"`)
	_, stdout, _ = midstream(t, "run", "--defaults-extra-file="+file, "--json=false", anAlter)
	if stdout != "" {
		t.Errorf("the file counts more than the command line:\n%s", stdout)
	}
}

// TestFilesThatWereAskedFor: what can't be read, or could be anybody's, is an error.
func TestFilesThatWereAskedFor(t *testing.T) {
	sideBySide(t)
	dir := t.TempDir()
	open := filepath.Join(dir, "open.cnf")
	if err := os.WriteFile(open, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o666); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{open: "every user may write to it", dir: "is a directory", dir + "/none": "no such file"} {
		for _, flag := range []string{"--defaults-file=", "--defaults-extra-file="} {
			code, _, stderr := midstream(t, append(nowhere, "run", flag+path, anAlter)...)
			if code != exit.WrongUsage {
				t.Errorf("%s%s: exit code %d", flag, path, code)
			}
			contains(t, stderr, want, path)
		}
	}
}
