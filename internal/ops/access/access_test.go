package access_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"midstream/internal/ops/access"
)

// TestATokenIsNotInItsFile: the file has a digest, opens only for the token, and follows changes without a restart.
func TestATokenIsNotInItsFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	add := func(name string, roles ...access.Role) string {
		t.Helper()
		token, line, err := access.Make(name, roles)
		if err == nil {
			err = access.Add(path, line)
		}
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	ann := add("ann", access.Submit)
	var notes []string
	book, err := access.Open(path, func(text string) { notes = append(notes, text) })
	if err != nil {
		t.Fatal(err)
	}
	bob := add("bob", access.Approve, access.Operate)
	text, err := os.ReadFile(path)
	if err != nil || strings.Contains(string(text), ann) || strings.Contains(string(text), bob) {
		t.Fatalf("%v\n%s", err, text)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	find := func(token string) string {
		p, there := book.Find(access.DigestOf(token))
		if !there {
			return ""
		}
		words := []string{p.Name}
		for _, role := range access.Roles() {
			if p.May(role) {
				words = append(words, string(role))
			}
		}
		return strings.Join(words, " ")
	}
	for token, want := range map[string]string{ann: "ann see plan submit", bob: "bob see approve operate", ann + "x": "", "": "", string(text): ""} {
		if got := find(token); got != want {
			t.Errorf("%q opens as %q, want %q", token, got, want)
		}
	}
	first, rest, _ := strings.Cut(string(text), "\n")
	if err := os.WriteFile(path, []byte("# nobody\nann nonsense\n"+rest), 0o600); err != nil {
		t.Fatal(err)
	}
	if find(ann) != "" || find(bob) == "" || len(notes) != 1 || !strings.Contains(notes[0], "line 2") {
		t.Errorf("%q, %q, %q", find(ann), find(bob), notes)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(first, "submit", "see", 1)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if find(ann) != "ann see" || find(bob) != "" {
		t.Errorf("%q, %q", find(ann), find(bob))
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if find(ann) != "" || len(notes) != 2 {
		t.Errorf("%q, %q", find(ann), notes)
	}
}

func TestBadLines(t *testing.T) {
	digest := " sha256:" + strings.Repeat("0a", 32)
	for line, want := range map[string]string{
		"ann submit":                              "must be NAME ROLE",
		"ann root" + digest:                       `unknown role "root"`,
		"-ann see" + digest:                       "at most 64 letters",
		"ann see sha256:00":                       "64 hexadecimal digits",
		"ann see md5:" + strings.Repeat("0", 64):  "64 hexadecimal digits",
		"ann see" + digest + "\nAnn see" + digest: "used twice",
	} {
		path := filepath.Join(t.TempDir(), "tokens")
		if err := os.WriteFile(path, []byte(line), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := access.Open(path, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", line, err)
		}
		_, more, err := access.Make("bob", access.Roles())
		if err == nil {
			err = access.Add(path, more)
		}
		if err == nil {
			t.Errorf("%q: a line was added", line)
		}
	}
}

func TestNames(t *testing.T) {
	if got := access.Stated(" a\nb\x1b[2J\u202e " + strings.Repeat("é", 200)); !strings.HasPrefix(got, "a b [2J é") || len(got) > 200 {
		t.Errorf("%q", got)
	}
	named := access.Person{Name: "ci", Named: true}
	for _, c := range []struct {
		p            access.Person
		stated, want string
	}{
		{named, "", "ci"}, {named, "ci", "ci"}, {named, "bob", "ci (bob)"}, {access.Everyone(""), "bob", "bob"},
		{access.Everyone("ann"), "bob", "ann"}, {access.Everyone(""), "", ""},
	} {
		if got := c.p.By(c.stated); got != c.want {
			t.Errorf("%+v, %q: %q", c.p, c.stated, got)
		}
	}
}
