package dbconn

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"midstream/internal/mysql/schema"
)

// inEmpty are the variables of theServers that cannot matter to a table without rows.
var inEmpty = []string{"auto_increment_increment", "auto_increment_offset", "gtid_domain_id"}

// fixed are the global variables that decide what a statement makes of a definition, and that no session sets.
var fixed = []string{
	"disabled_storage_engines", "innodb_compression_algorithm", "innodb_default_row_format", "innodb_encrypt_tables", "innodb_file_format",
	"innodb_file_per_table", "innodb_instant_alter_column_allowed", "innodb_large_prefix", "innodb_page_size", "lower_case_table_names",
	"table_encryption_privilege_check",
}

// Globals are the global values, as SQL literals, that decide what the server makes of a statement: by them, another server
// can be asked instead (Config.Globals).
func (p *Pool) Globals(ctx context.Context) (map[string]string, error) {
	names := append(operators(), "sql_mode", "time_zone")
	for _, v := range ours() {
		if v.value == theServers && !slices.Contains(inEmpty, v.name) {
			names = append(names, v.name)
		}
	}
	return p.literals(ctx, names)
}

// literals are the global values of those variables that the server has.
func (p *Pool) literals(ctx context.Context, names []string) (map[string]string, error) {
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !p.server.variables.has[name] })
	values := make([]any, len(names))
	asked := make([]string, len(names))
	for i, name := range names {
		values[i], asked[i] = new(any), "@@GLOBAL."+name
	}
	if err := p.db.QueryRowContext(ctx, "SELECT "+strings.Join(asked, ", ")).Scan(values...); err != nil {
		return nil, fmt.Errorf("read global variables: %w", err)
	}
	found := map[string]string{}
	for i, name := range names {
		switch value := (*values[i].(*any)).(type) {
		case nil:
			found[name] = "NULL"
		case int64:
			found[name] = strconv.FormatInt(value, 10)
		case uint64:
			found[name] = strconv.FormatUint(value, 10)
		case float64:
			found[name] = strconv.FormatFloat(value, 'g', -1, 64)
		default:
			found[name] = schema.Literal(fmt.Sprintf("%s", value))
		}
	}
	return found, nil
}

// Difference is a variable by which two servers may make different things of one statement.
type Difference struct {
	Name         string
	Here, There  string // SQL literals; "" if the server does not have the variable
	NotPermitted bool   // sessions could have the value, but the account may not set it
}

// Differences are what keeps a pool, which was opened by the Globals of another server, from standing in for it. The server is the one
// of p.
func (p *Pool) Differences(ctx context.Context, there *Pool) (list []Difference, err error) {
	here, err := p.Globals(ctx)
	if err != nil {
		return nil, err
	}
	names := slices.Clone(fixed)
	if here["time_zone"] == "'SYSTEM'" {
		names = append(names, "system_time_zone")
	}
	for name := range here {
		if there.Keeps(name) || !there.server.variables.has[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if here, err = p.literals(ctx, names); err != nil {
		return nil, err
	}
	others, err := there.literals(ctx, names)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if here[name] != others[name] {
			list = append(list, Difference{name, here[name], others[name], there.Keeps(name)})
		}
	}
	return list, nil
}

// inPlaceOf puts literals in the place of global values.
func inPlaceOf(globals map[string]string) *strings.Replacer {
	var pairs []string
	longestFirst := func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) }
	for _, name := range slices.SortedFunc(maps.Keys(globals), longestFirst) {
		pairs = append(pairs, "@@GLOBAL."+name, globals[name])
	}
	return strings.NewReplacer(pairs...)
}
