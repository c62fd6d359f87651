package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"midstream/internal/lab/mysqltest"
	"midstream/internal/ops/reach"
)

// copying collects the commands that outputs have.
type copying struct {
	t        *testing.T
	i        *mysqltest.Instance
	folder   string
	flags    []string // that reach the server
	commands []string // that need it
}

// connecting is a verb that needs a server.
var connecting = regexp.MustCompile(`^midstream (run|plan|check|verify|blockers|cleanup|undo) `)

func newCopying(t *testing.T, i *mysqltest.Instance) *copying {
	host, port, _ := strings.Cut(i.Address, ":")
	s := &copying{t: t, i: i, folder: t.TempDir()}
	file := filepath.Join(s.folder, "it's the server.cnf") // a shell has to be told of both
	if err := os.WriteFile(file, []byte("[client]\nuser="+i.User+"\npassword='"+i.Password+"'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.flags = []string{"--defaults-extra-file=" + file, "--host=" + host, "--port=" + port}
	return s
}

// start starts midstream. Its histories are in the folder.
func (s *copying) start(args ...string) *running {
	s.t.Helper()
	cmd := command(s.t, args...)
	cmd.Env = append(cmd.Env, "XDG_STATE_HOME="+s.folder, "XDG_RUNTIME_DIR="+s.folder)
	return start(s.t, cmd)
}

// ends collects the commands of an output, and returns it in all.
func (s *copying) ends(r *running) string {
	s.t.Helper()
	r.exit()
	text := r.stdout.all() + r.stderr.all()
	for line := range strings.Lines(strings.ReplaceAll(text, `\\`, `\`)) { // as Markdown and JSON show it
		for _, word := range reach.Words(line) {
			if word = strings.TrimRight(strings.TrimLeft(word, "("), ".,;:)"); connecting.MatchString(word) && !slices.Contains(s.commands, word) {
				s.commands = append(s.commands, word)
			}
		}
	}
	return text
}

// runs runs midstream, with the flags that reach the server or without, and collects its commands.
func (s *copying) runs(reached bool, args ...string) string {
	s.t.Helper()
	if reached {
		args = append(slices.Clone(args), s.flags...)
	}
	return s.ends(s.start(args...))
}

// copied runs a command as a shell takes it, and fails the test if it does not reach the server.
func (s *copying) copied(line string) {
	s.t.Helper()
	if strings.HasPrefix(line, "midstream cleanup") {
		line += " --yes" // it would ask on a terminal
	}
	shell := exec.Command("bash", "-c", `midstream() { "$PROGRAM" "$@"; }; `+line)
	shell.Env = append(command(s.t).Env, "PROGRAM="+os.Args[0], "XDG_STATE_HOME="+s.folder, "XDG_RUNTIME_DIR="+s.folder)
	shell.Stdin = strings.NewReader("")
	said, _ := shell.CombinedOutput() // which exit code it has depends on what the commands before have done
	placeholder := strings.Contains(line, `"ALTER TABLE ..."`)
	if strings.Contains(string(said), "where: connecting") || strings.Contains(string(said), "midstream did not connect") && !placeholder ||
		strings.Contains(string(said), "bash: ") {
		s.t.Errorf("%s\n%s", line, said)
	}
	if !strings.Contains(line, " --host=") {
		s.t.Errorf("it reaches a server by chance: %s", line)
	}
}

// TestPrintedCommandsReachTheServer: a user who reached a server by flags can copy each command that is printed.
func TestPrintedCommandsReachTheServer(t *testing.T) {
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	if i.Network != "tcp" {
		t.Fatalf("%s is no TCP", i.Address)
	}
	name, _ := table(t, i, 100)
	gone, _ := table(t, i, 10)
	s := newCopying(t, i)
	alter := "ALTER TABLE " + name + " ADD COLUMN c INT COMMENT 'midstream undo a.b'"

	contains(t, s.runs(true, "undo", "--list", name), "--undo=24h") // of this table alone: other tests have theirs
	s.runs(true, "plan", "--undo=24h", "--method=shadow", alter)
	killed := s.start(append([]string{"run", "--hold", "--method=shadow", alter}, s.flags...)...)
	killed.await(&killed.stdout, "hold")
	if err := killed.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	s.ends(killed)
	s.runs(false, "status", name)
	s.runs(true, "run", "--method=shadow", "ALTER TABLE "+name+" ADD COLUMN d INT")
	s.runs(true, "run", "--undo=24h", "--method=shadow", alter)
	contains(t, s.runs(true, "undo", "--list", name), "COMMENT 'midstream undo a.b'")
	s.runs(true, "undo", "--plan", name)
	database, _, _ := strings.Cut(name, ".")
	const theirs = "my midstream undo a.b" // a name that spells a command
	spelled := s.start(append([]string{"plan", "--database=" + database, "ALTER TABLE `" + theirs + "` FORCE"}, s.flags...)...)
	spelled.exit()
	contains(t, spelled.stderr.all(), theirs)
	s.runs(false, "status")
	s.runs(false, "status", name)
	s.runs(false, "status", "--json", name)
	contains(t, s.runs(false, "report", "--format=md", name), "midstream undo ")
	s.runs(true, "run", "RENAME TABLE "+name+" TO "+name+"2")
	s.runs(true, "run", "--method=shadow", "ALTER TABLE "+gone+" ADD COLUMN d INT")
	s.runs(true, "run", "--drop-later", "--json", "DROP TABLE "+gone)
	s.runs(true, "undo", gone)
	follower := s.start(append([]string{"undo", "--hold", name}, s.flags...)...)
	follower.await(&follower.stdout, "follow")
	contains(t, strings.Join(strings.Fields(s.runs(false, "status", name)), " "), "until midstream undo")
	s.runs(false, "cutover", name)
	s.runs(false, "abort", name)
	s.ends(follower)

	for _, want := range []string{"undo --list", "undo db.t", "undo --end db.t", "cleanup db.t", "cleanup --old db.t", "undo --hold db.t", "run --undo=24h "} {
		if !slices.ContainsFunc(s.commands, func(line string) bool {
			plain := strings.NewReplacer(name, "db.t", gone, "db.t").Replace(unreaching(line)) + " "
			return strings.HasPrefix(plain, "midstream "+want)
		}) {
			t.Errorf("none is midstream %s", want)
		}
	}
	for _, line := range s.commands {
		s.copied(line)
	}
}

// TestWithoutFlagsCommandsStay: what an option file or the defaults reach is reached without flags.
func TestWithoutFlagsCommandsStay(t *testing.T) {
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	name, _ := table(t, i, 10)
	s := newCopying(t, i)
	host, port, _ := strings.Cut(i.Address, ":")
	cmd := command(t, "plan", "--undo=24h", "--method=shadow", "ALTER TABLE "+name+" ADD COLUMN c INT")
	home := t.TempDir()
	cmd.Env = append(cmd.Env, "HOME="+home)
	if err := os.WriteFile(filepath.Join(home, ".my.cnf"),
		[]byte("[client]\nhost="+host+"\nport="+port+"\nuser="+i.User+"\npassword='"+i.Password+"'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	contains(t, s.ends(start(t, cmd)), "midstream undo "+name+";")
}

// TestVariablesAreInPrintedCommands: another terminal, with other variables or none, reaches the same server by them.
func TestVariablesAreInPrintedCommands(t *testing.T) {
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	name, _ := table(t, i, 10)
	s := newCopying(t, i)
	host, port, _ := strings.Cut(i.Address, ":")
	cmd := command(t, "undo", "--user="+i.User, "--list", name)
	cmd.Env = append(cmd.Env, "MYSQL_HOST="+host, "MYSQL_TCP_PORT="+port, "MYSQL_PWD="+i.Password)
	contains(t, s.ends(start(t, cmd)), "midstream run --host="+host+" --port="+port+" --user="+i.User+" --undo=24h ")
}
