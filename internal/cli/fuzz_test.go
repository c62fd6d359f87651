package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"midstream/internal/mysql/dbconn"
)

// FuzzSettings: any flag of run may stand in an option file with any value; no panic, and an
// error names the place.
func FuzzSettings(f *testing.F) {
	newApp(Env{}).newChange(&cobra.Command{Use: "run"})
	for _, s := range []string{"drop-old", "lock-wait=1s", "workers=0", "map=a=b", "map=x", "json=maybe", "help", "key=", "no-such=1", "lock-wait=-1ns",
		"chunk-time=1e9h", "defer-indexes=yes", "table=a.b.c", "alter=ADD", "workers=99999999999999999999"} {
		name, value, said := strings.Cut(s, "=")
		f.Add(name, value, said, false)
		f.Add(name, value, said, true)
	}
	f.Fuzz(func(t *testing.T, name, value string, said, loose bool) {
		c := newApp(Env{}).newChange(&cobra.Command{Use: "run"})
		c.registerTuning()
		setting := dbconn.Setting{Name: name, Value: value, Said: said, Loose: loose, Place: "the file, line 7"}
		_, err := c.checks.FromFiles([]dbconn.Setting{setting}, nil)
		if err != nil && !strings.Contains(err.Error(), "the file, line 7") {
			t.Fatalf("the place is not named: %v", err)
		}
		if len(c.checks.Problems) > 0 {
			t.Fatalf("told without the place: %v", c.checks.Problems)
		}
	})
}
