package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"midstream/internal/cli/exit"
	"midstream/internal/engine/cutover"
	"midstream/internal/engine/failure"
	"midstream/internal/engine/intake"
	"midstream/internal/engine/leftovers"
	"midstream/internal/engine/migration"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/password"
	"midstream/internal/ops/session"
)

var resultlessRun = migration.Result{}

func TestExitCodeOf(t *testing.T) {
	failed := func(err error) error { return &failure.Failure{Phase: "copy", Err: err} }
	for _, c := range []struct {
		err         error
		interrupted bool
		code        int
	}{
		{nil, false, exit.Done},
		{nil, true, exit.Done},
		{errors.New("any"), false, exit.Failed},
		{errors.New("any"), true, exit.Aborted},
		{failed(errInterrupted), true, exit.Aborted},
		{failed(intake.ErrSourceChanged), false, exit.Failed},
		{failed(leftovers.ErrClaimed), false, exit.Busy},
		{failed(fmt.Errorf("x: %w", cutover.ErrUnknown)), true, exit.Unknown},
		{failed(errors.Join(errInterrupted, failure.ErrLeftovers)), true, exit.Leftovers},
		{failed(errors.Join(cutover.ErrUnknown, failure.ErrLeftovers)), false, exit.Unknown},
		{&plan.Refused{}, false, exit.Refused},
		{fmt.Errorf("read: %w", schema.ErrNotFound), false, exit.Refused},
		{exit.UsageOf("help", errors.New("x")), true, exit.WrongUsage},
		{&exit.Error{Code: exit.Mismatch, Err: errors.New("x")}, false, exit.Mismatch},
	} {
		if code := exit.Code(c.err, c.interrupted); code != c.code {
			t.Errorf("%v, interrupted %t: %d instead of %d", c.err, c.interrupted, code, c.code)
		}
	}
	codes := map[int]bool{}
	for _, o := range exit.Outcomes {
		if codes[o.Code] {
			t.Errorf("exit code %d", o.Code)
		}
		codes[o.Code] = true
	}
}

func TestTakePassword(t *testing.T) {
	root := newApp(Env{}).root()
	for _, c := range []struct {
		args     string
		rest     string
		password string
		ask      bool
		wiped    int
	}{
		{"run -u root x", "run -u root x", "<nil>", false, 0},
		{"run -psecret x", "run x", "secret", false, 1},
		{"run --password=se=cret x", "run x", "se=cret", false, 1},
		{"run --password= x", "run x", "", false, 1},
		{"run -p x", "run x", "<nil>", true, 0},
		{"run --password x", "run x", "<nil>", true, 0},
		{"run -pone -p", "run", "<nil>", true, 1},
		{"run -P 3306 -psecret", "run -P 3306", "secret", false, 1},
		{"run --alter -px --table t", "run --alter -px --table t", "<nil>", false, 0},
		{"run -D -p -psecret", "run -D -p", "secret", false, 1},
		{"run --json -psecret", "run --json", "secret", false, 1},
		{"run -- -psecret", "run -- -psecret", "<nil>", false, 0},
	} {
		wiped := 0
		rest, g := password.Take(strings.Fields(c.args), valueFlags(root), func(arg string, from int) { wiped++ })
		taken := "<nil>"
		if g.Password != nil {
			taken = string(*g.Password)
		}
		if !slices.Equal(rest, strings.Fields(c.rest)) || taken != c.password || g.Ask != c.ask || wiped != c.wiped {
			t.Errorf("%s: %q, %q, ask %t, wiped %d", c.args, rest, taken, g.Ask, wiped)
		}
	}
}

func TestTargets(t *testing.T) {
	for _, c := range []struct {
		target  session.Target
		args    []string
		table   string
		clauses string
		problem string
	}{
		{session.Target{}, []string{"ALTER TABLE shop.orders ADD COLUMN n INT;"}, "shop.orders", "ADD COLUMN n INT", ""},
		{session.Target{}, []string{"alter table `my shop`.`or``ders` add column n int"}, "my shop.or`ders", "add column n int", ""},
		{session.Target{Database: "shop"}, []string{"ALTER TABLE orders ENGINE=InnoDB"}, "shop.orders", "ENGINE=InnoDB", ""},
		{session.Target{Database: "shop"}, []string{"ALTER TABLE shop.orders ENGINE=InnoDB"}, "shop.orders", "ENGINE=InnoDB", ""},
		{session.Target{Database: "shop", Table: "orders", Alter: "DROP COLUMN a"}, nil, "shop.orders", "DROP COLUMN a", ""},
		{session.Target{Table: "shop.orders", Alter: "DROP COLUMN a"}, nil, "shop.orders", "DROP COLUMN a", ""},
		{session.Target{Table: "`a.b`.`c`", Alter: "DROP COLUMN a"}, nil, "a.b.c", "DROP COLUMN a", ""},
		{session.Target{}, nil, "", "", "name the change"},
		{session.Target{}, []string{"ALTER TABLE orders ENGINE=InnoDB"}, "", "", "the database of orders is missing"},
		{session.Target{Database: "other"}, []string{"ALTER TABLE shop.orders ENGINE=InnoDB"}, "", "", "--database names other"},
		{session.Target{Table: "orders"}, []string{"ALTER TABLE shop.orders ENGINE=InnoDB"}, "", "", "not both"},
		{session.Target{}, []string{"ALTER", "TABLE", "shop.orders"}, "", "", "put the statement in quotes"},
		{session.Target{Table: "orders"}, nil, "", "", "--table needs --alter"},
		{session.Target{Alter: "DROP COLUMN a"}, nil, "", "", "--alter needs --table"},
		{session.Target{Database: "x", Table: "a.b.c", Alter: "DROP COLUMN a"}, nil, "", "", "not a table's name"},
		{session.Target{Table: "shop.`orders", Alter: "DROP COLUMN a"}, nil, "", "", "not closed"},
		{session.Target{Table: "shop.", Alter: "DROP COLUMN a"}, nil, "", "", "database.table"},
		{session.Target{}, []string{"ALTER TABLE a.b ADD COLUMN c INT; DROP TABLE a.b"}, "", "", "more than one statement"},
	} {
		statement, err := c.target.Parse(c.args)
		switch {
		case c.problem != "":
			if err == nil || !strings.Contains(err.Error(), c.problem) {
				t.Errorf("%+v %q: %v instead of %q", c.target, c.args, err, c.problem)
			}
		case err != nil:
			t.Errorf("%+v %q: %v", c.target, c.args, err)
		case statement.Alter.Table.Bare() != c.table || statement.Alter.Clauses != c.clauses:
			t.Errorf("%+v %q: %s, %s", c.target, c.args, statement.Alter.Table, statement.Alter.Clauses)
		}
	}
}
