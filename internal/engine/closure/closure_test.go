package closure

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
	"midstream/internal/mysql/schema/token"
)

// world is a server: tables by their names, and the foreign keys between them.
type world map[schema.Name]*schema.Table

func nameOf(text string) schema.Name {
	name, err := schema.ParseName("", text)
	if err != nil {
		name = schema.Name{Schema: "d", Table: text}
	}
	return name
}

// table adds a table; each column is its name and its definition. Strings have the collation latin1_swedish_ci, or that of the definition.
func (w world) table(name string, columns ...[2]string) {
	t := &schema.Table{Name: nameOf(name), Collation: "latin1_swedish_ci", DataBytes: 1000, IndexBytes: 10}
	for _, c := range columns {
		column := schema.Column{Name: c[0], Definition: c[1]}
		tokens, _ := token.Split(c[1])
		k, _ := read(c[1], tokens)
		if k.collates() {
			column.Charset, column.Collation = "latin1", "latin1_swedish_ci"
			if k.collation != "" {
				column.Collation = k.collation
				column.Charset, _, _ = strings.Cut(k.collation, "_")
			}
		}
		if k.generated {
			column.Generated = schema.Stored
		}
		t.Columns = append(t.Columns, column)
	}
	w[t.Name] = t
}

// refer adds a foreign key: "child(a,b) parent(c,d)".
func (w world) refer(constraint, child, parent string) {
	split := func(text string) (schema.Name, []string) {
		table, columns, _ := strings.Cut(strings.TrimSuffix(text, ")"), "(")
		return nameOf(table), strings.Split(columns, ",")
	}
	fk := schema.ForeignKey{Constraint: constraint}
	fk.Child, fk.Columns = split(child)
	fk.Parent, fk.ParentColumns = split(parent)
	w[fk.Child].ForeignKeys = append(w[fk.Child].ForeignKeys, fk)
	if w[fk.Parent] != nil {
		w[fk.Parent].ReferencedBy = append(w[fk.Parent].ReferencedBy, fk)
	}
}

