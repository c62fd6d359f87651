package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"midstream/internal/ddl"
	"midstream/internal/schema"
)

// good returns facts of a server on which everything is as it should be.
func good() *Facts {
	return &Facts{
		Version: Version{Major: 9, Minor: 7, Patch: 4, Text: "9.7.4"}, UUID: "u", ServerID: 1, User: "app@%",
		LogBin: true, BinlogFormat: "ROW", RowImage: "FULL", CommitOrder: true, LogReplicaUpdates: true,
		PerformanceSchema: true, MDLInstrument: true, TimeZone: "SYSTEM", AutoincLockMode: 2,
		Grants: grantsOf("GRANT ALL PRIVILEGES ON *.* TO `app`@`%`"),
	}
}

// column makes a column out of "name type", with "?" behind the type if it may be NULL.
func column(definition string) schema.Column {
	name, kind, _ := strings.Cut(definition, " ")
	c := schema.Column{Name: name, Nullable: strings.HasSuffix(kind, "?")}
	c.Type = strings.TrimSuffix(kind, "?")
	c.DataType = c.Type
	switch c.Type {
	case "varchar":
		c.Charset, c.Collation, c.Length = "utf8mb4", "utf8mb4_0900_ai_ci", 40
	case "text":
		c.Charset, c.Collation, c.Length = "utf8mb4", "utf8mb4_0900_ai_ci", 65535
	case "binary":
		c.Charset, c.Collation, c.Length = "binary", "binary", 16
	}
	return c
}

// key makes a key out of "name: column, column(3), column DESC, (expression)".
func index(definition string) schema.Key {
	name, parts, _ := strings.Cut(definition, ": ")
	k := schema.Key{Visible: true, Type: "BTREE"}
	for _, word := range strings.Fields(name) {
		switch word {
		case "UNIQUE":
			k.Unique = true
		case "INVISIBLE":
			k.Visible = false
		case "FULLTEXT", "HASH":
			k.Type = word
		default:
			k.Name = word
		}
	}
	k.Unique = k.Unique || k.Name == "PRIMARY"
	for _, part := range strings.Split(parts, ", ") {
		p := schema.KeyPart{Column: part}
		if before, ok := strings.CutSuffix(part, " DESC"); ok {
			p.Column, p.Descending = before, true
		}
		if before, ok := strings.CutSuffix(p.Column, "(3)"); ok {
			p.Column, p.Prefix = before, 3
		}
		if strings.HasPrefix(part, "(") {
			p = schema.KeyPart{Expression: part}
		}
		k.Parts = append(k.Parts, p)
	}
	return k
}

// orders makes shop.orders out of columns and keys.
func orders(columns []string, keys ...string) *schema.Table {
	t := &schema.Table{Name: schema.Name{Schema: "shop", Table: "orders"}, Engine: "InnoDB"}
	for i, c := range columns {
		t.Columns = append(t.Columns, column(c))
		t.Columns[i].Ordinal = i
	}
	for _, k := range keys {
		t.Keys = append(t.Keys, index(k))
	}
	return t
}

var usual = []string{"id int", "a int", "b varchar", "c int?"}

