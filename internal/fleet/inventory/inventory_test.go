package inventory

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// write writes an option file.
func write(t *testing.T, folder, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func namesOf(i Inventory) (all []string) {
	for _, s := range i.Servers {
		all = append(all, s.Name)
	}
	return all
}

const shard = "[client]\nhost = shard-%[1]s.db\n[midstream]\nlabels = env=prod, shard=%[1]s\n"

// TestAWrongFileHidesNoOther: all wrong files are named at once, and the others are servers.
func TestAWrongFileHidesNoOther(t *testing.T) {
	folder := t.TempDir()
	for _, n := range []string{"000", "001", "002"} {
		write(t, folder, n+".cnf", fmt.Sprintf(shard, n))
	}
	write(t, folder, "plain.cnf", "[client]\nhost=x\n")
	write(t, folder, "labels.cnf", "[midstream]\nlabels = env\n")
	write(t, folder, "named.cnf", "[midstream]\nlabels = server=x\n")
	write(t, folder, "twice.cnf", "[midstream]\nlabels = ok=1, ok=2\n")
	write(t, folder, "ask.cnf", "[client]\npassword\n")
	write(t, folder, "no group.cnf", "host=x\n")
	write(t, folder, "open.cnf", "[client]\n")
	write(t, folder, "forgotten.conf", "[client]\n")
	write(t, folder, ".hidden", "")
	if err := os.Chmod(filepath.Join(folder, "open.cnf"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(folder, "gone"), filepath.Join(folder, "link.cnf")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(folder, "eu1"), 0o700); err != nil {
		t.Fatal(err)
	}
	got, err := Read(t.Context(), Folder(folder))
	if err != nil {
		t.Fatal(err)
	}
	if names := namesOf(got); !slices.Equal(names, []string{"000", "001", "002", "plain"}) {
		t.Errorf("servers: %v", names)
	}
	if got.Servers[1].Labels["shard"] != "001" || got.Servers[1].AllLabels()["server"] != "001" || len(got.Servers[1].Labels) != 2 {
		t.Errorf("labels: %v", got.Servers[1].AllLabels())
	}
	var text strings.Builder
	for _, p := range got.Problems {
		fmt.Fprintln(&text, p)
	}
	for _, want := range []string{"server ask:", "without a value", "server labels:", "line 2", `"env" is no label`, "the name of the server", "given twice",
		"server link:", "server no group:", "the name must", "server open:", "chmod o-w"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
	if notes := strings.Join(got.Notes, "\n"); !strings.Contains(notes, "forgotten.conf") || !strings.Contains(notes, "eu1") || strings.Contains(notes, "hidden") {
		t.Errorf("notes: %s", notes)
	}
	chosen := got.Chosen(func(labels map[string]string) bool { return labels["env"] == "prod" && labels["server"] != "001" })
	if len(chosen) != 2 || chosen[1].Name != "002" {
		t.Errorf("chosen: %v", chosen)
	}
}

// TestReadAgain: servers join, leave and change while the folder is watched, and neither a file that is half written nor a folder
// that is gone for a moment makes a server leave.
func TestReadAgain(t *testing.T) {
	folder := t.TempDir()
	write(t, folder, "000.cnf", fmt.Sprintf(shard, "000"))
	write(t, folder, "001.cnf", fmt.Sprintf(shard, "001"))
	w, err := Watch(t.Context(), Folder(folder))
	if err != nil {
		t.Fatal(err)
	}
	again := func(want string) {
		t.Helper()
		c := w.Again(t.Context())
		if got := fmt.Sprint(c.Joined, c.Left, c.Altered, len(c.Problems), c.Err != nil); got != want {
			t.Errorf("change %s, want %s (%v)", got, want, c.Err)
		}
	}
	again("[] [] [] 0 false")
	write(t, folder, "002.cnf", fmt.Sprintf(shard, "002"))
	write(t, folder, "001.cnf", strings.ReplaceAll(fmt.Sprintf(shard, "001"), "prod", "test"))
	again("[002] [] [001] 0 false")
	again("[] [] [] 0 false")
	write(t, folder, "001.cnf", "[client")
	again("[] [] [] 1 false")
	again("[] [] [] 0 false")
	if labels := w.Now().Servers[1].Labels; labels["env"] != "test" {
		t.Errorf("a file that is half written has changed its server: %v", labels)
	}
	write(t, folder, "001.cnf", strings.ReplaceAll(fmt.Sprintf(shard, "001"), "prod", "test"))
	again("[] [] [] 0 false")
	away := folder + ".away"
	if err := os.Rename(folder, away); err != nil {
		t.Fatal(err)
	}
	again("[] [] [] 0 true")
	again("[] [] [] 0 false") // reported once
	if names := namesOf(w.Now()); len(names) != 3 {
		t.Errorf("servers without the folder: %v", names)
	}
	if err := os.Rename(away, folder); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(folder, "000.cnf")); err != nil {
		t.Fatal(err)
	}
	again("[] [000] [] 0 false")
	if failed := w.Failed(); failed != "" {
		t.Errorf("it fails still: %s", failed)
	}
	write(t, folder, "003.cnf", fmt.Sprintf(shard, "003"))
	again("[003] [] [] 0 false")
}

// TestCommand: a program prints the inventory, in which servers may share an option file.
func TestCommand(t *testing.T) {
	folder := t.TempDir()
	write(t, folder, "account.cnf", "[client]\nuser=midstream\n")
	file := filepath.Join(folder, "account.cnf")
	write(t, folder, "out.json", fmt.Sprintf(`{"servers": [
		{"name": "b", "file": %[1]q, "host": "b.db", "port": 3307, "labels": {"env": "prod"}},
		{"name": "a", "file": %[1]q, "socket": "/tmp/a.sock", "user": "x"},
		{"name": "a", "file": %[1]q},
		{"name": "no file"},
		{"name": "c", "file": "relative.cnf", "labels": {"server": "x"}},
		{"name": "d", "file": %[1]q, "password": "secret"},
		{"file": 7}]}`, file))
	w, err := Watch(t.Context(), Command("cat "+filepath.Join(folder, "out.json")))
	if err != nil {
		t.Fatal(err)
	}
	got := w.Now()
	if names := namesOf(got); !slices.Equal(names, []string{"a", "b"}) {
		t.Errorf("servers: %v", names)
	}
	if flags := got.Servers[1].Flags(); !slices.Equal(flags, []string{"--defaults-file=" + file, "--host=b.db", "--port=3307"}) {
		t.Errorf("flags: %v", flags)
	}
	if len(got.Problems) != 5 {
		t.Errorf("problems: %v", got.Problems)
	}
	for _, c := range []struct{ command, want string }{
		{"echo it fails >&2; exit 3", "exit status 3: it fails"}, {"echo hello", "not the JSON"}, {"echo '{}'", "no \"servers\""}, {"", "no \"servers\""},
	} {
		if _, err := Read(t.Context(), Command(c.command)); err == nil || !strings.Contains(err.Error(), c.want) && c.command != "" {
			t.Errorf("%q: %v", c.command, err)
		}
	}
	if err := os.Remove(filepath.Join(folder, "out.json")); err != nil {
		t.Fatal(err)
	}
	if c := w.Again(t.Context()); c.Err == nil || len(w.Now().Servers) != 2 {
		t.Errorf("a command that fails: %v", c)
	}
}

// TestNames: the rule is that of serve --server.
func TestNames(t *testing.T) {
	for name, good := range map[string]bool{"main": true, "0.a_b-c": true, "": false, "-a": false, "a/b": false, "é": false, strings.Repeat("x", 64): true, strings.Repeat("x", 65): false} {
		if err := CheckName(name); (err == nil) != good {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// BenchmarkAgain: reading 2,000 unchanged files again is cheap.
func BenchmarkAgain(b *testing.B) {
	folder := b.TempDir()
	for n := range 2000 {
		name := fmt.Sprintf("%04d", n)
		if err := os.WriteFile(filepath.Join(folder, name+".cnf"), fmt.Appendf(nil, shard, name), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	w, err := Watch(b.Context(), Folder(folder))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if c := w.Again(b.Context()); !c.None() {
			b.Fatal(c)
		}
	}
}
