package dbconn

import (
	"strings"
	"testing"
)

// FuzzOptionLines: whatever an option file contains, nothing panics. An error names the place, and
// contains no value that may be a password. Files that it includes are not read.
func FuzzOptionLines(f *testing.F) {
	for _, c := range fileLines {
		f.Add("[client]\n" + c.line)
	}
	for _, text := range []string{"[midstream]\ndrop-old\nloose_x=1\nmap=a=b", "[client]\npassword secret", "[client\nuser=x", "user=x", "!include /x",
		"!includedir", "[client]\nport=99999999999999999999", "[midstream]\nssl-mode=\"'\\", "[client]\n= x\n\\\n#\n;", "\xff[client]\x00user=\xfe"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r := optionReader{}
		err := r.lines("the file", text, deepest)
		if err != nil && !strings.Contains(err.Error(), "the file, line ") {
			t.Fatalf("the place is not named: %v", err)
		}
		for _, s := range r.filed.Settings {
			if s.Name == "" || s.Place == "" || strings.ContainsAny(s.Name, "_ \t") {
				t.Fatalf("setting %+v", s)
			}
		}
	})
}
