package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"midstream/internal/engine/compare"
	"midstream/internal/face/humanize"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/escape"
	"midstream/internal/mysql/schema"
)

// verification compares two tables.
type verification struct {
	app        *app
	connection connection
	checks     checks
	database   string
	cfg        compare.Config
	other      dbconn.Options // where the second table is, as far as it is said
	otherFile  string
}

func (a *app) verifyCommand() *cobra.Command {
	v := &verification{app: a, connection: connection{app: a}}
	cmd := &cobra.Command{
		Use:   "verify database.table [database.other]",
		Short: "Compare two tables, of one server or of two",
		Long:  helpText("verify") + "\n\n" + helpText("names"),
		Example: "  midstream verify shop.orders shop.orders_old\n" +
			"  midstream verify --host=db1 --other-host=db2 shop.orders",
		Args: cobra.ArbitraryArgs,
	}
	f := &v.checks
	f.flags = cmd.Flags()
	f.flags.SortFlags = false
	f.flags.StringVar(&v.other.Host, "other-host", "", "server of the second table, if it is another one")
	f.integer(&v.other.Port, "", "other-port", 0, 1, 65535, "its TCP port (3306)")
	f.flags.StringVar(&v.other.Socket, "other-socket", "", "its socket file")
	f.flags.StringVar(&v.other.User, "other-user", "", "account there (that of the first)")
	f.flags.StringVar(&v.otherFile, "other-defaults-file", "", "option file for it: account, password and the rest, where they differ")
	f.duration(&v.cfg.Settle, "settle", 3*time.Second, 100*time.Millisecond, time.Hour, "how long a row must differ in the same way")
	f.integer(&v.cfg.Workers, "", "workers", 2, 1, 64, "ranges that are compared at once")
	f.flags.StringVarP(&v.database, "database", "D", "", "the tables' database, if their names lack it")
	v.connection.register(f)
	cmd.RunE = a.verb(v.run)
	return cmd
}

func (v *verification) run(ctx context.Context, args []string) error {
	cfg, notes, configErr := v.connection.config()
	names, namesErr := v.names(args)
	other, asks, otherNotes, otherErr := v.otherConfig()
	if err := usageOf("midstream help verify", append(v.checks.problems, namesErr, configErr, otherErr)...); err != nil {
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
	v.app.stands("comparing", fmt.Sprintf("%s on %s with %s on %s", names[0], first.Address, names[1], second.Address))
	return v.compare(ctx, [2]*server{first, second}, names)
}

// names reads the arguments: the second table is the first on another server if it isn't
// said.
func (v *verification) names(args []string) (names [2]schema.Name, err error) {
	elsewhere := v.elsewhere()
	switch {
	case v.connection.app.password.detached(args):
		return names, errDetached
	case len(args) == 0 || len(args) > 2:
		return names, errors.New("say two tables: midstream verify database.table database.other")
	case len(args) == 1 && !elsewhere:
		return names, errors.New("say the second table, or its server (--other-host)")
	}
	for i := range names {
		name, nameErr := schema.ParseName(v.database, args[min(i, len(args)-1)])
		names[i], err = name, errors.Join(err, nameErr)
	}
	if err == nil && !elsewhere && names[0] == names[1] {
		err = errors.New("the two tables are one")
	}
	return names, err
}

func (v *verification) elsewhere() bool {
	return v.otherFile != "" || v.other.Host != "" || v.other.Port != 0 || v.other.Socket != ""
}

// otherConfig says how to reach the second server, nil where it is the first, and whether its
// password is to be asked for.
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
			return &coded{code: exitCode(err, false), err: fmt.Errorf("%s on %s: %w", names[i], s.Address, err), next: checkName}
		}
	}
	spec, err := compare.SpecOf(tables[0], tables[1])
	if err != nil {
		return &coded{code: exitRefused, err: err, next: "compare tables that have the same key"}
	}
	out := v.app.Stdout
	for _, column := range spec.Only {
		fmt.Fprintf(out, "Not compared: %s, which only one table has.\n", escape.Line(column))
	}
	comparison := compare.New(v.cfg, spec, servers[0].Pool, servers[1].Pool)
	started := time.Now()
	result, err := comparison.Run(ctx)
	if err != nil {
		if interruptedBy(ctx, err) {
			err = errInterrupted
		}
		return err
	}
	fmt.Fprintf(out, "Compared %s of %s and %s of %s in %s, in %s.\n", humanize.Plural(result.Rows[0], "row"), names[0],
		humanize.Plural(result.Rows[1], "row"), names[1], humanize.Plural(len(spec.Columns), "column"), humanize.Span(time.Since(started)))
	return v.verdict(ctx, comparison, spec, result)
}

// mostShown is the number of rows that differ of which the values are shown.
const mostShown = 10

func (v *verification) verdict(ctx context.Context, c *compare.Comparison, spec *compare.Spec, r compare.Result) error {
	out := v.app.Stdout
	differences, err := c.Differences(ctx, r.Mismatches[:min(mostShown, len(r.Mismatches))])
	if err != nil {
		return err
	}
	if len(differences) > 0 {
		fmt.Fprintln(out, "Rows that differ, the first table's value before the second's:")
	}
	for _, d := range differences {
		if d.Column != "" {
			d.Column = ", column " + d.Column
		}
		fmt.Fprintf(out, "  row %s%s: %s | %s\n", escape.Args(d.Key, d.Column, d.Values[0], d.Values[1])...)
	}
	more := ""
	if r.More {
		more = " at least; the rest was not compared"
	}
	switch {
	case len(r.Mismatches) > 0:
		return &coded{
			code: exitMismatch,
			err:  fmt.Errorf("%s %s%s", humanize.Plural(len(r.Mismatches), "row"), differ(len(r.Mismatches)), more),
			next: "see the rows above; of a table that is written to try again with a longer --settle, of a copy that should be equal find out who wrote to it",
		}
	case len(r.Unsettled) > 0:
		return &coded{
			code: exitFailed,
			err:  fmt.Errorf("%s changed all the time and could not be compared", humanize.Plural(len(r.Unsettled), "row")),
			next: "try again when there is less traffic, or with a longer --settle if one table follows the other slowly",
		}
	}
	equal := "Equal."
	if n := len(spec.Only); n > 0 {
		equal = fmt.Sprintf(
			"Equal in %s; %s %s not compared.", humanize.Plural(len(spec.Columns), "column"), humanize.Plural(n, "other"),
			humanize.Was(n),
		)
	}
	fmt.Fprintf(out, "%s%s\n", equal, settledText(r.Suspects))
	return nil
}

func differ(rows int) string {
	if rows == 1 {
		return "differs"
	}
	return "differ"
}

func settledText(suspects int) string {
	if suspects == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s differed at first, and no more after a while.)", humanize.Plural(suspects, "row"))
}
