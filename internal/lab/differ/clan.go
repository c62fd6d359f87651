package differ

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// ownClan makes the random numbers of a clan others than those of other cases.
const ownClan = 1 << 52

// clan is tables that foreign keys join, what is written to them, and an ALTER of each that keeps them joined.
type clan struct {
	version string
	tables  []kin
	hold    bool
	writes  [stages][]string
}

// kin is a table of a clan.
type kin struct {
	name    string
	columns []string
	keys    []string
	foreign []foreign
	clauses []string
}

// foreign is a foreign key of a table.
type foreign struct{ name, column, parent, of, actions string }

// sql is the clause that declares it.
func (f foreign) sql() string {
	return fmt.Sprintf("CONSTRAINT %s FOREIGN KEY (%s) REFERENCES %s (%s)%s", f.name, f.column, f.parent, f.of, f.actions)
}

// ends is a type of both ends of a foreign key, another one that it can become, and values that both take.
type ends struct {
	from, to string
	values   []string
}

// numbers are values of the ends; the empty ones of texts are made of them.
func numbers(format string, n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprintf(format, i+1))
	}
	return list
}

func (s server) ends() []ends {
	list := []ends{
		{"INT", "BIGINT", append(numbers("%d", 12), "-5", "2147483647")},
		{"BIGINT", "INT", append(numbers("%d", 12), "-5")},
		{"SMALLINT", "INT UNSIGNED", numbers("%d", 14)},
		{"INT UNSIGNED", "BIGINT UNSIGNED", append(numbers("%d", 12), "4294967295")},
		{"DECIMAL(9,2)", "DECIMAL(12,2)", append(numbers("%d.25", 10), "-3.50", "0.00")},
		{"DECIMAL(9,0)", "BIGINT", numbers("%d", 12)},
		{"DATE", "DATETIME", numbers("'2020-02-%02d'", 14)},
		{"DATETIME", "DATETIME(3)", numbers("'2020-10-25 02:30:%02d'", 12)},
		{"TIMESTAMP", "TIMESTAMP(6)", numbers("'2020-10-20 02:30:%02d'", 12)},
		{"BINARY(4)", "VARBINARY(9)", numbers("'a%03d'", 12)},
		{"VARBINARY(6)", "VARBINARY(20)", append(numbers("'b%d'", 10), "''", "'b1 '")},
		{"YEAR", "SMALLINT", numbers("20%02d", 12)},
		{"TIME", "TIME(2)", numbers("'10:11:%02d'", 12)},
		{"INT", "INT", numbers("%d", 12)}, // other clauses change the table
		{"VARCHAR(8) CHARACTER SET ascii COLLATE ascii_bin", "VARCHAR(20) CHARACTER SET ascii COLLATE ascii_bin", numbers("'c%d'", 12)},
	}
	return list
}

// makeClan returns a random clan.
func makeClan(version string, seed uint64, number int) *clan {
	g := &gen{rand: rand.New(rand.NewPCG(seed, ownClan+uint64(number))), server: serverOf(version)}
	c := &clan{version: version, hold: g.in(3)}
	e := pick(g, g.server.ends())
	parent := kin{name: "t0", columns: []string{"k " + e.from + " NOT NULL"}, keys: []string{"PRIMARY KEY (k)"}}
	if g.in(4) {
		parent.columns, parent.keys = []string{"id INT NOT NULL AUTO_INCREMENT", "k " + e.from + " NOT NULL"}, []string{"PRIMARY KEY (id)", "UNIQUE KEY by_k (k)"}
	}
	if e.to != e.from {
		parent.clauses = append(parent.clauses, "MODIFY k "+e.to+" NOT NULL")
	}
	if g.in(3) {
		g.joins(&parent, "up", e, true, "self_0", parent.name)
	}
	c.tables = append(c.tables, parent)
	for i := range 1 + g.n(3) {
		child := kin{name: fmt.Sprintf("t%d", i+1), columns: []string{"id INT NOT NULL AUTO_INCREMENT"}, keys: []string{"PRIMARY KEY (id)"}}
		g.joins(&child, "p", e, g.in(2), fmt.Sprintf("named_%d", i), parent.name)
		c.tables = append(c.tables, child)
	}
	for i := range c.tables {
		g.more(&c.tables[i])
	}
	for range 10 + g.n(15) {
		c.writes[Before] = append(c.writes[Before], g.insertion(c, e))
	}
	for s := Early; s < stages; s++ {
		for range g.n(6) {
			c.writes[s] = append(c.writes[s], g.writing(c, e))
		}
	}
	return c
}

// joins gives a table a foreign key.
func (g *gen) joins(k *kin, column string, e ends, null bool, name, parent string) {
	attrs, actions := " NOT NULL", []string{"", " ON DELETE RESTRICT", " ON DELETE CASCADE", " ON DELETE CASCADE ON UPDATE CASCADE", " ON UPDATE CASCADE"}
	if null {
		attrs = " NULL"
		actions = append(actions, " ON DELETE SET NULL", " ON DELETE SET NULL ON UPDATE SET NULL", " ON UPDATE SET NULL")
	}
	k.columns = append(k.columns, column+" "+e.from+attrs)
	k.keys = append(k.keys, "KEY by_"+column+" ("+column+")")
	k.foreign = append(k.foreign, foreign{name, column, parent, "k", pick(g, actions)})
	if e.to != e.from {
		k.clauses = append(k.clauses, "MODIFY "+column+" "+e.to+attrs)
	}
}