func alter(t *testing.T, clauses string) *ddl.Alter {
	t.Helper()
	a, err := ddl.Parse("ALTER TABLE shop.orders " + clauses)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// codes returns the codes of the risks, in order, each once.
func codes(risks []Risk) []string {
	var all []string
	for _, r := range risks {
		if !slices.Contains(all, string(r.Code)) {
			all = append(all, string(r.Code))
		}
	}
	return all
}

func TestMakePlansAPlainChange(t *testing.T) {
	table := orders(usual, "PRIMARY: id", "b: b")
	p, err := Make(good(), table, alter(t, "ADD COLUMN note VARCHAR(40), ADD INDEX (note)"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Risks) > 0 {
		t.Errorf("risks: %v", p.Risks)
	}
	if p.Key.Name != "PRIMARY" || !slices.Equal(p.Key.Columns(), []string{"id"}) {
		t.Errorf("key %+v", p.Key)
	}
	if !p.Server.RenameUnderLock || !p.Server.CommitOrder || !p.Server.MetadataLocks {
		t.Errorf("server %+v", p.Server)
	}
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	var back Plan
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(*p, back) {
		t.Errorf("JSON changed the plan:\n%+v\n%+v", *p, back)
	}
}

// foreign is a foreign key of another schema's table that refers to shop.orders.
var foreign = schema.ForeignKey{
	Constraint: "f",
	Child:      schema.Name{Schema: "far", Table: "items"},
	Parent:     schema.Name{Schema: "shop", Table: "orders"},
}

var mariaDB = Version{MariaDB: true, Major: 10, Minor: 11}

// child gives the table a foreign key, and parent one that refers to it.
func child(_ *Facts, t *schema.Table) {
	t.Keys = append(t.Keys, index("a: a"))
	t.ForeignKeys = []schema.ForeignKey{
		{Constraint: "f", Child: t.Name, Columns: []string{"a"}, Parent: t.Name.Sibling("p"), ParentColumns: []string{"id"},
			OnDelete: "NO ACTION", OnUpdate: "NO ACTION"},
	}
}

func parent(_ *Facts, t *schema.Table) {
	t.ReferencedBy = []schema.ForeignKey{
		{Constraint: "f", Child: t.Name.Sibling("c"), Columns: []string{"x"}, Parent: t.Name, ParentColumns: []string{"id"},
			OnDelete: "NO ACTION", OnUpdate: "NO ACTION"},
	}
}

func cascades(f *Facts, t *schema.Table) {
	child(f, t)
	t.ForeignKeys[0].OnDelete, f.Version = "SET NULL", Version{Major: 9, Minor: 7}
}

func triggered(f *Facts, t *schema.Table) {
	t.Triggers = []schema.Trigger{
		{Name: "x", Timing: "BEFORE", Event: "INSERT", Definer: f.User, Client: "utf8mb4", Database: "utf8mb4_bin",
			Create: []byte("CREATE DEFINER=`u`@`%` TRIGGER `x` BEFORE INSERT ON `orders` FOR EACH ROW SET NEW.A = NEW.c, @said = 'NEW.b'")},
	}
	f.Collation, f.TrustCreators = "utf8mb4_bin", true
}

func dependents(f *Facts, t *schema.Table) {
	f.Dependents = &Dependents{
		All: []Dependent{
			{Kind: "view", Name: schema.Name{Schema: "far", Table: "v"}, Text: "select `shop`.`orders`.`a` AS `x` from `shop`.`orders`"},
			{Kind: "view", Name: schema.Name{Schema: "far", Table: "w"}, Text: "select `shop`.`orders`.`id` AS `a` from `shop`.`orders`"},
			{Kind: "procedure", Name: schema.Name{Schema: "shop", Table: "p"}, Text: "BEGIN SELECT b FROM orders; END"},
			{Kind: "trigger", Name: schema.Name{Schema: "shop", Table: "g"}, Table: "k", Text: "UPDATE orders SET a = 1"},
		},
		Hidden: []string{"function shop.f"},
		Grants: []ColumnGrant{{"'u'@'%'", "SELECT", "a"}, {"'u'@'%'", "SELECT", "id"}},
	}
}

// TestDependents: each object is named with what it uses, and nothing more is said than is known.
func TestDependents(t *testing.T) {
	facts, table := good(), orders(usual, "PRIMARY: id")
	dependents(facts, table)
	p, err := Make(facts, table, alter(t, "DROP a, RENAME COLUMN b TO z"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range p.Risks {
		got = append(got, r.What)
	}
	if want := []string{
		"view far.v uses column a, which the ALTER drops",
		"procedure shop.p names the table and a column b, which will be z",
		"trigger shop.g of k uses column a, which the ALTER drops",
		"'u'@'%' has SELECT on column a, which the ALTER drops",
		"the texts of 1 object can't be read by the account: function shop.f",
	}; !slices.Equal(
		got,
		want,
	) {
		t.Errorf("risks:\n%s", strings.Join(got, "\n"))
	}
}

// judgements each change one thing of a good world and name the codes that follow.
var judgements = []struct {
	name            string
	clauses         string
	change          func(f *Facts, t *schema.Table)
	blocking, risks []string
}{
	{"old server", "", func(f *Facts, t *schema.Table) { f.Version = Version{Major: 5, Minor: 6} }, []string{"version"}, nil},
	{"MariaDB", "", func(f *Facts, t *schema.Table) { f.Version = Version{Major: 10, Minor: 11, MariaDB: true} }, nil, nil},
	{"no binlog", "", func(f *Facts, t *schema.Table) { f.LogBin, f.BinlogFormat = false, "MIXED" }, nil, []string{"capture-trigger"}},
	{"mixed", "", func(f *Facts, t *schema.Table) { f.BinlogFormat = "MIXED" }, nil, []string{"capture-trigger"}},
	{"filtered out", "", func(f *Facts, t *schema.Table) { f.BinlogSkipDB = []string{"a", "shop"} }, nil, []string{"capture-trigger"}},
	{"not filtered in", "", func(f *Facts, t *schema.Table) { f.BinlogDoDB = []string{"a"} }, nil, []string{"capture-trigger"}},
	{
		"statements", "", func(f *Facts, t *schema.Table) { f.BinlogFormat = "STATEMENT" }, []string{"binlog-format"},
		[]string{"capture-trigger"},
	},
	{"mixed on a replica", "", func(f *Facts, t *schema.Table) {
		f.BinlogFormat, f.IsReplica, f.LogReplicaUpdates = "MIXED", true, true
	}, []string{"binlog-format"}, []string{"replica"}},
	{"mixed, and cascades into the table", "", func(f *Facts, t *schema.Table) {
		f.BinlogFormat = "MIXED"
		t.ForeignKeys = []schema.ForeignKey{
			{
				Constraint:    "up",
				Child:         t.Name,
				Parent:        schema.Name{Schema: "shop", Table: "p"},
				OnDelete:      "CASCADE",
				Columns:       []string{"b"},
				ParentColumns: []string{"b"},
			},
		}
	}, []string{"binlog-format"}, []string{"capture-trigger", "constraints"}},
	{"filtered in", "", func(f *Facts, t *schema.Table) { f.BinlogDoDB = []string{"a", "shop"} }, nil, nil},
	{"commit order", "", func(f *Facts, t *schema.Table) { f.CommitOrder = false }, nil, []string{"commit-order"}},
	{"read only", "", func(f *Facts, t *schema.Table) { f.ReadOnly = true }, []string{"read-only"}, nil},
	{"super read only", "", func(f *Facts, t *schema.Table) { f.SuperReadOnly = true }, []string{"read-only"}, nil},
	{"replica", "", func(f *Facts, t *schema.Table) { f.IsReplica = true }, nil, []string{"replica"}},
	{
		"replica at work", "",
		func(f *Facts, t *schema.Table) { f.IsReplica, f.Replicating, f.Following = true, true, true },
		[]string{"follows-another"}, nil,
	},
	{"silent replica", "", func(f *Facts, t *schema.Table) { f.IsReplica, f.LogReplicaUpdates = true, false }, []string{"replica"}, nil},
	{"galera", "", func(f *Facts, t *schema.Table) { f.Galera = true }, []string{"cluster"}, nil},
	{"multi-primary", "", func(f *Facts, t *schema.Table) { f.MultiPrimary = true }, []string{"cluster"}, nil},
	{"no performance_schema", "", func(f *Facts, t *schema.Table) { f.PerformanceSchema = false }, nil, []string{"metadata-locks"}},
	{"no performance_schema, two sessions", "", func(f *Facts, t *schema.Table) {
		f.PerformanceSchema, f.Version = false, Version{Major: 8, Patch: 12, Text: "8.0.12"}
	}, nil, []string{"metadata-locks"}},
	{"no instrument", "", func(f *Facts, t *schema.Table) { f.MDLInstrument = false }, nil, []string{"metadata-locks"}},
	{"no grants", "", func(f *Facts, t *schema.Table) { f.Grants = Grants{} }, []string{"grants"}, []string{"capture-trigger", "grants"}},
	{
		"hidden instrument", "",
		func(f *Facts, t *schema.Table) { f.MDLInstrument, f.InstrumentUnknown = false, true }, []string{"grants"},
		nil,
	},
	{"system schema", "", func(f *Facts, t *schema.Table) { t.Name.Schema = "mysql" }, []string{"system-schema", "other-table"}, nil},
	{"artefact", "", func(f *Facts, t *schema.Table) { t.Comment = "midstream shadow of shop.x" }, []string{"artefact"}, nil},
	{"MyISAM", "", func(f *Facts, t *schema.Table) { t.Engine = "MyISAM" }, []string{"engine"}, nil},
	{"own foreign key", "", child, nil, []string{"constraints"}},
	{"referenced", "", parent, nil, []string{"constraints"}},
	{
		"own foreign key, no rename under the lock", "",
		func(f *Facts, t *schema.Table) { child(f, t); f.Version = Version{Major: 8, Patch: 12} },
		[]string{"foreign-key"}, nil,
	},
	{
		"referenced, no rename under the lock", "",
		func(f *Facts, t *schema.Table) { parent(f, t); f.Version = Version{Major: 8, Patch: 12} },
		[]string{"referenced"}, nil,
	},
	{
		"own foreign key, MySQL 5.7", "",
		func(f *Facts, t *schema.Table) { child(f, t); f.Version = Version{Major: 5, Minor: 7, Patch: 22} }, nil,
		[]string{"constraints"},
	},
	{"own foreign key, MariaDB", "", func(f *Facts, t *schema.Table) { child(f, t); f.Version = mariaDB }, nil, []string{"constraints"}},
	{
		"cascades, MariaDB", "", func(f *Facts, t *schema.Table) { cascades(f, t); f.Version = mariaDB }, nil,
		[]string{"cascades", "constraints"},
	},
	{"foreign key to itself, MariaDB", "", func(f *Facts, t *schema.Table) {
		child(f, t)
		f.Version, t.ForeignKeys[0].Parent = mariaDB, t.Name
	}, []string{"foreign-key"}, nil},
	{
		"referenced, MariaDB", "", func(f *Facts, t *schema.Table) { parent(f, t); child(f, t); f.Version = mariaDB },
		[]string{"referenced"}, nil,
	},
	{
		"cascades before 9.6", "",
		func(f *Facts, t *schema.Table) { cascades(f, t); f.Version = Version{Major: 9, Minor: 5} }, nil,
		[]string{"cascades", "constraints"},
	},
	{"cascades", "", cascades, nil, []string{"constraints"}},
	{
		"cascades of the engine", "", func(f *Facts, t *schema.Table) { cascades(f, t); f.Foreign.Native = true },
		nil, []string{"cascades", "constraints"},
	},
	{"cascades of the engine, from itself", "", func(f *Facts, t *schema.Table) {
		cascades(f, t)
		f.Foreign.Native, t.ForeignKeys[0].Parent = true, t.Name
	}, []string{"foreign-key"}, []string{"constraints"}},
	{"cascades of the engine, into the key", "", func(f *Facts, t *schema.Table) {
		cascades(f, t)
		f.Foreign.Native, t.ForeignKeys[0].OnUpdate, t.ForeignKeys[0].Columns = true, "CASCADE", []string{"id"}
	}, []string{"foreign-key"}, []string{"constraints"}},
	{
		"cascades from a primary", "", func(f *Facts, t *schema.Table) { cascades(f, t); f.IsReplica = true },
		[]string{"foreign-key"}, []string{"replica", "constraints"},
	},
	{
		"cascades to others", "",
		func(f *Facts, t *schema.Table) { parent(f, t); t.ReferencedBy[0].OnDelete = "CASCADE" }, nil,
		[]string{"constraints"},
	},
	{"parent that is not there", "", func(f *Facts, t *schema.Table) {
		child(f, t)
		f.Foreign.Missing = []schema.Name{t.ForeignKeys[0].Parent}
	}, []string{"foreign-key"}, []string{"constraints"}},
	{"column of a constraint dropped", "DROP a", child, []string{"foreign-key"}, []string{"constraints"}},
	{"column of a constraint of another type", "MODIFY a BIGINT NOT NULL", child, []string{"foreign-key"}, []string{"constraints"}},
	{"column of a constraint as it was", "CHANGE a a2 INT NOT NULL DEFAULT 7", child, nil, []string{"constraints"}},
	{"index of a constraint dropped", "DROP INDEX a", child, []string{"foreign-key"}, []string{"constraints"}},
	{"index of a constraint replaced", "DROP INDEX a, ADD INDEX (a, b)", child, nil, []string{"constraints"}},
	{
		"key that is referred to dropped", "DROP PRIMARY KEY, ADD PRIMARY KEY (a)", parent,
		[]string{"referenced", "no-key"}, []string{"constraints", "unique"},
	},
	{
		"key that is referred to replaced", "DROP PRIMARY KEY, ADD UNIQUE (id)", parent, nil,
		[]string{"constraints", "unique", "no-primary-key"},
	},
	{"column that is referred to of another type", "MODIFY id BIGINT NOT NULL", parent, []string{"foreign-key"}, []string{"constraints"}},
	{"partitions of a child", "PARTITION BY HASH (id)", child, []string{"foreign-key"}, []string{"constraints"}},
	{"foreign key dropped", "DROP FOREIGN KEY f", child, []string{"foreign-key"}, []string{"constraints"}},
	{"foreign key dropped, with its column", "DROP FOREIGN KEY f, DROP COLUMN a", child, nil, []string{"constraints"}},
	{"foreign key dropped as a constraint", "ADD z INT, DROP CONSTRAINT f", child, nil, []string{"constraints"}},
	{"foreign key dropped that is not there", "ADD z INT, DROP FOREIGN KEY g", child, []string{"foreign-key"}, []string{"constraints"}},
	{
		"cascades of the engine dropped", "ADD z INT, DROP FOREIGN KEY f",
		func(f *Facts, t *schema.Table) { cascades(f, t); f.Foreign.Native = true }, []string{"foreign-key"},
		[]string{"constraints"},
	},
	{
		"referenced, seen by InnoDB", "",
		func(f *Facts, t *schema.Table) { f.Referencing = []schema.ForeignKey{foreign} }, []string{"referenced"}, nil,
	},
	{"triggers", "", triggered, nil, []string{"triggers"}},
	{
		"triggers that can't be read", "",
		func(f *Facts, t *schema.Table) { t.Triggers = []schema.Trigger{{Name: "x"}} }, []string{"trigger"},
		[]string{"triggers"},
	},
	{"column of a trigger dropped", "DROP a", triggered, []string{"trigger-column"}, []string{"triggers"}},
	{"column of a trigger renamed", "RENAME COLUMN a TO z", triggered, []string{"trigger-column"}, []string{"triggers"}},
	{"column of a trigger with another type", "MODIFY a BIGINT NOT NULL", triggered, nil, []string{"triggers"}},
	{"column that a trigger does not use", "DROP b", triggered, nil, []string{"triggers"}},
	{"names of a column changed", "DROP a, RENAME COLUMN b TO z", dependents, nil, []string{"dependent"}},
	{"names of no column changed", "ADD z INT", dependents, nil, nil},
	{
		"stand-in of a trigger", "",
		func(f *Facts, t *schema.Table) { triggered(f, t); t.Triggers[0].Name = "midstream_0123456789abcdef" },
		[]string{"trigger"}, []string{"triggers"},
	},
	{
		"triggers of another collation of the database", "",
		func(f *Facts, t *schema.Table) { triggered(f, t); f.Collation = "latin1_bin" }, []string{"trigger"},
		[]string{"triggers"},
	},
	{"checks", "", func(f *Facts, t *schema.Table) { t.Checks = []schema.Check{{Name: "orders_chk_1"}} }, nil, nil},
	{"named checks", "", func(f *Facts, t *schema.Table) { t.Checks = []schema.Check{{Name: "positive"}} }, nil, []string{"check-name"}},
	{"checks of a long name", "", func(f *Facts, t *schema.Table) {
		t.Name.Table = strings.Repeat("o", 60)
		t.Checks = []schema.Check{{Name: "positive"}}
	}, []string{"check-name", "other-table"}, []string{"check-name"}},
	{"leftover", "", func(f *Facts, t *schema.Table) {
		f.Taken = []Taken{{schema.Name{Schema: "shop", Table: "orders_shadow"}, "midstream shadow of shop.orders"}}
	}, []string{"leftover"}, nil},
	{"at work", "", func(f *Facts, t *schema.Table) {
		f.RunBy = 7
		f.Taken = []Taken{{schema.Name{Schema: "shop", Table: "orders_shadow"}, "midstream shadow of shop.orders"}}
	}, []string{"at-work"}, nil},
	{"taken", "", func(f *Facts, t *schema.Table) {
		f.Taken = []Taken{{schema.Name{Schema: "shop", Table: "orders_shadow"}, "my orders"}}
	}, []string{"name-taken"}, nil},
	{"taken by another run", "", func(f *Facts, t *schema.Table) {
		f.Taken = []Taken{{schema.Name{Schema: "shop", Table: "orders_shadow"}, "midstream shadow of shop.other"}}
	}, []string{"name-taken"}, nil},
	{"a former source", "", func(f *Facts, t *schema.Table) {
		f.Taken = []Taken{{schema.Name{Schema: "shop", Table: "orders_old"}, "my orders"}}
	}, nil, nil},
	{"former sources everywhere", "", func(f *Facts, t *schema.Table) {
		for _, old := range OldNames(t.Name) {
			f.Taken = append(f.Taken, Taken{old, "my orders"})
		}
	}, []string{"name-taken"}, nil},
	{"another letter case", "", func(f *Facts, t *schema.Table) {
		f.Taken = []Taken{{schema.Name{Schema: "shop", Table: "Orders_old"}, ""}}
	}, nil, nil},

	{"rename", "RENAME TO x", nil, []string{"renames-table"}, nil},
	{"foreign key", "ADD FOREIGN KEY (a) REFERENCES p (id)", nil, []string{"foreign-key"}, nil},
	{"engine", "ENGINE=MyISAM", nil, []string{"engine"}, nil},
	{"same engine", "ENGINE=innodb", nil, nil, nil},
	{"drop partition", "DROP PARTITION p0, p1", nil, []string{"partition"}, nil},
	{"truncate partition", "TRUNCATE PARTITION p0", nil, []string{"partition"}, nil},
	{"exchange partition", "EXCHANGE PARTITION p0 WITH TABLE x", nil, []string{"partition"}, nil},
	{"discard partition", "DISCARD PARTITION p0 TABLESPACE", nil, []string{"partition"}, nil},
	{"add partition", "ADD PARTITION (PARTITION p VALUES LESS THAN (10))", nil, nil, nil},
	{"reorganize partition", "REORGANIZE PARTITION a, b INTO (PARTITION p VALUES LESS THAN (10))", nil, nil, nil},
	{"partition by", "PARTITION BY HASH (id)", nil, nil, nil},
	{"discard", "DISCARD TABLESPACE", nil, []string{"tablespace"}, nil},
	{"secondary", "SECONDARY_LOAD", nil, []string{"secondary-engine"}, nil},
	{"order by", "ORDER BY a, b", nil, nil, []string{"order-by"}},
	{"unique", "ADD UNIQUE (a)", nil, nil, []string{"unique"}},
	{"numbered", "ADD d INT AUTO_INCREMENT UNIQUE", nil, nil, []string{"auto-increment"}},
	{"numbered by another word", "ADD d SERIAL", nil, nil, []string{"auto-increment"}},
	{"numbered, in a key of two", "ADD d INT AUTO_INCREMENT, ADD UNIQUE (a, D), ADD KEY (d)", nil, nil, []string{"auto-increment"}},
	{
		"numbered, beside a unique key", "DROP PRIMARY KEY, ADD d INT AUTO_INCREMENT PRIMARY KEY, ADD UNIQUE (id)",
		nil, nil, []string{"unique", "auto-increment"},
	},
	{"numbered, not parsed", "ADD d INT AUTO_INCREMENT UNIQUE INVISIBLE", nil, nil, []string{"unparsed", "auto-increment"}},
	{"numbers for a column", "MODIFY a INT AUTO_INCREMENT UNIQUE", nil, nil, []string{"unique", "auto-increment"}},
	{"numbers for a column with NULL", "MODIFY c INT AUTO_INCREMENT, ADD KEY (c)", nil, []string{"auto-increment"}, nil},
	{
		"numbers as before", "CHANGE a b2 BIGINT AUTO_INCREMENT, ADD KEY (b2)",
		func(f *Facts, t *schema.Table) { t.Columns[1].AutoIncrement = true }, nil, nil,
	},
	{"instant", "ADD d INT, ALGORITHM=INSTANT", nil, nil, []string{"algorithm"}},
	{"unparsed", "ADD d INT INVISIBLE", nil, nil, []string{"unparsed"}},
	{"unparsed and renames", "ADD d INT INVISIBLE, RENAME TO x", nil, []string{"renames-table"}, []string{"unparsed"}},
	{"unknown column", "DROP x, MODIFY y INT, CHANGE z w INT, RENAME COLUMN v TO u", nil, []string{"column"}, nil},
	{"known column", "ADD A INT", nil, []string{"column"}, nil},
	{"twice", "CHANGE a x INT, DROP A", nil, []string{"column"}, nil},
	{"swap", "RENAME COLUMN a TO b, RENAME COLUMN b TO a", nil, nil, nil},
	{"renamed to a known column", "RENAME COLUMN a TO B", nil, []string{"column"}, nil},
	{"renamed in a circle", "CHANGE a b INT, CHANGE b c VARCHAR(40), RENAME COLUMN c TO a", nil, nil, nil},
	{"other letter case", "CHANGE a A INT, RENAME COLUMN b TO B, ALTER C SET DEFAULT 1", nil, nil, nil},
	{"added twice", "ADD d INT, ADD D INT", nil, []string{"column"}, nil},
	{"added and renamed to", "ADD d INT, RENAME COLUMN a TO D", nil, []string{"column"}, nil},
	{"after an unknown column", "ADD d INT AFTER x", nil, []string{"column"}, nil},
	{"after a dropped column", "DROP a, ADD d INT AFTER a", nil, []string{"column"}, nil},
	{"after a former name", "RENAME COLUMN a TO x, ADD d INT AFTER a", nil, []string{"column"}, nil},
	{"after a new column", "RENAME COLUMN a TO x, ADD d INT AFTER X, ADD e INT AFTER d, MODIFY b VARCHAR(50) AFTER E", nil, nil, nil},
	{"default of an unknown column", "ALTER x SET DEFAULT 1", nil, []string{"column"}, nil},
	{"index on an unknown column", "ADD INDEX (a, x)", nil, []string{"column"}, nil},
	{"index on a dropped column", "DROP a, ADD INDEX (a)", nil, []string{"column"}, nil},
	{"unique on a former name", "RENAME COLUMN a TO x, ADD UNIQUE (a)", nil, []string{"column"}, []string{"unique"}},
	{"fulltext on an unknown column", "ADD FULLTEXT (x)", nil, []string{"column"}, nil},
	{"index on new columns", "ADD d INT, ADD INDEX (D), CHANGE a e INT, ADD INDEX (E, b(3))", nil, nil, nil},
	{"index on an expression", "ADD INDEX ((x + 1), a)", nil, nil, nil},
	{"index on the generated key", "ADD INDEX (a, my_row_id)", nil, nil, nil},
	{"names of other letters", "ADD INDEX (\u00e4), ADD d INT AFTER \u00e4, DROP INDEX \u00e4", nil, nil, nil},
	{"known index", "ADD INDEX B (a)", nil, []string{"index"}, nil},
	{"known index, dropped", "DROP INDEX b, ADD UNIQUE B (a)", nil, nil, []string{"unique"}},
	{"known index, renamed", "RENAME INDEX b TO x, ADD INDEX b (a)", nil, nil, nil},
	{"known index, its columns dropped", "DROP b, ADD INDEX b (a)", nil, nil, nil},
	{"unnamed index", "ADD INDEX (b), ADD UNIQUE (b)", nil, nil, []string{"unique"}},
	{"unknown index", "DROP INDEX x", nil, []string{"index"}, nil},
	{"added index dropped", "ADD INDEX x (a), DROP INDEX x", nil, []string{"index"}, nil},
	{"unknown index renamed", "RENAME INDEX x TO y", nil, []string{"index"}, nil},
	{"unknown index hidden", "ALTER INDEX x INVISIBLE", nil, []string{"index"}, nil},
	{"index renamed to a known one", "ADD INDEX x (a), RENAME INDEX b TO X", nil, []string{"index"}, nil},
	{"index of other letter case", "RENAME INDEX B TO b, ALTER INDEX b INVISIBLE", nil, nil, nil},
	{"second primary key", "ADD PRIMARY KEY (a)", nil, []string{"index"}, []string{"unique"}},
	{"second primary key in a column", "ADD d INT PRIMARY KEY", nil, []string{"index"}, []string{"unique"}},
	{"constraint of any kind", "DROP CONSTRAINT x", nil, nil, nil},
	{"MariaDB's row versions", "ADD SYSTEM VERSIONING", nil, []string{"row-versions"}, []string{"unparsed"}},
	{"MariaDB's periods", "DROP PERIOD FOR shift", nil, []string{"row-versions"}, []string{"unparsed"}},
	{
		"MariaDB's conditions",
		"DROP COLUMN IF EXISTS x, DROP INDEX IF EXISTS y, ADD COLUMN IF NOT EXISTS a INT, ADD INDEX IF NOT EXISTS b (a)",
		func(f *Facts, t *schema.Table) { f.Version = Version{Major: 10, Minor: 11, MariaDB: true} }, nil, nil,
	},
	{"drop and add", "DROP a, ADD a INT, CHANGE b d VARCHAR(40), ADD b INT", nil, nil, nil},
	{"rounded", "MODIFY a DECIMAL(10,1)", func(f *Facts, t *schema.Table) {
		t.Columns[1] = schema.Column{Name: "a", DataType: "decimal", Precision: 10, Scale: 2}
	}, nil, []string{"lossy"}},
	{
		"rounded and renamed", "CHANGE a d INT, CHANGE b e CHAR(40)",
		func(f *Facts, t *schema.Table) { t.Columns[1] = column("a double") }, nil, []string{"lossy"},
	},
	{"wider", "MODIFY a BIGINT, MODIFY b TEXT, MODIFY c DECIMAL(12,2)", nil, nil, nil},
	{"narrower", "MODIFY a TINYINT, MODIFY b VARCHAR(3)", nil, nil, nil}, // what doesn't fit stops the run
	{"not null", "MODIFY c INT NOT NULL", nil, nil, []string{"not-null"}},
	{"not null and renamed", "CHANGE c d INT NOT NULL, MODIFY a INT NOT NULL", nil, nil, []string{"not-null"}},
	{"not null by a key", "DROP PRIMARY KEY, ADD PRIMARY KEY (c), ADD INDEX (id)", nil, nil, []string{"unique", "not-null"}},
	{"computed", "MODIFY a TINYINT AS (1)", func(f *Facts, t *schema.Table) { t.Columns[1] = column("a double") }, nil, nil},
	{
		"no primary key to drop", "DROP PRIMARY KEY", func(f *Facts, t *schema.Table) { t.Keys[0].Name = "u" },
		[]string{"index"}, []string{"no-primary-key"},
	},
	{"no key", "", func(f *Facts, t *schema.Table) { t.Keys = nil }, []string{"no-key"}, nil},
	{"key dropped", "DROP PRIMARY KEY", nil, []string{"no-key"}, []string{"no-primary-key"}},
	{"key replaced", "DROP PRIMARY KEY, ADD PRIMARY KEY (a)", nil, []string{"no-key"}, []string{"unique"}},
	{"key replaced, index kept", "DROP PRIMARY KEY, ADD PRIMARY KEY (a), ADD INDEX (id)", nil, nil, []string{"unique"}},
	{"key column dropped", "DROP id", nil, []string{"no-key"}, nil},
	{"key column renamed", "CHANGE id id2 BIGINT", nil, nil, nil},
}

func TestMakeJudges(t *testing.T) {
	for _, c := range judgements {
		t.Run(c.name, func(t *testing.T) {
			facts, table := good(), orders(usual, "PRIMARY: id", "b: b")
			if c.change != nil {
				c.change(facts, table)
			}
			if c.clauses == "" {
				c.clauses = "ADD d INT"
			}
			p, err := Make(facts, table, alter(t, c.clauses), Options{})
			var refused *Refused
			if errors.As(err, &refused) != (len(c.blocking) > 0) || err != nil && !errors.Is(err, ErrRefused) {
				t.Fatalf("error: %v", err)
			}
			if refused != nil {
				if got := codes(refused.Blocking); !slices.Equal(got, c.blocking) {
					t.Errorf("blocking %v, want %v: %v", got, c.blocking, err)
				}
				p = &Plan{Risks: refused.Others}
				for _, r := range refused.Blocking {
					if !r.Blocking || !strings.Contains(err.Error(), r.What) {
						t.Errorf("%q is not in %v", r.What, err)
					}
				}
			}
			if got := codes(p.Risks); !slices.Equal(got, c.risks) {
				t.Errorf("risks %v, want %v", got, c.risks)
			}
		})
	}
}

// All problems are told at once.
func TestMakeCollectsEverything(t *testing.T) {
	facts, table := good(), orders([]string{"id int?"}, "id: id")
	facts.BinlogFormat, facts.ReadOnly, table.Engine, table.Triggers = "STATEMENT", true, "MyISAM", []schema.Trigger{{Name: "t"}}
	facts.Grants = grantsOf("GRANT SELECT ON *.* TO u")
	_, err := Make(facts, table, alter(t, "RENAME TO x, DROP nothing"), Options{})
	var refused *Refused
	if !errors.As(err, &refused) {
		t.Fatal(err)
	}
	want := []string{"binlog-format", "read-only", "grants", "engine", "trigger", "renames-table", "column", "no-key"}
	if got := codes(refused.Blocking); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestMakeNamesTheGrantsThatAreMissing(t *testing.T) {
	facts, table := good(), orders(usual, "PRIMARY: id")
	table.Name.Schema = "my_shop"
	facts.User = "o'neil@10.%"
	facts.Grants = grantsOf("GRANT PROCESS, REPLICATION CLIENT ON *.* TO u", "GRANT SELECT, INSERT, UPDATE, DELETE ON `my\\_shop`.* TO u")
	a := alter(t, "ADD d INT")
	a.Table = table.Name
	_, err := Make(facts, table, a, Options{})
	var refused *Refused
	if !errors.As(err, &refused) {
		t.Fatal(err)
	}
	var fixes []string
	for _, r := range refused.Blocking {
		fixes = append(fixes, r.Fix)
	}
	want := []string{
		"GRANT CREATE, DROP, ALTER, INDEX, TRIGGER, LOCK TABLES ON `my\\_shop`.* TO 'o''neil'@'10.%'",
		"GRANT REPLICATION SLAVE ON *.* TO 'o''neil'@'10.%'",
		"GRANT SELECT ON `performance\\_schema`.* TO 'o''neil'@'10.%'",
	}
	if !slices.Equal(fixes, want) {
		t.Errorf("%q", fixes)
	}
	// A key that changes its type goes through temporary tables.
	b := alter(t, "MODIFY id VARCHAR(20)")
	b.Table = table.Name
	if _, err = Make(facts, table, b, Options{}); !strings.Contains(err.Error(), "TRIGGER, LOCK TABLES, CREATE TEMPORARY TABLES ON") {
		t.Error(err)
	}
	// Given what it asks for, it is content. SUPER shows what REPLICATION CLIENT does.
	facts.Grants.Read(
		[]string{"GRANT CREATE, DROP, ALTER, INDEX, TRIGGER, LOCK TABLES, SELECT, INSERT, UPDATE, DELETE ON `my\\_shop`.* TO u",
			"GRANT REPLICATION SLAVE ON *.* TO u", "GRANT SELECT ON `performance\\_schema`.* TO u"},
	)
	if _, err := Make(facts, table, a, Options{}); err != nil {
		t.Error(err)
	}
	// Privileges on each of the tables do as well, but for LOCK TABLES.
	facts.Grants = grantsOf(
		"GRANT PROCESS, SUPER, REPLICATION SLAVE ON *.* TO u", "GRANT LOCK TABLES ON `my\\_shop`.* TO u",
		"GRANT ALL PRIVILEGES ON `my_shop`.`orders` TO u", "GRANT ALL PRIVILEGES ON `my_shop`.`orders_old` TO u",
		"GRANT ALL PRIVILEGES ON `my_shop`.`orders_shadow` TO u",
		"GRANT ALL PRIVILEGES ON `my_shop`.`orders_midstream` TO u",
		"GRANT SELECT ON `performance_schema`.`threads` TO u",
		"GRANT SELECT ON `performance_schema`.`metadata_locks` TO u",
		"GRANT SELECT ON `performance_schema`.`setup_instruments` TO u",
		"GRANT SELECT ON `performance_schema`.`session_connect_attrs` TO u",
		"GRANT SELECT ON `performance_schema`.`events_statements_current` TO u",
	)
	wantFix(t, facts, table, a, "GRANT SELECT ON `performance_schema`.`events_transactions_current` TO 'o''neil'@'10.%'")
	facts.Grants.Read([]string{"GRANT SELECT ON `performance_schema`.`events_transactions_current` TO u"})
	p, err := Make(facts, table, a, Options{})
	if err != nil {
		t.Fatal(err)
	}
	// This one is good to have.
	if len(p.Risks) != 1 || p.Risks[0].Fix != "GRANT XA_RECOVER_ADMIN ON *.* TO 'o''neil'@'10.%'" || p.Risks[0].Blocking {
		t.Errorf("%v", p.Risks)
	}
	facts.Grants.Read([]string{"GRANT XA_RECOVER_ADMIN ON *.* TO u"})
	if p, err = Make(facts, table, a, Options{}); err != nil || len(p.Risks) > 0 {
		t.Errorf("%v, %v", p, err)
	}
}

// wantFix fails the test unless just this would make the plan possible.
func wantFix(t *testing.T, facts *Facts, table *schema.Table, a *ddl.Alter, fix string) {
	t.Helper()
	_, err := Make(facts, table, a, Options{})
	var refused *Refused
	if !errors.As(err, &refused) || len(refused.Blocking) != 1 || refused.Blocking[0].Fix != fix {
		t.Error(err)
	}
}

// A column that continues another one by the operator's word is converted too.
func TestLossesByTheMap(t *testing.T) {
	table := orders([]string{"id int", "a double"}, "PRIMARY: id")
	p, err := Make(good(), table, alter(t, "DROP a, ADD d INT"), Options{Map: map[string]string{"d": "a"}})
	if err != nil || len(p.Risks) != 1 || p.Risks[0].What != "the ALTER may change values of column a: they are rounded to whole numbers" {
		t.Errorf("%v, %v", p, err)
	}
}

// A method that the server can't be asked for gives way to a shadow, and the plan says so.
func TestMethodThatIsNotHeeded(t *testing.T) {
	table := orders(usual, "PRIMARY: id")
	facts := good()
	facts.Taken = []Taken{{Name: NamesOf(table.Name).State, Comment: schema.MarkFor("state", table.Name)}}
	for wish, want := range map[Method]string{MethodInplace: "a shadow is built, although the method inplace was asked for", MethodShadow: "", "": ""} {
		options := Options{Method: wish}
		p, err := Make(facts, table, alter(t, "ADD d INT"), options)
		if err != nil {
			t.Fatal(err)
		}
		if MayAsk(facts, table, p.Alter, options, nil) {
			t.Error("the server may be asked beside an earlier run's state")
		}
		told := slices.ContainsFunc(p.Risks, func(r Risk) bool { return r.Code == CodeMethod && r.What == want })
		if p.Choice.Method != MethodShadow || told != (want != "") {
			t.Errorf("%q: %+v, %v", wish, p.Choice, p.Risks)
		}
	}
}

// TestWishesThatCannotBe: a key or a column that isn't there is said before anything is
// written, with what there is.
func TestWishesThatCannotBe(t *testing.T) {
	for _, c := range []struct {
		clauses string
		options Options
		want    string
	}{
		{"ADD d INT", Options{Key: "nope"}, "the table has no key named nope. Leave --key out, or name a usable one: PRIMARY, u"},
		{"ADD d INT", Options{Key: "b"}, "b: it is not unique). Leave --key out"},
		{"ADD d INT", Options{Map: map[string]string{"d": "zz"}}, "--map zz=d: the table has no column zz"},
		{"ADD d INT", Options{Map: map[string]string{"zz": "a"}}, "--map a=zz: the altered table has no column zz"},
		{"DROP a", Options{Map: map[string]string{"a": "c"}}, "--map c=a: the altered table has no column a"},
		{"ADD d INT INVISIBLE", Options{Map: map[string]string{"d": "a"}}, ""},
		{"ADD d INT", Options{Map: map[string]string{"D": ""}}, ""},
		{"DISCARD TABLESPACE", Options{}, "Run it natively: ALTER TABLE `shop`.`orders` DISCARD TABLESPACE"},
	} {
		_, err := Make(good(), orders(usual, "PRIMARY: id", "UNIQUE u: a", "b: b"), alter(t, c.clauses), c.options)
		if got := fmt.Sprint(err); c.want == "" && err != nil || !strings.Contains(got, c.want) {
			t.Errorf("%s, %+v: %s", c.clauses, c.options, got)
		}
	}
}
