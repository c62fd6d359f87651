package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// ghostSuite is gh-ost's localtests: a script that reports for each case whether it passed.
type ghostSuite struct {
	tests, program, path string
	primary, replica     *server
	version              string
}

func openGhost(ctx context.Context, o options, dir string) (_ suite, end func() error, err error) {
	source, err := fetch(ctx, ghostModule)
	if err != nil {
		return nil, nil, err
	}
	s := &ghostSuite{tests: filepath.Join(source, "localtests"), path: dir}
	end = func() error {
		var ends []error
		for _, server := range []*server{s.replica, s.primary} {
			if server != nil {
				ends = append(ends, server.stop(ctx))
			}
		}
		return errors.Join(ends...)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, end())
		}
	}()
	if s.program, err = link(o.midstream, dir, "gh-ost"); err != nil {
		return nil, nil, err
	}
	if s.primary, err = start(ctx, o.server, "1"); err != nil {
		return nil, nil, err
	}
	if s.version, err = s.primary.version(ctx); err != nil {
		return nil, nil, err
	}
	if s.replica, err = start(ctx, o.server, "2"); err != nil {
		return nil, nil, err
	}
	if err := s.replica.follow(ctx, s.primary); err != nil {
		return nil, nil, err
	}
	_, err = s.primary.run(
		ctx, "",
		"CREATE DATABASE test; CREATE USER 'gh-ost' IDENTIFIED BY 'gh-ost'; GRANT ALL ON *.* TO 'gh-ost' WITH GRANT OPTION;",
	)
	if err != nil {
		return nil, nil, err
	}
	for name, server := range map[string]*server{"gh-ost-test-mysql-master": s.primary, "gh-ost-test-mysql-replica": s.replica} {
		if err := server.wrap(ctx, filepath.Join(dir, name)); err != nil {
			return nil, nil, err
		}
	}
	return s, end, nil
}

func (s *ghostSuite) cases() ([]string, error) { return folders(s.tests) }

// ghostLog is the file to which the script writes the program's output.
const ghostLog = "/tmp/gh-ost-test.log"

func (s *ghostSuite) judge(ctx context.Context, name string) (verdict, error) {
	if err := s.replica.replicate(ctx); err != nil {
		return verdict{}, err
	}
	cmd := exec.CommandContext(ctx, "bash", filepath.Join(s.tests, "test.sh"), "-b", s.program, "/"+regexp.QuoteMeta(name)+"$")
	cmd.Env = append(os.Environ(), "PATH="+s.path+":"+os.Getenv("PATH"), "MIDSTREAM_CONTROL_DIR="+s.path)
	cmd.Dir = s.path
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return verdict{}, context.Cause(ctx)
	}
	text := string(out)
	said, _ := os.ReadFile(ghostLog)
	v := verdict{why: lastLine(string(said)), more: text + "\n" + string(said)}
	switch {
	case strings.Contains(text, "Skipping: "+name), strings.Contains(text, "\nskipping") || strings.Contains(text, ".skipping"):
		v.outcome, v.why = notForThis, "the script passes over it"
	case strings.Contains(text, "+ pass"):
		v.outcome, v.why = asExpected, ""
	case strings.Contains(text, "expected to exit on error but did not"):
		v.outcome, v.why = done, ""
	case strings.Contains(text, "expected to exit with error message"):
		// The script looks for gh-ost's words. Only the failure itself matters.
		v.outcome, v.why = asExpected, "in other words: "+fatal(string(said))
	case strings.Contains(text, "checksum mismatch"), strings.Contains(text, "table structure was expected"):
		v.outcome = wrong
	case strings.Contains(text, "execution failure"):
		v.outcome, v.why = refused, fatal(string(said))
		if page := documented(string(said), s.version); page != "" {
			v.outcome, v.why = rightly, page
		}
	default:
		v.outcome, v.why = wrong, lastLine(text)
	}
	if err == nil && v.outcome == wrong {
		v.why = "the script said nothing: " + v.why
	}
	return v, nil
}

// fatal is the line in which the program prints why it ends.
func fatal(said string) string {
	for line := range strings.Lines(said) {
		if _, why, is := strings.Cut(line, " FATAL "); is {
			return strings.TrimSpace(why)
		}
	}
	return lastLine(said)
}