// closure completes statements and writes the result: a statement in a line, and a problem in a line.
func (w world) closure(t *testing.T, statements ...string) string {
	t.Helper()
	var alters []*ddl.Alter
	for _, text := range statements {
		a, err := ddl.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if a.Table.Schema == "" {
			a.Table.Schema = "d"
		}
		alters = append(alters, a)
	}
	c, err := Of(alters, Source{
		Load: func(name schema.Name) (*schema.Table, error) {
			if w[name] == nil {
				return nil, fmt.Errorf("%s: %w", name, schema.ErrNotFound)
			}
			return w[name], nil
		},
		Collation: func(charset string) string {
			return map[string]string{"utf8mb4": "utf8mb4_0900_ai_ci", "latin1": "latin1_swedish_ci"}[charset]
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, m := range c.Members {
		if len(m.Needs) > 0 {
			lines = append(lines, m.Alter.Table.Statement()+" "+m.Alter.Clauses)
		}
	}
	for _, p := range c.Problems {
		lines = append(lines, "! "+p.Table.String()+": "+p.What+": "+p.Why)
	}
	if c.Complete() != (len(lines) == 0) {
		t.Errorf("complete: %v, with %q", c.Complete(), lines)
	}
	return strings.Join(lines, "\n")
}

func (w world) wants(t *testing.T, want []string, statements ...string) {
	t.Helper()
	if got := w.closure(t, statements...); got != strings.Join(want, "\n") {
		t.Errorf("%q:\n%s\ninstead of\n%s", statements, got, strings.Join(want, "\n"))
	}
}

// shop has customers, with a reference to itself, orders of customers, invoices of orders in another database, and a table apart.
func shop() world {
	w := world{}
	w.table("customers", [2]string{"id", "int NOT NULL AUTO_INCREMENT"}, [2]string{"int", "int DEFAULT NULL COMMENT 'int, `int`'"}, [2]string{"name", "varchar(40)"})
	w.table("orders", [2]string{"id", "int NOT NULL"}, [2]string{"customer_id", "int NOT NULL DEFAULT '7' /*!80023 INVISIBLE */ COMMENT 'int(11) unsigned, '' \\\\'"})
	w.table("bill.in`v", [2]string{"customer", "int unsigned NOT NULL"}, [2]string{"cus`tomer", "int(11) NOT NULL"})
	w.table("apart", [2]string{"id", "int NOT NULL"})
	w.refer("self", "customers(int)", "customers(id)")
	w.refer("of_customer", "orders(customer_id)", "customers(id)")
	w.refer("of_order", "bill.in`v(cus`tomer)", "orders(customer_id)")
	return w
}

// TestL6_BothEndsGetOneType: a new type goes on through children, their children and the table itself, down or up, and nothing but the
// type of a definition changes.
func TestL6_BothEndsGetOneType(t *testing.T) {
	const (
		itself  = "MODIFY `int` bigint DEFAULT NULL COMMENT 'int, `int`'"
		orders  = "MODIFY `customer_id` bigint NOT NULL DEFAULT '7' INVISIBLE COMMENT 'int(11) unsigned, '' \\\\'"
		invoice = "`bill`.`in``v` MODIFY `cus``tomer` bigint NOT NULL"
		parent  = "MODIFY id BIGINT NOT NULL AUTO_INCREMENT"
	)
	shop().wants(t, []string{"d.customers " + parent + ", " + itself, "d.orders " + orders, invoice}, "ALTER TABLE customers "+parent)
	shop().wants(t, []string{"d.orders ADD COLUMN n INT, " + orders, "d.customers " + parent + ", " + itself, invoice},
		"ALTER TABLE orders ADD COLUMN n INT", "ALTER TABLE customers "+parent)
	shop().wants(t, []string{"d.orders " + orders, "d.customers MODIFY `id` bigint NOT NULL AUTO_INCREMENT, " + itself},
		"ALTER TABLE `bill`.`in``v` MODIFY `cus``tomer` int8")
	shop().wants(t, nil, "ALTER TABLE customers "+parent+", CHANGE `int` other BIGINT", "ALTER TABLE orders "+strings.Replace(orders, "INVISIBLE", "", 1),
		"ALTER TABLE "+strings.Replace(invoice, "MODIFY `cus", "MODIFY COLUMN `cus", 1))
	for _, same := range []string{"MODIFY id INTEGER(3) COMMENT 'bigint'", "MODIFY name TEXT", "ADD COLUMN x BIGINT", "MODIFY apart BIGINT"} {
		shop().wants(t, nil, "ALTER TABLE customers "+same)
	}
	shop().wants(t, nil, "ALTER TABLE apart MODIFY id BIGINT")
	shop().wants(t, nil, "ALTER TABLE missing MODIFY id BIGINT")
}

// TestL6_ADroppedForeignKeyNeedsNothing: neither the parent nor the child follows it.
func TestL6_ADroppedForeignKeyNeedsNothing(t *testing.T) {
	const parent, itself = "ALTER TABLE customers MODIFY id BIGINT NOT NULL", "d.customers MODIFY id BIGINT NOT NULL, MODIFY `int` bigint DEFAULT NULL COMMENT 'int, `int`'"
	for _, drop := range []string{"DROP FOREIGN KEY Of_Customer", "DROP CONSTRAINT `of_customer`"} {
		shop().wants(t, []string{itself}, parent, "ALTER TABLE orders "+drop)
	}
	shop().wants(t, []string{"`bill`.`in``v` MODIFY `cus``tomer` bigint NOT NULL"}, "ALTER TABLE orders MODIFY customer_id BIGINT, DROP FOREIGN KEY of_customer")
}

// TestL6_RenamedColumnsFollow: the statement renames the column that needs another type, or the column whose type it changes.
func TestL6_RenamedColumnsFollow(t *testing.T) {
	w := shop()
	w[nameOf("orders")].ReferencedBy, w[nameOf("customers")].ForeignKeys = nil, nil
	w[nameOf("customers")].ReferencedBy = w[nameOf("customers")].ReferencedBy[1:]
	const definition = "bigint NOT NULL DEFAULT '7' INVISIBLE COMMENT 'int(11) unsigned, '' \\\\'"
	w.wants(t, []string{"d.orders CHANGE `customer_id` `x``y` " + definition + " , ADD COLUMN n INT"},
		"ALTER TABLE customers CHANGE id no BIGINT NOT NULL", "ALTER TABLE orders RENAME COLUMN Customer_id TO `x``y` , ADD COLUMN n INT")
	w.wants(t, []string{"d.orders MODIFY `customer_id` " + definition + ", ORDER BY id, customer_id"},
		"ALTER TABLE customers MODIFY id BIGINT, RENAME COLUMN name TO n", "ALTER TABLE orders ORDER BY id, customer_id")
}

// TestL6_OneCharacterSet: strings get the collation, by MODIFY or CONVERT TO, and keep their own length.
func TestL6_OneCharacterSet(t *testing.T) {
	w := world{}
	w.table("p", [2]string{"code", "varchar(20) CHARACTER SET latin1 COLLATE latin1_swedish_ci NOT NULL DEFAULT 'COLLATE x'"}, [2]string{"n", "int"})
	w.table("c", [2]string{"code", "char(10) COMMENT 'CHARACTER SET latin1'"}, [2]string{"kind", "enum('int','a''b') NOT NULL"})
	w.table("e", [2]string{"kind", "enum('int','a''b') CHARACTER SET utf8mb3 COLLATE utf8_bin NOT NULL"})
	w.refer("of_p", "c(code)", "p(code)")
	char := func(collation string) []string {
		charset, _, _ := strings.Cut(collation, "_")
		return []string{"d.c MODIFY `code` char(10) CHARACTER SET " + charset + " COLLATE " + collation + " COMMENT 'CHARACTER SET latin1'"}
	}
	for clauses, want := range map[string][]string{
		"MODIFY code VARCHAR(20) CHARSET utf8mb4":                                     char("utf8mb4_0900_ai_ci"),
		"MODIFY code VARCHAR(20) COLLATE utf8mb4_bin":                                 char("utf8mb4_bin"),
		"MODIFY code VARCHAR(20) NOT NULL COMMENT 'COLLATE a' COLLATE 'latin1_bin'":   char("latin1_bin"),
		"MODIFY code VARCHAR(99)":                                                     nil,
		"MODIFY code VARCHAR(99), DEFAULT CHARACTER SET = utf8mb4":                    char("utf8mb4_0900_ai_ci"),
		"DEFAULT CHARACTER SET = utf8mb4":                                             nil,
		"CONVERT TO CHARACTER SET utf8mb4":                                            char("utf8mb4_0900_ai_ci"),
		"CONVERT TO CHARACTER SET 'utf8mb4' COLLATE `utf8mb4_bin`":                    char("utf8mb4_bin"),
		"CONVERT TO CHARSET latin1":                                                   nil,
		"CONVERT TO CHARSET utf8mb4, MODIFY code CHAR(9) CHARACTER SET latin1":        char("utf8mb4_0900_ai_ci"),
		"COMMENT 'CONVERT TO CHARACTER SET utf8mb4', ENGINE=InnoDB":                   nil,
		"MODIFY code INT NOT NULL":                                                    {"d.c MODIFY `code` int COMMENT 'CHARACTER SET latin1'"},
		"MODIFY code CHAR VARYING(9) /* CHARACTER SET utf8mb4 */ COMMENT 'x' -- utf8": nil,
	} {
		w.wants(t, want, "ALTER TABLE p "+clauses)
	}
	for clauses, word := range map[string]string{
		"MODIFY code VARCHAR(9) BINARY": "BINARY", "MODIFY code NATIONAL CHAR(9)": "NATIONAL", "CONVERT TO CHARACTER SET DEFAULT": "CHARACTER SET DEFAULT",
		"CONVERT TO CHARACTER SET binary": "CHARACTER SET binary", "MODIFY code CHAR(9) CHARACTER SET unknown": "CHARACTER SET unknown",
	} {
		w.wants(t, []string{"! d.p: Midstream does not read the new type of column code, of a foreign key: " + word}, "ALTER TABLE p "+clauses)
	}
	w.refer("of_e", "c(kind)", "e(kind)")
	w.wants(t, []string{"d.e MODIFY `kind` enum('int','a''b', 'c') CHARACTER SET latin1 COLLATE latin1_swedish_ci NOT NULL"}, "ALTER TABLE c MODIFY kind ENUM ('int','a''b', 'c')")
}

// TestL6_ColumnsThatCannotFollow: each has a reason, and no statement.
func TestL6_ColumnsThatCannotFollow(t *testing.T) {
	w := shop()
	w.table("other", [2]string{"id", "int NOT NULL"})
	w.refer("second", "orders(customer_id)", "other(id)")
	const parent = "ALTER TABLE customers MODIFY id BIGINT NOT NULL"
	contains := func(want string, statements ...string) {
		t.Helper()
		if got := w.closure(t, statements...); !slices.Contains(strings.Split(got, "\n"), want) {
			t.Errorf("%q:\n%s\nlacks\n%s", statements, got, want)
		}
	}
	contains("d.other MODIFY `id` bigint NOT NULL", parent)
	contains("! d.orders: column customer_id would need two types: bigint, and smallint by foreign key second of d.orders: "+
		"it is in several foreign keys, or is referred to by several", parent, "ALTER TABLE other MODIFY id SMALLINT")
	contains("! d.orders: column customer_id gets the type int, and foreign key of_customer of d.orders needs bigint: "+
		"both columns of a foreign key must have the same type", parent, "ALTER TABLE orders MODIFY customer_id INT COMMENT 'bigint'")
	contains("! d.orders: column customer_id needs the type bigint by foreign key of_customer of d.orders, and cannot get it: "+
		"the statement has an ALTER COLUMN for it", parent, "ALTER TABLE orders ALTER COLUMN customer_id SET DEFAULT 9")

	w = shop()
	w.table("computed", [2]string{"id", "int GENERATED ALWAYS AS (`x` + 1) STORED"}, [2]string{"zero", "int(5) unsigned zerofill NOT NULL"})
	w.table("parts", [2]string{"id", "int NOT NULL"})
	w[nameOf("parts")].Partitioned = true
	w.refer("fk1", "computed(id)", "customers(id)")
	w.refer("fk2", "parts(id)", "customers(id)")
	w.refer("fk3", "computed(zero)", "bill.in`v(customer)")
	const needs = "needs the type bigint by foreign key "
	contains("! d.computed: column id "+needs+"fk1 of d.computed, and cannot get it: it is a generated column", parent)
	contains("! d.parts: column id "+needs+"fk2 of d.parts, and cannot get it: its table has partitions, and InnoDB has no foreign keys there", parent)
	const zero = "ALTER TABLE `bill`.`in``v` MODIFY customer BIGINT "
	contains("! d.computed: column zero "+needs+"fk3 of d.computed, and cannot get it: it is ZEROFILL, which has no negative values", zero)
	contains("d.computed MODIFY `zero` bigint(5) unsigned zerofill NOT NULL", zero+"UNSIGNED")
}

// TestSeveralColumnsAreOneStatement: a foreign key of two columns, and a child of two parents.
func TestSeveralColumnsAreOneStatement(t *testing.T) {
	w := world{}
	w.table("p", [2]string{"a", "int"}, [2]string{"b", "decimal(10,2) unsigned"})
	w.table("c", [2]string{"x", "int DEFAULT (1 + 1)"}, [2]string{"y", "decimal(10,2) unsigned /* int */"})
	w.refer("fk", "c(y,x)", "p(b,a)")
	w.wants(t, []string{"d.c MODIFY `x` bigint DEFAULT (1 + 1), MODIFY `y` decimal(12,0)"}, "ALTER TABLE p MODIFY a BIGINT, MODIFY b NUMERIC(12)")
	w.wants(t, nil, "ALTER TABLE p MODIFY b DEC (10, 2) UNSIGNED")
}

// TestTheSizeOfAGroup: all tables count. An error of the server is the result.
func TestTheSizeOfAGroup(t *testing.T) {
	w := shop()
	a, err := ddl.Parse("ALTER TABLE d.customers MODIFY id BIGINT")
	if err != nil {
		t.Fatal(err)
	}
	c, err := Of([]*ddl.Alter{a}, Source{Load: func(n schema.Name) (*schema.Table, error) { return w[n], nil }})
	if err != nil || c.Bytes() != 3*1010 || !c.SelfReferring() {
		t.Errorf("%d bytes, %v", c.Bytes(), err)
	}
	lost := errors.New("lost")
	if _, err = Of([]*ddl.Alter{a}, Source{Load: func(schema.Name) (*schema.Table, error) { return nil, lost }}); !errors.Is(err, lost) {
		t.Error(err)
	}
}