// more gives a table other columns, and its ALTER other clauses.
func (g *gen) more(k *kin) {
	kinds := []string{"v INT NOT NULL DEFAULT 1", "s VARCHAR(20) DEFAULT 'x'", "d DATETIME NULL", "j INT AS (v + 1) VIRTUAL", "b VARBINARY(8) NULL"}
	if slices.ContainsFunc(k.foreign, func(f foreign) bool { return f.actions != "" }) && g.in(4) {
		kinds = append(kinds, "st INT AS (v * 2) STORED")
	}
	k.columns = append(k.columns, kinds[0])
	for _, c := range kinds[1:] {
		if g.in(2) {
			k.columns = append(k.columns, c)
		}
	}
	has := func(name string) bool {
		return slices.ContainsFunc(k.columns, func(c string) bool { return strings.HasPrefix(c, name+" ") })
	}
	for n, list := 0, []string{
		"ADD COLUMN added INT NOT NULL DEFAULT 7", "MODIFY v BIGINT NOT NULL DEFAULT 2", "ADD KEY by_v (v)", "ADD COLUMN first_one VARCHAR(9) FIRST",
		"MODIFY s VARCHAR(60) DEFAULT 'y'", "DROP COLUMN d", "ADD COLUMN twice INT AS (v * 2) STORED", "COMMENT 'changed'", "MODIFY b VARBINARY(30) NULL",
	}; n < 3 && (len(k.clauses) == 0 || g.in(2)); n++ {
		clause := pick(g, list)
		words := strings.Fields(clause)
		if (words[0] != "MODIFY" && words[0] != "DROP" || has(words[len(words[:2])-1]) || words[0] == "DROP" && has(words[2])) && !slices.Contains(k.clauses, clause) {
			if words[0] == "DROP" && !has(words[2]) {
				continue
			}
			k.clauses = append(k.clauses, clause)
		}
	}
	if len(k.clauses) == 0 {
		k.clauses = append(k.clauses, "COMMENT 'so that there is a clause'")
	}
}

// insertion is a new row of a table; its parent may be missing.
func (g *gen) insertion(c *clan, e ends) string {
	k := &c.tables[0]
	if !g.in(3) {
		k = &c.tables[g.n(len(c.tables))]
	}
	names, values := []string{"v"}, []string{fmt.Sprint(g.n(100))}
	for _, column := range k.columns {
		switch name, _, _ := strings.Cut(column, " "); name {
		case "k", "p":
			names, values = append(names, name), append(values, pick(g, e.values))
		case "up":
			if g.in(2) {
				names, values = append(names, name), append(values, pick(g, e.values))
			}
		case "s":
			names, values = append(names, name), append(values, pick(g, []string{"'é'", "NULL", "''", "'abc '"}))
		}
	}
	verb := pick(g, []string{"INSERT", "INSERT", "INSERT IGNORE", "REPLACE"})
	return fmt.Sprintf("%s INTO %s (%s) VALUES (%s)", verb, k.name, strings.Join(names, ", "), strings.Join(values, ", "))
}

// writing is a write to a table: many change or delete a parent's row, and with it those of its children.
func (g *gen) writing(c *clan, e ends) string {
	child := c.tables[1+g.n(len(c.tables)-1)]
	one := pick(g, e.values)
	switch g.n(8) {
	case 0:
		return "DELETE FROM t0 WHERE k = " + one
	case 1:
		return "UPDATE t0 SET k = " + pick(g, e.values) + " WHERE k = " + one
	case 2:
		return "UPDATE t0 SET v = v + 1 WHERE k >= " + one
	case 3:
		return "UPDATE " + child.name + " SET p = " + pick(g, e.values) + " WHERE p = " + one
	case 4:
		return fmt.Sprintf("UPDATE %s SET v = v + 1 WHERE id %% 3 = %d", child.name, g.n(3))
	case 5:
		return fmt.Sprintf("DELETE FROM %s WHERE id %% 5 = %d", child.name, g.n(5))
	}
	return g.insertion(c, e)
}

// names are the tables.
func (c *clan) names() (list []string) {
	for _, k := range c.tables {
		list = append(list, k.name)
	}
	return list
}

// create are the statements that make the tables.
func (c *clan) create() (list []string) {
	for _, k := range c.tables {
		lines := slices.Concat(k.columns, k.keys)
		for _, f := range k.foreign {
			lines = append(lines, f.sql())
		}
		list = append(list, "CREATE TABLE "+k.name+" ("+strings.Join(lines, ", ")+") CHARACTER SET utf8mb4")
	}
	return list
}

// native are the statements by which an operator of the server makes the change: without the foreign keys, which come back after it.
func (c *clan) native() (list []string) {
	for _, k := range c.tables {
		for _, f := range k.foreign {
			list = append(list, "ALTER TABLE "+k.name+" DROP FOREIGN KEY "+f.name)
		}
	}
	for _, k := range c.tables {
		list = append(list, "ALTER TABLE "+k.name+" ALGORITHM=COPY, "+strings.Join(k.clauses, ", "))
	}
	for _, k := range c.tables {
		for _, f := range k.foreign {
			list = append(list, "ALTER TABLE "+k.name+" ADD "+f.sql())
		}
	}
	return list
}

// String prints the clan as SQL.
func (c *clan) String() string {
	var b strings.Builder
	for _, text := range append(c.create(), c.writes[Before]...) {
		b.WriteString(text + ";\n")
	}
	for i, k := range c.tables {
		fmt.Fprintf(&b, "-- statement %d of the group: ALTER TABLE %s %s\n", i+1, k.name, strings.Join(k.clauses, ", "))
	}
	for s := Early; s < stages; s++ {
		for _, text := range c.writes[s] {
			fmt.Fprintf(&b, "-- stage %d: %s;\n", s, text)
		}
	}
	fmt.Fprintf(&b, "-- held: %v\n", c.hold)
	return b.String()
}
