package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"midstream/internal/cli/exit"
	"midstream/internal/engine/operator"
	"midstream/internal/lab/mysqltest"
)

// TestFormerNamesOfFlags: a flag that was renamed works by its former name on the command line, in
// option files and in set, and help shows only the name that it has now.
func TestFormerNamesOfFlags(t *testing.T) {
	run, _, err := newApp(Env{}).root().Find([]string{"run"})
	if err != nil {
		t.Fatal(err)
	}
	help := run.UsageString()
	for former, current := range operator.FormerNames() {
		if f := run.Flags().Lookup(former); f == nil || f.Name != current {
			t.Errorf("--%s is %v instead of --%s", former, f, current)
		}
		if strings.Contains(help, "--"+former+" ") {
			t.Errorf("help shows --%s", former)
		}
	}
	if s, known := operator.SettingOf("free-disk"); !known || s.Name != "disk-free-now" {
		t.Errorf("set finds %+v, %t", s, known)
	}
	i := mysqltest.Server(t, "9.7")
	name, _ := table(t, i, 1000)
	file := filepath.Join(t.TempDir(), "my.cnf")
	if err := os.WriteFile(file, []byte("[midstream]\nnative-locked=1h\nlock-backoff-most=9s\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	plan := append([]string{"plan", "ALTER TABLE " + name + " MODIFY a BIGINT"}, flagsTo(t, i)...)
	for _, wish := range []string{"--native-locked=1h", "--native-max-lock=1h", "--defaults-extra-file=" + file} {
		code, stdout, stderr := midstream(t, append(plan, wish)...)
		if code != exit.Done || !strings.Contains(stdout, "COPY by the server") {
			t.Errorf("%s: exit code %d\n%s\n%s", wish, code, stdout, stderr)
		}
	}
}
