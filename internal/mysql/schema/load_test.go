package schema_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"midstream/internal/lab/mysqltest"
	"midstream/internal/mysql/schema"
)

// allTypes is a table of every type that all servers have.
const allTypes = `CREATE TABLE DB.types (
	ti TINYINT, tu TINYINT UNSIGNED, si SMALLINT(3) ZEROFILL, mi MEDIUMINT, i INT NOT NULL, bu BIGINT(20) UNSIGNED,
	de DECIMAL(65,30), nu NUMERIC(5), fl FLOAT, fp FLOAT(7,3), do DOUBLE, re REAL, bo BOOL, bt BIT(13), b1 BIT,
	da DATE, dt DATETIME, d6 DATETIME(6), ts TIMESTAMP(3) NULL, tm TIME(2), ye YEAR,
	ch CHAR(3) CHARACTER SET latin1, vc VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
	bi BINARY(16), vb VARBINARY(255), tt TINYTEXT, te TEXT CHARACTER SET ucs2, mt MEDIUMTEXT, lt LONGTEXT,
	tb TINYBLOB, bl BLOB, mb MEDIUMBLOB, lb LONGBLOB,
	en ENUM('a','b,c','it''s','','(',' x') CHARACTER SET utf8mb4, se SET('1','2;3','ä'),
	js JSON, ge GEOMETRY, po POINT, pl POLYGON, PRIMARY KEY (i)) CHARACTER SET utf8mb4`

func TestLoadTypes(t *testing.T) {
	onServers(t, func(t *testing.T, s *server) {
		s.do(allTypes)
		table := s.load("types")
		want := map[string]schema.Column{ // only what is compared below
			"ti": {DataType: "tinyint"}, "tu": {DataType: "tinyint", Unsigned: true},
			"si": {DataType: "smallint", Unsigned: true}, "bu": {DataType: "bigint", Unsigned: true},
			"de": {DataType: "decimal", Precision: 65, Scale: 30}, "nu": {DataType: "decimal", Precision: 5},
			"fp": {DataType: "float"}, "re": {DataType: "double"}, "bo": {DataType: "tinyint"},
			"bt": {DataType: "bit", Precision: 13}, "b1": {DataType: "bit", Precision: 1},
			"da": {DataType: "date"}, "dt": {DataType: "datetime"}, "d6": {DataType: "datetime", Fraction: 6},
			"ts": {DataType: "timestamp", Fraction: 3}, "tm": {DataType: "time", Fraction: 2}, "ye": {DataType: "year"},
			"ch": {DataType: "char", Charset: "latin1", Length: 3}, "vc": {DataType: "varchar", Charset: "utf8mb4", Length: 40},
			"bi": {DataType: "binary", Charset: "binary", Length: 16}, "vb": {DataType: "varbinary", Charset: "binary", Length: 255},
			"te": {DataType: "text", Charset: "ucs2"}, "lb": {DataType: "longblob", Charset: "binary"},
			"en": {DataType: "enum", Charset: "utf8mb4", Members: []string{"a", "b,c", "it's", "", "(", " x"}},
			"se": {DataType: "set", Charset: "utf8mb4", Members: []string{"1", "2;3", "ä"}},
			"ge": {DataType: "geometry"}, "po": {DataType: "point"},
		}
		for name, w := range want {
			c := column(t, table, name)
			got := schema.Column{DataType: c.DataType, Unsigned: c.Unsigned, Fraction: c.Fraction, Charset: c.Charset, Members: c.Members}
			if w.Precision != 0 {
				got.Precision, got.Scale = c.Precision, c.Scale
			}
			if w.Length != 0 {
				got.Length = c.Length
			}
			equal(t, name, got, w)
		}
		for i, c := range table.Columns {
			equal(t, c.Name+" ordinal", c.Ordinal, i)
			equal(t, c.Name+" nullable", c.Nullable, c.Name != "i")
			if !strings.HasPrefix(c.Type, c.DataType) {
				t.Errorf("%s: type %q of %q", c.Name, c.Type, c.DataType)
			}
			if strings.EqualFold(c.Definition, "") {
				t.Errorf("%s: no definition", c.Name)
			}
		}
		equal(t, "collation", column(t, table, "vc").Collation, "utf8mb4_bin")
		equal(t, "engine", table.Engine, "InnoDB")
	})
}

