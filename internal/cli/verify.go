package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"midstream/internal/cli/exit"
	"midstream/internal/cli/flags"
	"midstream/internal/cli/help"
	"midstream/internal/engine/compare"
	"midstream/internal/face/summary"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/password"
)

// verification is the verb verify.
type verification struct {
	app        *app
	connection connection
	checks     flags.Set
	database   string
	cfg        compare.Config
	other      dbconn.Options // of the second server
	otherFile  string
}

func (a *app) verifyCommand() *cobra.Command {
	v := &verification{app: a, connection: connection{app: a}}
	cmd := &cobra.Command{
		Use:   "verify database.table [database.other]",
		Short: "Compare two tables, of one server or of two",
		Long:  help.Text("verify") + "\n\n" + help.Text("names"),
		Example: "  midstream verify shop.orders shop.orders_old\n" +
			"  midstream verify --host=db1 --other-host=db2 shop.orders",
		Args: cobra.ArbitraryArgs,
	}
	f := &v.checks
	f.Flags = cmd.Flags()
	f.Flags.SortFlags = false
	f.Flags.StringVar(&v.other.Host, "other-host", "", "server of the second table, if it is on another server")
	f.Integer(&v.other.Port, "", "other-port", 0, 1, 65535, "TCP port of that server (3306)")
	f.Flags.StringVar(&v.other.Socket, "other-socket", "", "socket file of that server")
	f.Flags.StringVar(&v.other.User, "other-user", "", "account on that server (the account of the first server)")
	f.Flags.StringVar(&v.otherFile, "other-defaults-file", "", "option file of that server: account, password and other options that differ")
	f.Duration(&v.cfg.Settle, "settle", 3*time.Second, 100*time.Millisecond, time.Hour, "report a row as different after it has differed in the same way for this long")
	f.Integer(&v.cfg.Workers, "", "workers", 2, 1, 64, "number of ranges to compare at the same time")
	f.Flags.StringVarP(&v.database, "database", "D", "", "the tables' database, if their names lack it")
	v.connection.register(f)
	cmd.RunE = a.Verb(v.run)
	return cmd
}

func (v *verification) run(ctx context.Context, args []string) error {
	cfg, notes, configErr := v.connection.config()
	names, namesErr := v.names(args)
	other, asks, otherNotes, otherErr := v.otherConfig()
	if err := exit.UsageOf("midstream help verify", append(v.checks.Problems, namesErr, configErr, otherErr)...); err != nil {
		return err
	}
	out := output{app: v.app}
	for _, note := range append(notes, otherNotes...) {
		out.note(note)
	}
	first, err := v.connection.open(ctx, cfg)
	if err != nil {
		return err
	}
	defer first.Close()
	second := first
	if other != nil {
		there := connection{app: v.app, ask: asks}
		if asks && v.connection.ask { // once is enough
			other.Password, there.ask = first.Password, false
		}
		if second, err = there.open(ctx, *other); err != nil {
			return err
		}
		defer second.Close()
	}
	v.app.Stands("comparing", fmt.Sprintf("%s on %s with %s on %s", names[0], first.Address, names[1], second.Address))
	return v.compare(ctx, [2]*server{first, second}, names)
}

// names reads the arguments. Without a second table, it is the same table on the other server.
func (v *verification) names(args []string) (names [2]schema.Name, err error) {
	elsewhere := v.elsewhere()
	switch {
	case v.connection.app.password.Detached(args):
		return names, password.ErrDetached
	case len(args) == 0 || len(args) > 2:
		return names, errors.New("name two tables: midstream verify database.table database.other")
	case len(args) == 1 && !elsewhere:
		return names, errors.New("name the second table, or its server (--other-host)")
	}
	for i := range names {
		name, nameErr := schema.ParseName(v.database, args[min(i, len(args)-1)])
		names[i], err = name, errors.Join(err, nameErr)
	}
	if err == nil && !elsewhere && names[0] == names[1] {
		err = errors.New("both names are of the same table")
	}
	return names, err
}

func (v *verification) elsewhere() bool {
	return v.otherFile != "" || v.other.Host != "" || v.other.Port != 0 || v.other.Socket != ""
}

// otherConfig says how to reach the second server, nil if it is the first one. asks says that the
// user must type its password.
func (v *verification) otherConfig() (cfg *dbconn.Config, asks bool, notes []string, err error) {
	if !v.elsewhere() {
		return nil, false, nil, nil
	}
	options := v.other
	if v.otherFile != "" {
		filed, err := dbconn.OptionFiles{Only: v.otherFile}.Read()
		if err != nil {
			return nil, false, nil, err
		}
		options, notes = options.Over(filed.Options), filed.Notes
	}
	base := v.connection.said
	base.Host, base.Port, base.Socket, base.Protocol = "", 0, "", ""
	options = options.Over(base)
	reach, choices, err := options.Config()
	return &reach, options.AskPassword, append(notes, choices...), err
}

func (v *verification) compare(ctx context.Context, servers [2]*server, names [2]schema.Name) error {
	var tables [2]*schema.Table
	for i, s := range servers {
		var err error
		if tables[i], err = schema.Load(ctx, s.Pool.DB(), names[i]); err != nil {
			err = schema.Missing(ctx, s.Pool.DB(), names[i], err)
			return &exit.Error{Code: exit.Code(err, false), Err: fmt.Errorf("%s on %s: %w", names[i], s.Address, err), Next: exit.CheckName}
		}
	}
	spec, err := compare.SpecOf(tables[0], tables[1])
	if err != nil {
		return &exit.Error{Code: exit.Refused, Err: err, Next: "compare tables that have the same key"}
	}
	fmt.Fprint(v.app.Stdout, summary.Uncompared(spec))
	comparison := compare.New(v.cfg, spec, servers[0].Pool, servers[1].Pool)
	started := time.Now()
	result, err := comparison.Run(ctx)
	if err != nil {
		if exit.InterruptedBy(ctx, err) {
			err = errInterrupted
		}
		return err
	}
	found := summary.Comparison{Names: names, Spec: spec, Result: result, Took: time.Since(started)}
	found.Differences, err = comparison.Differences(ctx, result.Mismatches[:min(mostShown, len(result.Mismatches))])
	if err != nil {
		return err
	}
	fmt.Fprint(v.app.Stdout, summary.OfComparison(found))
	why, next := found.Failure()
	switch {
	case len(result.Mismatches) > 0:
		return &exit.Error{Code: exit.Mismatch, Err: errors.New(why), Next: next}
	case why != "":
		return &exit.Error{Code: exit.Failed, Err: errors.New(why), Next: next}
	}
	return nil
}

// mostShown is the number of different rows whose values verify shows.
const mostShown = 10
