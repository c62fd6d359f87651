package planning

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
	"midstream/internal/mysql/schema/token"
)

// deciding are the flags that decide what an undo does: each is refused if it has no effect. The other flags are limits, which
// hold in each mode, or say how the server is reached and what is printed.
var deciding = []string{
	"cold", "lazy", "merge", "park", "undo-fill", "map", "key", "shadow-name", "old-name", "method", "zero-dates", "no-prescan", "no-verify",
	"repair", "native-max-lock", "native-max-build", "native-max-replica-stall",
}

// byTable are the deciding flags of an undo that swaps a table in, and byServer those of an undo that the server makes.
var (
	byTable = []string{
		"cold", "lazy", "park", "undo-fill", "map", "key", "shadow-name", "old-name", "zero-dates", "no-prescan", "no-verify", "repair",
	}
	byServer = []string{"method", "zero-dates", "map", "native-max-lock", "native-max-build", "native-max-replica-stall"}
	// byShadow are flags that an undo by the server takes too if --method=shadow makes it build a table.
	byShadow = []string{"key", "shadow-name", "old-name", "no-prescan", "no-verify", "repair"}
)

// Only refuses the deciding flags that have no effect on the undo of a kind of change, except those that are named.
func (u Undo) Only(table schema.Name, kind string, permitted ...string) error {
	given := map[string]bool{"cold": u.Cold, "lazy": u.Lazy, "merge": u.Merge, "park": u.Park, "undo-fill": len(u.Fills) > 0}
	for _, flag := range u.Given {
		given[flag] = true
	}
	var names []string
	for _, flag := range deciding {
		if given[flag] && !slices.Contains(permitted, flag) {
			names = append(names, "--"+flag)
		}
	}
	useless := strings.Join(names, ", ")
	switch len(names) {
	case 0:
		return nil
	case 1:
		return refuse(table, cannotUse(useless), "it has no effect on the undo of "+kind, "Leave out "+useless)
	}
	return refuse(table, cannotUse(useless), "they have no effect on the undo of "+kind, "Leave them out")
}

// oldTable refuses a --shadow-name that is not the old table of the record.
func (u Undo) oldTable(table schema.Name, wish, old string) error {
	if !slices.Contains(u.Given, "shadow-name") || wish == old {
		return nil
	}
	return refuse(table, cannotUse("--shadow-name="+schema.Shell(wish)), "the last change of the table has the old table "+table.Sibling(old).String(),
		fmt.Sprintf("Leave out --shadow-name. Or give this undo up, then undo to the other table: midstream undo  --end %[1]s, "+
			"then midstream undo  --cold --shadow-name=%[2]s %[1]s", table.Argument(), schema.Shell(wish)))
}

// noFollower refuses --hold for an undo that has no old table, which a process could keep equal to the table.
func noFollower(table schema.Name, how string) error {
	return refuse(table, cannotUse("--hold"), how+", so there is no old table that a process could keep equal to the table",
		"Leave out --hold. Nothing must run until then: midstream undo  "+table.Argument()+" takes the change back")
}

// OnlyTables is Only for the undo of a statement on complete tables. follows means that it is to follow the table.
func (u Undo) OnlyTables(statement *ddl.Statement, says map[string]string, follows bool) error {
	if follows {
		return noFollower(statement.Tables()[0], fmt.Sprintf("the undo of a %s gives tables their names back", statement.Kind))
	}
	if len(says) > 0 {
		return refuse(statement.Tables()[0], cannotUse("--map"), fmt.Sprintf("the last change is a %s", statement.Kind), "Leave out --map")
	}
	permitted := []string{"native-max-lock"} // the server renames files
	if statement.Kind == ddl.KindTruncate {
		permitted = append(permitted, "merge", "park")
	}
	return u.Only(statement.Tables()[0], fmt.Sprintf("a %s", statement.Kind), permitted...)
}

// tryFlags refuses flags of the undo of an ALTER that have no effect, and expressions that the server does not take. It
// writes nothing. says has the table's column for each column of the old table, "" for none.
func tryFlags(ctx context.Context, pool *dbconn.Pool, undo Undo, table, old *schema.Table, says map[string]string) error {
	if err := undo.Only(table.Name, "an ALTER that has kept the old table", byTable...); err != nil {
		return err
	}
	dropped := onlyIn(old, says)
	has := "The undo brings no column back"
	if len(dropped) > 0 {
		has = "Columns that the undo brings back: " + strings.Join(dropped, ", ")
	}
	for _, name := range slices.Sorted(maps.Keys(undo.Fills)) {
		flag, expr := "--undo-fill "+name+"="+undo.Fills[name], undo.Fills[name]
		if !slices.ContainsFunc(dropped, func(c string) bool { return strings.EqualFold(c, name) }) {
			return refuse(table.Name, cannotUse(flag), "the change has dropped no column "+name, has)
		}
		wrong, err := tryFill(ctx, pool, table.Name, expr)
		if err != nil {
			return failed(ReadFacts, table.Name, fmt.Errorf("try %s: %w", flag, err))
		}
		if wrong != "" {
			return refuse(table.Name, cannotUse(flag), wrong,
				"Give an expression over the columns of "+table.Name.String()+"; a text is in quotes: --undo-fill \""+name+"='new'\"")
		}
	}
	return nil
}

// tryFill returns why an expression cannot give new rows a value. It has nothing but its own row: in a WHERE clause, the server refuses
// aggregates, by which a sync of several rows would have one. A subquery reads a table that the lock of the swap does not have.
func tryFill(ctx context.Context, pool *dbconn.Pool, table schema.Name, expr string) (wrong string, err error) {
	if tokens, _ := token.Split(expr); slices.ContainsFunc(tokens, func(t token.Token) bool { return t.Is("SELECT") }) {
		return "it reads other rows", nil
	}
	rows, err := pool.DB().QueryContext(ctx, fmt.Sprintf("SELECT 1 FROM %s WHERE (%s) IS NULL LIMIT 0", table.Quoted(), expr))
	if err == nil {
		return "", rows.Close()
	}
	if dbconn.Number(err) == 0 { // the connection was lost
		return "", err
	}
	return dbconn.Message(err), nil
}

// onlyIn are the columns of the old table that the table does not have.
func onlyIn(old *schema.Table, says map[string]string) (names []string) {
	for _, c := range old.Columns {
		if source, settable := says[c.Name]; settable && source == "" {
			names = append(names, c.Name)
		}
	}
	return names
}

// cannotUse is what is refused about a flag that is useless.
func cannotUse(flag string) string { return "the undo cannot use " + flag }

// agrees refuses a --map that says otherwise than the record of a change: says has the former column, "" for none, for
// columns of the table.
func agrees(table schema.Name, says, pairs map[string]string) error {
	for _, fresh := range slices.Sorted(maps.Keys(says)) {
		if !strings.EqualFold(says[fresh], paired(pairs, fresh)) {
			return refuse(table, cannotUse("--map "+schema.Shell(says[fresh]+"="+fresh)), "the record of the change has the columns that it has renamed",
				"Leave out --map; or, if the record is wrong, drop it: midstream undo  --end "+table.Argument())
		}
	}
	return nil
}

// paired is the former name of a column; "" if it has none.
func paired(pairs map[string]string, fresh string) string {
	for name, former := range pairs {
		if strings.EqualFold(name, fresh) {
			return former
		}
	}
	return ""
}