func TestLoadDefaultsAndComments(t *testing.T) {
	onServers(t, func(t *testing.T, s *server) {
		s.do(`CREATE TABLE DB.t (
			id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT COMMENT 'PRIMARY KEY (x), KEY y (z)',
			a VARCHAR(20) NOT NULL DEFAULT 'it''s \\ "x" ) DEFAULT' COMMENT 'a ''quote''\n-- newline, /* and */ \\ ` + "`b`" + `',
			b INT DEFAULT NULL, c INT NOT NULL DEFAULT -5, d DECIMAL(5,2) DEFAULT 1.50, e BIT(3) DEFAULT b'101',
			f DATETIME(3) DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3), g TEXT COMMENT 'DEFAULT 3',
			h VARCHAR(10) DEFAULT '', PRIMARY KEY (id), KEY k (b) COMMENT 'KEY l (c)' ) AUTO_INCREMENT = 4711
			COMMENT 'PARTITION BY ''x'' AUTO_INCREMENT=1'`)
		table := s.load("t")
		equal(t, "AUTO_INCREMENT", table.AutoIncrement, uint64(4711))
		equal(t, "partitioned", table.Partitioned, false)
		equal(t, "comment", table.Comment, "PARTITION BY 'x' AUTO_INCREMENT=1")
		equal(t, "comment of id", column(t, table, "id").Comment, "PRIMARY KEY (x), KEY y (z)")
		equal(t, "auto", column(t, table, "id").AutoIncrement, true)
		equal(t, "comment of a", column(t, table, "a").Comment, "a 'quote'\n-- newline, /* and */ \\ `b`")
		equal(t, "default of a", column(t, table, "a").Default, `'it''s \\ "x" ) DEFAULT'`)
		for name, want := range map[string]string{"id": "", "b": "NULL", "e": "b'101'", "g": "", "h": "''"} {
			got := column(t, table, name).Default
			if name == "g" && got == "NULL" { // MariaDB shows it
				continue
			}
			equal(t, "default of "+name, got, want)
		}
		equal(t, "default of c", strings.Trim(column(t, table, "c").Default, "'"), "-5")
		equal(t, "default of d", strings.Trim(column(t, table, "d").Default, "'"), "1.50")
		equal(t, "default of f", strings.ToUpper(column(t, table, "f").Default), "CURRENT_TIMESTAMP(3)")
		equal(t, "keys", keyNames(table), []string{"PRIMARY", "k"})
		if len(table.Triggers)+len(table.ForeignKeys)+len(table.ReferencedBy)+len(table.Checks) != 0 {
			t.Errorf("triggers, foreign keys or checks: %+v", table)
		}
	})
}

func keyNames(t *schema.Table) []string {
	var names []string
	for _, k := range t.Keys {
		names = append(names, k.Name)
	}
	return names
}

