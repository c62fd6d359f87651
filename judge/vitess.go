package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// vitessSuite is the suite of Vitess's Online DDL. Its tables, and its way to run a case, are those
// of go/test/endtoend/onlineddl/vrepl_suite/onlineddl_vrepl_suite_test.go.
type vitessSuite struct {
	tests, midstream, dir string
	writing               time.Duration
	server                *server
	version               string
	sqlMode               string
}

// The tables of a case.
const (
	vitessDatabase = "onlineddl"
	vitessTable    = "onlineddl_test"
	vitessFormer   = vitessTable + "_former"
)

func openVitess(ctx context.Context, o options, dir string) (suite, func() error, error) {
	source, err := fetch(ctx, vitessModule)
	if err != nil {
		return nil, nil, err
	}
	s := &vitessSuite{
		tests:     filepath.Join(source, "go/test/endtoend/onlineddl/vrepl_suite/testdata"),
		midstream: o.midstream,
		dir:       dir,
		writing:   o.writing,
	}
	if s.server, err = start(ctx, o.server, "1"); err != nil {
		return nil, nil, err
	}
	end := func() error { return s.server.stop(ctx) }
	_, err = s.server.run(ctx, "", "CREATE DATABASE "+vitessDatabase)
	if err == nil {
		s.version, err = s.server.version(ctx)
	}
	if err != nil {
		return nil, nil, errors.Join(err, end())
	}
	// Vitess's default, as far as every server knows it.
	s.sqlMode = "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION"
	return s, end, nil
}

func (s *vitessSuite) cases() ([]string, error) { return folders(s.tests) }

// file is one of the files of a case; has is false if the case lacks it.
func (s *vitessSuite) file(name, file string) (text string, has bool) {
	data, err := os.ReadFile(filepath.Join(s.tests, name, file))
	return strings.TrimSpace(string(data)), err == nil
}

// word is a file's text, or otherwise if there is no file.
func (s *vitessSuite) word(name, file, otherwise string) string {
	if text, has := s.file(name, file); has {
		return text
	}
	return otherwise
}

func (s *vitessSuite) judge(ctx context.Context, name string) (verdict, error) {
	if versions, has := s.file(name, "ignore_versions"); has {
		if ignored, err := regexp.MatchString(versions, s.version); err != nil || ignored {
			return verdict{outcome: notForThis}, err
		}
	}
	if err := s.prepare(ctx, name); err != nil {
		return verdict{outcome: notForThis, why: err.Error()}, ctx.Err()
	}
	said, failed, err := s.change(ctx, name)
	if err != nil {
		return verdict{}, err
	}
	_, shallFail := s.file(name, "expect_failure")
	_, shallNotBegin := s.file(name, "expect_query_failure")
	shallFail = shallFail || shallNotBegin
	var exit *exec.ExitError
	switch {
	case errors.As(failed, &exit) && exit.ExitCode() == exitUsage && !shallNotBegin:
		return verdict{wrong, reason(said), said}, nil
	case failed != nil && shallFail:
		return verdict{asExpected, reason(said), said}, nil
	case errors.As(failed, &exit) && (exit.ExitCode() == exitRefused || exit.ExitCode() == exitUnfit):
		return s.explain(ctx, name, said)
	case failed != nil:
		return verdict{wrong, reason(said), said}, nil
	}
	differs, err := s.compare(ctx, name)
	switch {
	case err != nil:
		return verdict{wrong, err.Error(), said}, ctx.Err()
	case differs != "" && shallFail:
		return verdict{done, "the suite says no columns to compare by", differs + "\n" + said}, nil
	case differs != "":
		return verdict{wrong, "the tables differ", differs + "\n" + said}, nil
	case shallFail:
		return verdict{done, "with equal rows", said}, nil
	}
	return verdict{asExpected, "", said}, nil
}

// Midstream's exit codes for wrong arguments, for a refusal, and for rows that don't fit; nothing
// was changed.
const (
	exitUsage   = 10
	exitRefused = 11
	exitUnfit   = 17
)

