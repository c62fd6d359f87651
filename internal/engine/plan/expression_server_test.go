package plan

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// conversions are types with values, and the types that an ALTER gives them.
var conversions = []struct{ from, values, to string }{
	{"INT", "0|1|101|20200229|3", "ENUM('x','y','1')|SET('x','y','1')|DATE|DATETIME(3)|TIME"},
	{"INT(6) UNSIGNED ZEROFILL", "1|101", "ENUM('x','y','1')|DATE"},
	{"DECIMAL(20,2)", "0|0.6|-0.6|1.5|2.5|101|20200229.5", "ENUM('x','y','1')|SET('x','y')|BIT(64)|DATE|DATETIME"},
	{"DECIMAL(30,4)", "0|-0.05|-0.4999|-0.5|0.5|255.4999|255.5|18446744073709551615.4|18446744073709551616", "TINYINT UNSIGNED|INT UNSIGNED|BIGINT UNSIGNED|BIGINT"},
	{"DECIMAL(30,0)", "0|-1|9223372036854775807", "TINYINT UNSIGNED|BIGINT UNSIGNED"},
	{"DOUBLE", "-0.05|-0.5|0.5|255.4", "TINYINT UNSIGNED|BIGINT UNSIGNED"},
	{"DOUBLE", "0|0.4|0.6|-0.6|1.5|2.5|101|20200229.5|1e300", "ENUM('x','y','1')|SET('x','y')|BIT(64)|DATE|DATETIME|TIME(3)|YEAR"},
	{"FLOAT", "0|1.5|101", "ENUM('x','y')|BIT(8)|DATE|YEAR"},
	{"YEAR", "0|2020", "ENUM('x','2020')|DATE|DATETIME|VARCHAR(9)"},
	{"BIT(64)", "1|18446744073709551615", "DOUBLE|BIGINT UNSIGNED"},
	{"VARCHAR(40)", "''|'1'|'10'|'-1'|'x'|'1.50'|'7.5e0'|'18446744073709551615'", "BIT(64)|INT|BIGINT UNSIGNED"},
	{"VARBINARY(20)", "'1'|'x'|X'00'", "BIT(64)|INT"},
	{"TEXT", "'1'|'-0'", "BIT(64)"},
	{"DATE", "'2020-02-29'|'0000-00-00'|'2020-00-00'", "BIT(64)|YEAR|INT|BIGINT|DECIMAL(20,2)"},
	{"DATETIME(6)", "'1999-12-31 23:59:59.999999'|'0000-00-00'", "BIT(64)|BIGINT"},
	{"TIME(6)", "'-00:00:00.000001'|'23:59:59.999999'|'-838:59:59'", "BIT(64)|INT"},
}

// TestL11_ValuesAsTheServersAlterConvertsThem: a sync selects the values that the server's own
// ALTER gives, or is refused too. A server may refuse a value that its own ALTER truncates: 5.7 and
// 8.0 accept '1.5' as the bit 1.
func TestL11_ValuesAsTheServersAlterConvertsThem(t *testing.T) {
	for _, release := range []string{"9.7", "8.0", "5.7", "mariadb-10.11", "mariadb-11.8"} {
		t.Run(release, func(t *testing.T) {
			t.Parallel()
			db, name := mysqltest.Database(t, mysqltest.Server(t, release))
			conn, err := db.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			c := converter{T: t, db: db, conn: conn, database: name, mariadb: strings.HasPrefix(release, "mariadb")}
			for _, pair := range conversions {
				for _, to := range strings.Split(pair.to, "|") {
					c.compare(pair.from, to, strings.Split(pair.values, "|"))
				}
			}
		})
	}
}

// converter converts values in two ways, on one connection.
type converter struct {
	*testing.T
	db       *sql.DB
	conn     *sql.Conn
	database string
	mariadb  bool
}

func (c *converter) try(statement string) error {
	_, err := c.conn.ExecContext(context.Background(), statement)
	return err
}

func (c *converter) do(statements ...string) {
	c.Helper()
	for _, s := range statements {
		if err := c.try(s); err != nil {
			c.Fatalf("%s: %v", s, err)
		}
	}
}

// compare converts values of a type into another.
func (c *converter) compare(from, to string, values []string) {
	c.Helper()
	c.do("SET sql_mode = 'ALLOW_INVALID_DATES'", "DROP TABLE IF EXISTS pair", fmt.Sprintf("CREATE TABLE pair (f %s, t %s)", from, to))
	pair, err := schema.Load(c.Context(), c.db, schema.Name{Schema: c.database, Table: "pair"})
	if err != nil {
		c.Fatal(err)
	}
	f, _ := pair.Column("f")
	t, _ := pair.Column("t")
	selected := expression(f, t, c.mariadb)
	for _, value := range values {
		c.do(
			"SET sql_mode = 'ALLOW_INVALID_DATES'", "DROP TEMPORARY TABLE IF EXISTS source, altered, shadow",
			"CREATE TEMPORARY TABLE source (id INT, f "+from+")", "INSERT INTO source VALUES (1, "+value+")",
			"CREATE TEMPORARY TABLE altered (id INT, f "+from+")", "INSERT INTO altered SELECT * FROM source",
			"CREATE TEMPORARY TABLE shadow (id INT, f "+to+")", "SET sql_mode = 'STRICT_ALL_TABLES'",
		)
		refused := c.try("ALTER TABLE altered MODIFY f " + to)
		synced := c.try("INSERT INTO shadow SELECT id, " + selected + " FROM source")
		switch {
		case refused != nil && synced != nil, refused == nil && synced != nil && strings.Contains(value, ".5"):
			continue
		case synced != nil || refused != nil:
			c.Errorf("%s of %s to %s: the ALTER gives %v (%d), and %s gives %v",
				value, from, to, refused, dbconn.Number(refused), selected, synced)
			continue
		}
		if is, want := c.read("shadow"), c.read("altered"); is != want {
			c.Errorf("%s of %s to %s: the ALTER makes %s, and %s makes %s", value, from, to, want, selected, is)
		}
	}
}

// read shows the only value of a table, as a text and as a number.
func (c *converter) read(table string) string {
	c.Helper()
	var text string
	query := "SELECT CONCAT_WS('/', HEX(f), HEX(CAST(f AS CHAR)), f + 0) FROM " + table
	if err := c.conn.QueryRowContext(context.Background(), query).Scan(&text); err != nil {
		c.Fatal(err)
	}
	return text
}