// Zero dates are defaults that a session with the usual sql_mode can't write.
func TestLoadZeroDates(t *testing.T) {
	onServers(t, func(t *testing.T, s *server) {
		conn, err := s.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		for _, statement := range []string{"SET SESSION sql_mode = ''", "CREATE TABLE t (id INT PRIMARY KEY, " +
			"a DATE NOT NULL DEFAULT '0000-00-00', b TIMESTAMP NOT NULL DEFAULT '0000-00-00 00:00:00')"} {
			if _, err := conn.ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
		table := s.load("t")
		equal(t, "a", column(t, table, "a").Default, "'0000-00-00'")
		equal(t, "b", column(t, table, "b").Default, "'0000-00-00 00:00:00'")
	})
}

func TestLoadNames(t *testing.T) {
	onServers(t, func(t *testing.T, s *server) {
		for _, name := range []string{"a`b", "with space", "日本語", "select", "a.b", "per%cent", "under_score", "a'b\"c",
			strings.Repeat("n", 64), strings.Repeat("語", 40), strings.Repeat("é", 64), "line\nbreak", `back\slash`, "-- comment", "/* x */", "$1", "1"} {
			// The names of a column and a key are as odd as the table's.
			quoted := schema.Quote(name)
			s.do(fmt.Sprintf("CREATE TABLE %s (%s INT NOT NULL, b INT, PRIMARY KEY (%s), KEY %s (b, %s))",
				quoted, quoted, quoted, quoted, quoted))
			table := s.load(name)
			equal(t, "name", table.Name, s.name(name))
			equal(t, "columns of "+name, []string{table.Columns[0].Name, table.Columns[1].Name}, []string{name, "b"})
			equal(t, "keys of "+name, keyNames(table), []string{"PRIMARY", name})
			equal(t, "parts of "+name, table.Keys[1].Parts, []schema.KeyPart{{Column: "b"}, {Column: name}})
			s.readdKeys(table)
		}
	})
}

// readdKeys drops every secondary key and adds it again by its Definition: the table
// must then be the same.
func (s *server) readdKeys(before *schema.Table) {
	s.t.Helper()
	for _, k := range before.Keys {
		if k.Name != "PRIMARY" {
			s.do(fmt.Sprintf("ALTER TABLE %s DROP INDEX %s", before.Name.Quoted(), schema.Quote(k.Name)),
				fmt.Sprintf("ALTER TABLE %s ADD %s", before.Name.Quoted(), k.Definition))
		}
	}
	after := s.load(before.Name.Table)
	for _, k := range before.Keys { // a unique key moves to the front
		i := slices.IndexFunc(after.Keys, func(a schema.Key) bool { return a.Name == k.Name })
		if i < 0 {
			s.t.Errorf("key %s is gone", k.Name)
			continue
		}
		equal(s.t, "key "+k.Name, after.Keys[i], k)
	}
}

func TestLoadKeys(t *testing.T) {
	onServers(t, func(t *testing.T, s *server) {
		s.do("CREATE TABLE DB.t (a INT NOT NULL, b VARCHAR(100), c TEXT, g POINT NOT NULL, h BINARY(20), d INT, " +
			"PRIMARY KEY (a, d), UNIQUE KEY u (b), KEY p (b(10), c(20), h(3)), FULLTEXT KEY f (b, c), SPATIAL KEY s (g), " +
			"KEY o (d) USING BTREE COMMENT 'a, ''b'' KEY x (y)', KEY `q``r` (d, b))")
		table := s.load("t")
		for name, want := range map[string]schema.Key{
			"PRIMARY": {Unique: true, Type: "BTREE", Parts: []schema.KeyPart{{Column: "a"}, {Column: "d"}}},
			"u":       {Unique: true, Type: "BTREE", Parts: []schema.KeyPart{{Column: "b"}}},
			"p": {Type: "BTREE", Parts: []schema.KeyPart{{Column: "b", Prefix: 10}, {Column: "c", Prefix: 20},
				{Column: "h", Prefix: 3}}},
			"f":   {Type: "FULLTEXT", Parts: []schema.KeyPart{{Column: "b"}, {Column: "c"}}},
			"s":   {Type: "SPATIAL", Parts: []schema.KeyPart{{Column: "g"}}},
			"o":   {Type: "BTREE", Parts: []schema.KeyPart{{Column: "d"}}},
			"q`r": {Type: "BTREE", Parts: []schema.KeyPart{{Column: "d"}, {Column: "b"}}},
		} {
			k, ok := table.Key(name)
			if !ok {
				t.Errorf("no key %s in %v", name, keyNames(table))
				continue
			}
			want.Name, want.Visible, want.Definition = name, true, k.Definition
			equal(t, name, k, want)
		}
		equal(t, "first", table.Keys[0].Name, "PRIMARY")
		s.readdKeys(table)
	})
}

func TestLoadNewerKeys(t *testing.T) {
	onServers(t, func(t *testing.T, s *server) {
		if !s.mysql8() {
			t.Skip("no such keys")
		}
		s.do("CREATE TABLE t (a INT NOT NULL, b VARCHAR(20) NOT NULL, PRIMARY KEY (a DESC, b), KEY d (b DESC, a), KEY i (b) INVISIBLE)")
		if s.release == "9.7" {
			s.do("ALTER TABLE t ADD UNIQUE KEY f ((lower(b)) DESC, a, (concat(a, ',', 'it''s (\\\\')))",
				"ALTER TABLE t ADD `é` INT, ADD KEY g (a, (`é` + 1))")
		}
		table := s.load("t")
		equal(t, "primary", table.Keys[0].Parts, []schema.KeyPart{{Column: "a", Descending: true}, {Column: "b"}})
		d, _ := table.Key("d")
		equal(t, "d", d.Parts, []schema.KeyPart{{Column: "b", Descending: true}, {Column: "a"}})
		i, _ := table.Key("i")
		equal(t, "i", i.Visible, false)
		if f, ok := table.Key("f"); ok {
			equal(t, "f", []bool{f.Visible, f.Unique, f.Parts[0].Descending}, []bool{true, true, true})
			equal(t, "f's columns", []string{f.Parts[0].Column, f.Parts[1].Column, f.Parts[2].Column}, []string{"", "a", ""})
			if !strings.Contains(f.Parts[0].Expression, "lower(`b`)") {
				t.Errorf("expression: %q", f.Parts[0].Expression)
			}
			g, _ := table.Key("g")
			equal(t, "g's expression", g.Parts[1].Expression, "(`é` + 1)")
			equal(t, "an expression with quotes", strings.Contains(f.Parts[2].Expression, `it\'s`), true)
		}
		s.readdKeys(table)
	})
}

// TestLoadWhileTheTableIsAltered: a table that another session alters between two reads is read again.
func TestLoadWhileTheTableIsAltered(t *testing.T) {
	onServers(t, func(t *testing.T, s *server) {
		name := schema.Name{Schema: s.database, Table: "t"}
		mysqltest.Exec(t, s.DB, "CREATE TABLE t (id INT PRIMARY KEY, u INT)")
		ended := make(chan struct{})
		defer func() { <-ended }()
		ctx, end := context.WithCancel(t.Context())
		defer end()
		go func() {
			defer close(ended)
			for ctx.Err() == nil {
				for _, clause := range []string{"ADD KEY by_u (u), ADD COLUMN c INT", "DROP KEY by_u, DROP COLUMN c"} {
					if _, err := s.ExecContext(t.Context(), "ALTER TABLE t "+clause); err != nil {
						t.Error(err)
					}
					time.Sleep(50 * time.Millisecond)
				}
			}
		}()
		for range 150 {
			if _, err := schema.Load(t.Context(), s.DB, name); err != nil {
				t.Fatal(err)
			}
		}
	})
}
