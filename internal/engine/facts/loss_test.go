package facts_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"midstream/internal/engine/facts"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// kinds are types, each with values that are lost or changed if any of the type's values are.
var kinds = []struct {
	kind   string
	values []string
}{
	{"tinyint", []string{"-128", "0", "7", "127"}},
	{"year", []string{"1901", "2000", "2155"}},
	{"mediumint", []string{"-8388608", "8388607", "127", "70"}},
	{"int", []string{"-2147483648", "0", "16777217", "70", "127"}},
	{"int unsigned", []string{"4294967295", "127", "70"}},
	{"bigint", []string{"9007199254740993", "-1", "127", "70"}},
	{"decimal(10,2)", []string{"1.25", "-1.5", "12345678.91", "3.00", "0.10", "1.05", "127"}},
	{"decimal(10,1)", []string{"1.2", "123456789.1", "127"}},
	{"decimal(10,0)", []string{"1", "1234567890", "127"}},
	{"decimal(20,2)", []string{"123456789012345678.12", "12345678.91", "127", "1.25"}},
	{"float", []string{"1.5", "0.1", "1.0000002e20", "16777216", "1234567", "127", "10.066", "1.23456", "100000008"}},
	{"float(7,2)", []string{"1.25", "12345.67", "-12345.67", "127"}},
	{"double", []string{"0.1", "1e100", "123456.789", "-2.2250738585072014e-308", "127", "-0.25", "1.5"}},
	{"double(12,2)", []string{"0.1", "123456.78", "127", "1234567890.12", "1.5"}},
	{"double(12,1)", []string{"0.1", "1234567.8", "127", "-12345678901.1", "1.5"}},
	{"bit(9)", []string{"b'101'", "b'1100101'"}},
	{"char(10)", []string{"'abc'", "'007'", "'1.50'", "'A'", "''", "'12:00'", "'20:00:01.9'", "'20-1-2'"}},
	{
		"varchar(10)",
		[]string{"'abc'", "'a  '", "'abcde     '", "'007'", "'1.50'", "'A'", "''", "'é'", "'2020-1-2'", "'12:00'", `'{ "a":1}'`, "'b,a'"},
	},
	{"varchar(6)", []string{"'abc'", "'a  '", "'01'", "'1:2'", "'1.50'", "'A'", "'20-1-2'"}},
	{"varchar(10) charset latin1", []string{"'abc'", "'é'", "'a '", "'007'", "'A'", "'1:2'", "'20-1-2'", "'[ 1]'"}},
	{
		"varchar(30)",
		[]string{"'2020-01-02 03:04:05.678901'", `'{"b": 1, "a": 2}'`, "'1e0'", "'a '", "'2020-01-02 03:04:05.6789019'", "'A'"},
	},
	{"text", []string{"'abc'", "'a  '", "'01'", "'A'", "'1.50'", "'1:2'", "'20-1-2'"}},
	{"binary(6)", []string{"'000001'", "'1:2:03'", "'20-1-2'", "'a     '"}},
	{"binary(8)", []string{"'00000001'", "'01:2:003'", "'20-1-002'", "'a       '"}},
	{"varbinary(8)", []string{"'abc'", "RPAD('a', 8, ' ')", "'a\\0'", "0xFF", "'a '", "'01'", "'1:2'", "'20-1-2'"}},
	{"blob", []string{"'abc'", "RPAD('a', 40, ' ')", "'a\\0'", "0xFF", "'a '", "'01'", "'1:2'", "'20-1-2'"}},
	{"enum('a','b','x')", []string{"'a'", "'x'"}},
	{"enum('x','a')", []string{"'x'"}},
	{"set('a','b')", []string{"''", "'a'", "'a,b'"}},
	{"set('b','a')", []string{"''", "'a,b'"}},
	{"date", []string{"'2020-01-02'", "'2020-01-03'"}},
	{"datetime", []string{"'2020-01-02 03:04:05'"}},
	{"datetime(3)", []string{"'2020-01-02 03:04:05.678'"}},
	{"datetime(6)", []string{"'2020-01-02 03:04:05.678901'"}},
	{"timestamp(3)", []string{"'2020-01-02 03:04:05.678'"}},
	{"time", []string{"'03:04:05'", "'-12:00:00'", "'400:00:00'", "'123:59:59'"}},
	{"time(3)", []string{"'03:04:05.678'", "'123:59:59.999'"}},
	{"json", []string{`'{"b": 1, "a": 2}'`, `'"x"'`, "'1.0'", "'[1,2]'", "'null'", "'12'"}},
}

