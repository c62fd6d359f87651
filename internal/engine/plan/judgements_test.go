package plan

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"midstream/internal/mysql/schema"
)

// judgements each change one thing in a good world, and name the resulting codes.
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
	{"AUTO_INCREMENT that is left out", "MODIFY id BIGINT NOT NULL",
		func(_ *Facts, t *schema.Table) { t.Columns[0].AutoIncrement = true }, nil, []string{"auto-increment"}},
	{"AUTO_INCREMENT that is kept", "MODIFY id BIGINT NOT NULL AUTO_INCREMENT",
		func(_ *Facts, t *schema.Table) { t.Columns[0].AutoIncrement = true }, nil, nil},
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
	{"an old table", "", func(f *Facts, t *schema.Table) {
		f.Taken = []Taken{{schema.Name{Schema: "shop", Table: "orders_old"}, "my orders"}}
	}, nil, nil},
	{"old tables everywhere", "", func(f *Facts, t *schema.Table) {
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
	{"key dropped", "DROP PRIMARY KEY", nil, nil, []string{"no-primary-key", "no-key"}},
	{"key replaced", "DROP PRIMARY KEY, ADD PRIMARY KEY (a)", nil, nil, []string{"unique", "no-key"}},
	{"key replaced, index kept", "DROP PRIMARY KEY, ADD PRIMARY KEY (a), ADD INDEX (id)", nil, nil, []string{"unique"}},
	{"key column dropped", "DROP id", nil, nil, []string{"no-key"}},
	{"key column dropped on a server that drops none in an instant", "DROP id", func(f *Facts, _ *schema.Table) {
		f.Version = Version{Major: 8, Minor: 0, Patch: 28}
	}, []string{"no-key"}, nil},
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
			got := slices.DeleteFunc(codes(p.Risks), func(code string) bool { return code == string(CodeRenames) }) // TestRenamesAreNamed
			if !slices.Equal(got, c.risks) {
				t.Errorf("risks %v, want %v", got, c.risks)
			}
		})
	}
}
