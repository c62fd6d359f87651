package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"midstream/internal/lab/sandbox"
	"midstream/judge/callers"
)

// The modules that contain the suites.
const (
	ghostModule  = "github.com/github/gh-ost@v1.1.8"
	vitessModule = "vitess.io/vitess@v0.22.0"
)

// outcome is the outcome of a case.
type outcome string

const (
	asExpected outcome = "as expected"
	done       outcome = "done"
	rightly    outcome = "limit"
	refused    outcome = "refused"
	wrong      outcome = "wrong"
	notForThis outcome = "not for this"
)

// verdict is an outcome with its reason in one line; more has details for people.
type verdict struct {
	outcome outcome
	why     string
	more    string
}

// options are the flags.
type options struct {
	suites    []string
	server    sandbox.Version
	only      *regexp.Regexp
	midstream string
	writing   time.Duration
	verbose   bool
}

// suite judges its cases one after the other.
type suite interface {
	cases() ([]string, error)
	judge(ctx context.Context, name string) (verdict, error)
}

func main() {
	o, err := readFlags()
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		err = carryOut(ctx, o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "judge:", err)
		os.Exit(1)
	}
}

func readFlags() (options, error) {
	var o options
	suites := flag.String("suites", "gh-ost,vitess,callers", "suites to run: gh-ost, vitess, callers")
	server := flag.String("server", string(sandbox.MySQL80), "server to run on: 9.7, 8.0 or 5.7")
	only := flag.String("only", "", "pattern of the names of cases")
	flag.StringVar(&o.midstream, "midstream", "bin/midstream", "the program to be judged")
	flag.DurationVar(&o.writing, "writing", 4*time.Second, "how long Vitess's cases keep writing after the ALTER has begun")
	flag.BoolVar(&o.verbose, "v", false, "print the program's output if a case fails")
	flag.Parse()
	if flag.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", flag.Arg(0))
	}
	o.suites, o.server = strings.Split(*suites, ","), sandbox.Version(*server)
	var err error
	if o.only, err = regexp.Compile(*only); err != nil {
		return o, fmt.Errorf("--only: %w", err)
	}
	o.midstream, err = filepath.Abs(o.midstream)
	return o, err
}

func carryOut(ctx context.Context, o options) error {
	dir, err := os.MkdirTemp("", "judge")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	against := 0
	for _, name := range o.suites {
		n, err := o.carryOutSuite(ctx, name, dir)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		against += n
	}
	if against > 0 {
		return fmt.Errorf("%d cases failed, or were refused without a known reason", against)
	}
	return nil
}

// carryOutSuite returns how many cases were wrong, or refused without a known reason.
func (o options) carryOutSuite(ctx context.Context, name, dir string) (against int, err error) {
	s, end, err := o.open(ctx, name, dir)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, end()) }()
	cases, err := s.cases()
	if err != nil {
		return 0, err
	}
	tally := map[outcome]int{}
	for _, c := range cases {
		if !o.only.MatchString(c) {
			continue
		}
		v, err := within(ctx, s, c)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", c, err)
		}
		tally[v.outcome]++
		fmt.Printf("%-8s %-55s %-12s %s\n", name, c, v.outcome, v.why)
		if o.verbose && v.outcome != asExpected {
			fmt.Println(indent(v.more))
		}
	}
	fmt.Printf("%s on %s:", name, o.server)
	for _, what := range slices.SortedFunc(maps.Keys(tally), func(a, b outcome) int { return cmp.Compare(tally[b], tally[a]) }) {
		fmt.Printf(" %d %s;", tally[what], what)
	}
	fmt.Println()
	return tally[wrong] + tally[refused], nil
}

// limit is the longest time for a case.
const limit = 5 * time.Minute

// within judges a case within the limit.
func within(ctx context.Context, s suite, name string) (verdict, error) {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	v, err := s.judge(limited, name)
	if limited.Err() != nil && ctx.Err() == nil {
		return verdict{outcome: wrong, why: fmt.Sprintf("not done after %s", limit)}, nil
	}
	return v, err
}

func (o options) open(ctx context.Context, name, dir string) (suite, func() error, error) {
	switch name {
	case "gh-ost":
		return openGhost(ctx, o, dir)
	case "vitess":
		return openVitess(ctx, o, dir)
	case "callers":
		return openCallers(ctx, o)
	}
	return nil, nil, fmt.Errorf("unknown suite; the suites are gh-ost, vitess and callers")
}

// callersSuite is the suite of the programs that call a schema change tool.
type callersSuite struct{ *callers.Suite }

func openCallers(ctx context.Context, o options) (suite, func() error, error) {
	dir, err := os.MkdirTemp("", "judge-callers")
	if err != nil {
		return nil, nil, err
	}
	contrib, err := filepath.Abs("contrib")
	if err != nil {
		return nil, nil, err
	}
	s, err := callers.Open(ctx, o.server, o.midstream, contrib, dir)
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(dir))
	}
	return callersSuite{s}, func() error { return errors.Join(s.Close(ctx), os.RemoveAll(dir)) }, nil
}

func (s callersSuite) cases() ([]string, error) { return s.Cases(), nil }

func (s callersSuite) judge(ctx context.Context, name string) (verdict, error) {
	said, failed, err := s.Judge(ctx, name)
	if failed != nil {
		return verdict{wrong, lastLine(failed.Error()), failed.Error() + "\n" + said}, err
	}
	return verdict{asExpected, "", said}, err
}

// fetch returns the folder of a module's sources.
func fetch(ctx context.Context, module string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", module)
	cmd.Dir = os.TempDir() // not within this module
	out, err := cmd.Output()
	var answer struct{ Dir, Error string }
	if parseErr := json.Unmarshal(out, &answer); answer.Error != "" || err != nil || parseErr != nil {
		return "", fmt.Errorf("fetch the module %s: %w: %s", module, errors.Join(err, parseErr), answer.Error)
	}
	return answer.Dir, nil
}

// folders are the names of the folders in dir.
func folders(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, err
}

func indent(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ")
}

// lastLine is the last line of a text that is not empty.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