// reason is the line in which midstream prints why it failed.
func reason(said string) string {
	for line := range strings.Lines(said) {
		if why, is := strings.CutPrefix(line, "midstream: "); is {
			return strings.TrimSpace(why)
		}
	}
	return lastLine(said)
}

// prepare makes the case's table, and starts an event that writes to it.
func (s *vitessSuite) prepare(ctx context.Context, name string) error {
	create, _ := s.file(name, "create.sql")
	var drops strings.Builder
	for _, suffix := range []string{"_child", "", "_former", "_shadow", "_parent"} {
		fmt.Fprintf(&drops, "DROP TABLE IF EXISTS %s%s;", vitessTable, suffix)
	}
	_, err := s.server.run(
		ctx,
		vitessDatabase,
		"SET GLOBAL sql_mode = '"+s.word(name, "sql_mode", s.sqlMode)+"', GLOBAL event_scheduler = ON; "+
			"SET foreign_key_checks = 0; "+drops.String()+"DROP EVENT IF EXISTS "+vitessTable,
	)
	if err != nil {
		return err
	}
	_, err = s.server.run(ctx, vitessDatabase, create+"\n")
	return err
}

// change runs the ALTER, and stops the writing just before the swap. failed is the error with which
// the run ended.
func (s *vitessSuite) change(ctx context.Context, name string) (said string, failed, err error) {
	held := filepath.Join(s.dir, "writing")
	if err := os.WriteFile(held, nil, 0o600); err != nil {
		return "", nil, err
	}
	defer os.Remove(held)
	args := []string{
		"run", "--host=127.0.0.1", fmt.Sprintf("--port=%d", s.server.Port), "--user=" + s.server.User, "--no-color",
		"--no-control", "--database=" + vitessDatabase, "--table=" + vitessTable,
		"--alter=" + s.word(name, "alter", "engine=innodb"), "--method=shadow", "--old-name=" + vitessFormer,
		"--cutover-when-gone=" + held,
	}
	if strategy, _ := s.file(name, "ddl_strategy"); strings.Contains(strategy, "--allow-zero-in-date") {
		args = append(args, "--zero-dates")
	}
	var out strings.Builder
	cmd := exec.CommandContext(ctx, s.midstream, args...)
	cmd.Env = append(os.Environ(), "HOME="+s.dir) // no option files of the user
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case failed = <-ended:
		return out.String(), failed, nil
	case <-time.After(s.writing):
	}
	_, err = s.server.run(ctx, vitessDatabase, "SET GLOBAL event_scheduler = OFF; DROP EVENT IF EXISTS "+vitessTable)
	err = errors.Join(err, os.Remove(held))
	failed = <-ended
	return out.String(), failed, err
}

// compare returns how the new table differs from what the suite asks for, or "".
func (s *vitessSuite) compare(ctx context.Context, name string) (string, error) {
	if structure, has := s.file(name, "expect_table_structure"); has {
		definition, err := s.server.run(ctx, vitessDatabase, "SHOW CREATE TABLE "+vitessTable, "--raw")
		if err != nil {
			return "", err
		}
		if as, err := regexp.MatchString(structure, definition); err != nil || !as {
			return "not " + structure + ":\n" + definition, err
		}
	}
	order := ""
	if by, has := s.file(name, "order_by"); has {
		order = " ORDER BY " + by
	}
	var rows [2]string
	for i, of := range []struct{ columns, table string }{{s.word(name, "before_columns", "*"), vitessFormer}, {s.word(name, "after_columns", "*"), vitessTable}} {
		var err error
		if rows[i], err = s.server.run(ctx, vitessDatabase, "SELECT "+of.columns+" FROM "+of.table+order); err != nil {
			return "", err
		}
	}
	if rows[0] == rows[1] {
		return "", nil
	}
	return "before:\n" + rows[0] + "after:\n" + rows[1], nil
}
