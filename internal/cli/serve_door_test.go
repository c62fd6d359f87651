package cli

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"midstream/internal/cli/exit"
)

// TestServeSaysWhatToDoAboutItsDoor: the next step is about the flag that is wrong, and writes the token if its file is missing.
func TestServeSaysWhatToDoAboutItsDoor(t *testing.T) {
	sideBySide(t)
	home := t.TempDir()
	short, missing := filepath.Join(home, "short"), filepath.Join(home, "the token")
	file := filepath.Join(home, "main.cnf")
	for path, text := range map[string]string{short: "short\n", file: "[client]\nhost=127.0.0.1\nport=1\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, c := range []struct {
		flags []string
		want  []string
		not   string
	}{
		{[]string{"--token-file=" + missing}, []string{
			"cannot read the token", "openssl rand -hex 32 > '" + missing + "'", "leave --token-file out",
		}, "uses the port"},
		{[]string{"--token-file=" + short}, []string{"has 5 characters", "openssl rand -hex 32 > " + short}, "uses the port"},
		{[]string{"--token-file=" + home}, []string{"cannot read the token", "this user may read the file"}, "uses the port"},
		{[]string{"--tls-cert=" + missing, "--tls-key=" + missing}, []string{"cannot read --tls-cert and --tls-key", "PEM file"}, "uses the port"},
		{[]string{"--listen=" + taken.Addr().String()}, []string{"cannot serve pages", "stop the process that uses the port"}, "token"},
	} {
		args := []string{"serve", "--server=main=" + file, "--listen=127.0.0.1:0", "--state-dir=" + filepath.Join(home, "state")}
		code, stdout, stderr := midstream(t, append(args, c.flags...)...)
		if code != exit.Failed {
			t.Errorf("%q: exit code %d\n%s", c.flags, code, stdout)
		}
		flat := strings.Join(strings.Fields(stderr), " ")
		contains(t, flat, c.want...)
		if strings.Contains(flat, c.not) {
			t.Errorf("%q: %s", c.flags, stderr)
		}
	}
	code, _, stderr := midstream(t, "queue", "--token-file="+missing)
	if code != exit.WrongUsage {
		t.Errorf("exit code %d", code)
	}
	contains(t, stderr, "cannot read the token of the service", "check --token-file: midstream serve prints")
}

// TestVerbsOfAServiceThatNoPersonNamed: without midstream serve and without --service, the verbs that ask a service report that, and how to
// name one.
func TestVerbsOfAServiceThatNoPersonNamed(t *testing.T) {
	for _, args := range [][]string{{"queue"}, {"audit"}, {"freeze"}, {"approve", "a"}, {"fleet", "status"}} {
		cmd := command(t, args...)
		cmd.Env = append(cmd.Env, "XDG_STATE_HOME="+t.TempDir())
		r := start(t, cmd)
		if code := r.exit(); code != exit.WrongUsage {
			t.Errorf("%q: exit code %d", args, code)
		}
		text := strings.Join(strings.Fields(r.stderr.String()), " ")
		contains(t, text, "this user has begun no midstream serve on this machine, and --service names no other", "--service=https://HOST:8385 --token-file=FILE")
		if strings.Contains(text, "no such file") {
			t.Errorf("%q: %s", args, text)
		}
	}
}