// The plan lists a loss exactly if a strict INSERT .. SELECT, which a run uses, accepts a value
// without an error and the value doesn't come back unchanged.
func TestLossesAsTheServerConverts(t *testing.T) {
	onReleases(t, []string{"9.7", "8.0"}, func(t *testing.T, s *server) { // the releases that a run needs
		conn, err := s.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		c := converter{server: s, conn: conn}
		c.must("SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO', time_zone = '+00:00'")
		for i, k := range kinds {
			c.must(fmt.Sprintf("CREATE TABLE s%d (id INT PRIMARY KEY, v %s NULL)", i, k.kind))
			for _, copied := range []string{"t", "b"} {
				c.must(fmt.Sprintf("CREATE TEMPORARY TABLE %s%d (id INT PRIMARY KEY, v %s NULL)", copied, i, k.kind))
			}
			for n, v := range k.values {
				c.must(fmt.Sprintf("INSERT INTO s%d VALUES (%d, %s)", i, n, v))
			}
		}
		tables := make([]*schema.Table, len(kinds))
		for i := range kinds {
			tables[i] = s.load(fmt.Sprintf("s%d", i))
		}
		known, err := facts.Gather(t.Context(), s.DB, s.name("s"))
		if err != nil {
			t.Fatal(err)
		}
		for i, from := range kinds {
			for j, to := range kinds {
				alter, err := ddl.ParseClauses(tables[i].Name, "MODIFY v "+to.kind)
				if err != nil {
					t.Fatal(err)
				}
				p, err := plan.Make(known, tables[i], alter, plan.Options{})
				if err != nil {
					t.Fatal(err)
				}
				told := ""
				if n := slices.IndexFunc(p.Risks, func(r plan.Risk) bool { return r.Code == plan.CodeLossy }); n >= 0 {
					told = p.Risks[n].What
				}
				columns, err := p.Columns(tables[j])
				if err != nil {
					t.Fatal(err)
				}
				changed, taken := c.changed(i, j, columns.Mappings[1].Expr)
				unfilled := strings.HasPrefix(to.kind, "binary") // its length only fits these values
				if changed != "" && told == "" || changed == "" && told != "" && taken && !unfilled {
					t.Errorf("%s to %s: the server: %q; the plan: %q", from.kind, to.kind, changed, told)
				}
			}
		}
	})
}

// converter converts values between the tables of kinds: s to t, and back to b.
type converter struct {
	*server
	conn *sql.Conn
}

func (c converter) must(statement string) {
	c.t.Helper()
	if _, err := c.conn.ExecContext(c.t.Context(), statement); err != nil {
		c.t.Fatalf("%s: %v", statement, err)
	}
}

// changed returns a value of one kind that the other accepts and changes, or "". taken means that
// it accepts any value.
func (c converter) changed(i, j int, expr string) (value string, taken bool) {
	c.t.Helper()
	from, to := kinds[i].kind, kinds[j].kind
	textual := func(kind string) bool {
		return strings.Contains(kind, "char") || strings.Contains(kind, "text") || strings.Contains(kind, "binary") ||
			strings.Contains(kind, "blob")
	}
	bits := strings.HasPrefix(from, "bit") && !strings.HasPrefix(to, "binary")
	switch {
	case i == j:
		return "", taken
	case bits && textual(to), textual(from) && strings.HasPrefix(to, "bit"):
		// A number is written as digits, but digits are read as bytes.
		return "", taken
	case from == "json" && (strings.HasPrefix(to, "varbinary") || to == "blob"):
		return "", taken // its text is bytes, which JSON can't be
	case from == "year" && (strings.HasPrefix(to, "float") || strings.HasPrefix(to, "double")):
		return "", taken // 8.0.12 makes no year of it
	}
	equal := "s.v <=> b.v"
	if textual(from) || from == "json" {
		equal = "CAST(s.v AS BINARY) <=> CAST(b.v AS BINARY)"
	}
	for n, v := range kinds[i].values {
		c.must(fmt.Sprintf("DELETE FROM t%d", j))
		c.must(fmt.Sprintf("DELETE FROM b%d", i))
		if _, err := c.conn.ExecContext(
			c.t.Context(),
			fmt.Sprintf("INSERT INTO t%d SELECT id, %s FROM s%d WHERE id = %d", j, expr, i, n),
		); err != nil {
			continue // a run would stop
		}
		taken = true
		_, err := c.conn.ExecContext(c.t.Context(), fmt.Sprintf("INSERT INTO b%d SELECT * FROM t%d", i, j))
		var same bool
		if err == nil {
			err = c.conn.QueryRowContext(
				context.Background(), fmt.Sprintf("SELECT %s FROM s%d s JOIN b%d b USING (id)", equal, i, i),
			).Scan(
				&same,
			)
		}
		if !same {
			return fmt.Sprintf("%s (%v)", v, err), true
		}
	}
	return "", taken
}
