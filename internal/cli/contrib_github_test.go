package cli

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
)

// step runs a script of contrib/github with programs that stand for those of the runner.
type step struct {
	t      *testing.T
	folder string
	env    []string
}

func newStep(t *testing.T, i *mysqltest.Instance, more ...string) *step {
	t.Helper()
	s := &step{t: t, folder: t.TempDir()}
	gh := "#!/bin/sh\necho \"$*\" >> " + s.folder + "/calls\ncase \"$*\" in *--input*) cat > " + s.folder + "/body ;; *) cat " + s.folder + "/comments ;; esac\n"
	// What is submitted is kept; the other verbs are ours.
	ours := "#!/bin/sh\n[ \"$1\" = submit ] || exec " + os.Args[0] + " \"$@\"\nprintf '%s\\n' \"$*\" >> " + s.folder + "/calls\n"
	for name, text := range map[string]string{"gh": gh, "midstream": ours, "comments": "[]"} {
		if err := os.WriteFile(filepath.Join(s.folder, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	s.env = append(command(t).Env, "PATH="+s.folder+":"+os.Getenv("PATH"), "RUNNER_TEMP="+s.folder+"/temp", "GITHUB_OUTPUT="+s.folder+"/output",
		"GITHUB_REPOSITORY=o/r", "PULL_REQUEST=7", "COMMENT=true", "GH_TOKEN=tokenword", "MIDSTREAM="+s.folder+"/midstream",
		"DB_HOST=", "DB_PORT=", "DB_USER=", "FLAGS="+strings.Join(flagsTo(t, i), "\n"))
	s.env = append(s.env, more...)
	return s
}

func (s *step) run(name string) (code int, output string) {
	s.t.Helper()
	cmd := exec.Command("bash", "../../contrib/github/"+name)
	cmd.Env = s.env
	text, err := cmd.CombinedOutput()
	if _, failed := err.(*exec.ExitError); err != nil && !failed {
		s.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(text)
}

func (s *step) file(name string) string {
	text, _ := os.ReadFile(filepath.Join(s.folder, name))
	return string(text)
}

// TestActionPlansAndSubmits: the steps of contrib/github/action.yml on a server.
func TestActionPlansAndSubmits(t *testing.T) {
	sideBySide(t)
	if _, err := exec.LookPath("jq"); err != nil {
		t.Skip("jq is not installed")
	}
	i := mysqltest.Server(t, "9.7")
	name, _ := table(t, i, 10)
	database, _, _ := strings.Cut(name, ".")
	to := func(more string) []string {
		return []string{"DATABASE=" + database, "TO=" + files(t, map[string]string{"t.sql": wanted(more)})}
	}
	equal, differs, refused := to("b VARCHAR(200), KEY (a)"), to("b VARCHAR(200), KEY (a), d INT"), to("b VARCHAR(200), KEY (a), d INT AS (nosuch) STORED")
	for _, c := range []struct {
		files        []string
		code         int
		body, output string
	}{
		{equal, exit.Done, "the server is equal to", "exit-code=0\ndiffers=false\n"},
		{differs, exit.Done, "ADD COLUMN `d` int", "exit-code=2\ndiffers=true\n"},
		{refused, exit.Refused, "nosuch", "exit-code=11\ndiffers=false\n"},
	} {
		s := newStep(t, i, c.files...)
		code, output := s.run("plan.sh")
		if body := s.file("body"); code != c.code || !strings.Contains(body, c.body) || !strings.HasPrefix(s.file("output"), c.output) {
			t.Errorf("%s: exit code %d\n%s\n%s\n%s", c.body, code, output, body, s.file("output"))
		}
		if calls := s.file("calls"); !strings.Contains(calls, "api --method POST repos/o/r/issues/7/comments --input -") {
			t.Errorf("calls %s", calls)
		}
		if all := output + s.file("body") + s.file("calls"); strings.Contains(all, "tokenword") {
			t.Errorf("the token is in %s", all)
		}
	}
	again := newStep(t, i, differs...)
	old := `[{"id":5,"user":{"type":"User"},"body":"<!-- midstream plan of"},{"id":6,"user":{"type":"Bot"},"body":"<!-- midstream plan of ` +
		strings.TrimPrefix(differs[1], "TO=") + ` -->\n"}]`
	if err := os.WriteFile(filepath.Join(again.folder, "comments"), []byte(old), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, output := again.run("plan.sh"); code != exit.Done || !strings.Contains(again.file("calls"), "api --method PATCH repos/o/r/issues/comments/6 ") {
		t.Errorf("exit code %d\n%s\n%s", code, output, again.file("calls"))
	}
	s := newStep(t, i, append(differs, "SERVE=https://changes.example", "SERVE_TOKEN=secretword", "SERVER=main", "ID=pr-7", "OPTIONS=hold", "WAIT=true")...)
	code, output := s.run("submit.sh")
	submitted := "submit ALTER TABLE `" + database + "`.`t` ADD COLUMN `d` int"
	calls := s.file("calls")
	// A table that does not exist is created.
	fresh := newStep(t, i, "DATABASE="+database, "TO="+files(t, map[string]string{"f.sql": "CREATE TABLE fresh (\n\tid INT PRIMARY KEY\n);\n"}),
		"SERVE=https://changes.example", "SERVE_TOKEN=secretword", "SERVER=main", "ID=pr-8", "OPTIONS=hold", "WAIT=false")
	if code, output := fresh.run("submit.sh"); code != exit.Done || !strings.Contains(fresh.file("calls"), "submit CREATE TABLE fresh (") ||
		!strings.Contains(fresh.file("calls"), "--id=pr-8-"+database+".fresh --option=database="+database) {
		t.Errorf("exit code %d\n%s\n%s", code, output, fresh.file("calls"))
	}
	if code != exit.Done || strings.Count(calls, submitted) != 2 || strings.Count(calls, " --id=pr-7-"+name+" --option=hold") != 2 ||
		strings.Count(calls, "--wait") != 1 || strings.Contains(output+calls, "secretword") || s.file("temp/midstream/token") != "" {
		t.Errorf("exit code %d\n%s\n%s", code, output, calls)
	}
}

// TestActionChecksTheProgram: the program is used only if it has the checksum.
func TestActionChecksTheProgram(t *testing.T) {
	sideBySide(t)
	i := mysqltest.Server(t, "9.7")
	download := "#!/bin/sh\necho midstream of a release\n"
	right := fmt.Sprintf("%x", sha256.Sum256([]byte(download)))
	for _, c := range []struct {
		env  []string
		code int
		text string
	}{
		{[]string{"BINARY=", "URL=https://example/m", "SHA256=" + right}, exit.Done, "midstream of a release"},
		{[]string{"BINARY=PROGRAM", "URL=", "SHA256="}, exit.Done, "midstream"},
		{[]string{"BINARY=PROGRAM", "URL=", "SHA256=" + strings.Repeat("0", 64)}, exit.WrongUsage, "does not have the SHA-256"},
		{[]string{"BINARY=", "URL=https://example/m", "SHA256="}, exit.WrongUsage, "url needs sha256"},
		{[]string{"BINARY=", "URL=http://example/m", "SHA256=1"}, exit.WrongUsage, "url (https)"},
		{[]string{"BINARY=", "URL=https://example/m", "SHA256=" + strings.Repeat("0", 64)}, exit.WrongUsage, "does not have the SHA-256"},
	} {
		s := newStep(t, i, append(c.env, "MODE=plan")...)
		curl := "#!/bin/sh\nwhile [ $# -gt 0 ]; do [ \"$1\" != --output ] || cp " + s.folder + "/download \"$2\"; shift; done\n"
		if err := os.WriteFile(filepath.Join(s.folder, "download"), []byte(download), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(s.folder, "curl"), []byte(curl), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(s.folder, "midstream"), filepath.Join(s.folder, "program")); err != nil {
			t.Fatal(err)
		}
		for n := range s.env {
			s.env[n] = strings.Replace(s.env[n], "=PROGRAM", "="+s.folder+"/program", 1)
		}
		code, output := s.run("install.sh")
		path := "program"
		if c.env[0] == "BINARY=" {
			path = "temp/midstream/midstream"
		}
		if found := s.file("output") == "midstream="+s.folder+"/"+path+"\n"; code != c.code || !strings.Contains(output, c.text) || found != (c.code == 0) {
			t.Errorf("%q: exit code %d\n%s", c.env, code, output)
		}
	}
}
