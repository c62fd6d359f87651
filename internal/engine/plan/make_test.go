package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// good returns facts of a server on which everything is right.
func good() *Facts {
	return &Facts{
		Version: Version{Major: 9, Minor: 7, Patch: 4, Text: "9.7.4"}, UUID: "u", ServerID: 1, User: "app@%",
		LogBin: true, BinlogFormat: "ROW", RowImage: "FULL", CommitOrder: true, LogReplicaUpdates: true,
		PerformanceSchema: true, MDLInstrument: true, TimeZone: "SYSTEM", AutoincLockMode: 2,
		Grants: grantsOf("GRANT ALL PRIVILEGES ON *.* TO `app`@`%`"),
	}
}

// column makes a column out of "name type", with "?" after the type if it may be NULL.
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

// TestDependents: each object is named with what it uses, and the plan reports nothing that is not
// known.
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
		"column b becomes z",
		"view far.v uses column a, which the ALTER drops",
		"procedure shop.p names the table and a column b, which will be z",
		"trigger shop.g of k uses column a, which the ALTER drops",
		"'u'@'%' has SELECT on column a, which the ALTER drops",
		"the account cannot read the definitions of 1 object: function shop.f",
	}; !slices.Equal(
		got,
		want,
	) {
		t.Errorf("risks:\n%s", strings.Join(got, "\n"))
	}
}

// All problems are reported at once.
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
		"GRANT CREATE, DROP, ALTER, INDEX, TRIGGER, LOCK TABLES, CREATE TEMPORARY TABLES ON `my\\_shop`.* TO 'o''neil'@'10.%'",
		"GRANT REPLICATION SLAVE ON *.* TO 'o''neil'@'10.%'",
		"GRANT SELECT ON `performance\\_schema`.* TO 'o''neil'@'10.%'",
	}
	if !slices.Equal(fixes, want) {
		t.Errorf("%q", fixes)
	}
	// With the grants that it asks for, the plan succeeds. SUPER shows what REPLICATION CLIENT
	// does.
	facts.Grants.Read(
		[]string{"GRANT CREATE, DROP, ALTER, INDEX, TRIGGER, LOCK TABLES, CREATE TEMPORARY TABLES, SELECT, INSERT, UPDATE, DELETE ON `my\\_shop`.* TO u",
			"GRANT REPLICATION SLAVE ON *.* TO u", "GRANT SELECT ON `performance\\_schema`.* TO u"},
	)
	if _, err := Make(facts, table, a, Options{}); err != nil {
		t.Error(err)
	}
	// Privileges on each of the tables are enough too, except for LOCK TABLES and CREATE TEMPORARY TABLES.
	facts.Grants = grantsOf(
		"GRANT PROCESS, SUPER, REPLICATION SLAVE ON *.* TO u", "GRANT LOCK TABLES, CREATE TEMPORARY TABLES ON `my\\_shop`.* TO u",
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
	// This grant is optional.
	if len(p.Risks) != 1 || p.Risks[0].Fix != "GRANT XA_RECOVER_ADMIN ON *.* TO 'o''neil'@'10.%'" || p.Risks[0].Blocking {
		t.Errorf("%v", p.Risks)
	}
	facts.Grants.Read([]string{"GRANT XA_RECOVER_ADMIN ON *.* TO u"})
	if p, err = Make(facts, table, a, Options{}); err != nil || len(p.Risks) > 0 {
		t.Errorf("%v, %v", p, err)
	}
}

// wantFix fails the test unless this fix alone would make the plan possible.
func wantFix(t *testing.T, facts *Facts, table *schema.Table, a *ddl.Alter, fix string) {
	t.Helper()
	_, err := Make(facts, table, a, Options{})
	var refused *Refused
	if !errors.As(err, &refused) || len(refused.Blocking) != 1 || refused.Blocking[0].Fix != fix {
		t.Error(err)
	}
}

// A column that continues another one by the operator's map is converted too.
func TestLossesByTheMap(t *testing.T) {
	table := orders([]string{"id int", "a double"}, "PRIMARY: id")
	p, err := Make(good(), table, alter(t, "DROP a, ADD d INT"), Options{Map: map[string]string{"d": "a"}})
	if err != nil || len(p.Risks) != 1 || p.Risks[0].What != "the ALTER may change values of column a: they are rounded to whole numbers" {
		t.Errorf("%v, %v", p, err)
	}
}

// If the server can't be asked for the method, the run builds a shadow, and the plan warns of that.
func TestMethodThatIsNotHeeded(t *testing.T) {
	table := orders(usual, "PRIMARY: id")
	facts := good()
	facts.Taken = []Taken{{Name: NamesOf(table.Name).State, Comment: schema.MarkFor("state", table.Name)}}
	for wish, want := range map[Method]string{MethodInplace: "the run builds a shadow, although you asked for the method inplace", MethodShadow: "", "": ""} {
		options := Options{Method: wish}
		p, err := Make(facts, table, alter(t, "ADD d INT"), options)
		if err != nil {
			t.Fatal(err)
		}
		if MayAsk(facts, table, p.Alter, options, nil) {
			t.Error("the server may be asked although an earlier run's state exists")
		}
		told := slices.ContainsFunc(p.Risks, func(r Risk) bool { return r.Code == CodeMethod && r.What == want })
		if p.Choice.Method != MethodShadow || told != (want != "") {
			t.Errorf("%q: %+v, %v", wish, p.Choice, p.Risks)
		}
	}
}

// TestWishesThatCannotBe: if a wished key or column doesn't exist, the plan reports it, with what
// exists, before anything is written.
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
