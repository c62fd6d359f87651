package plan

import (
	"slices"
	"strings"
	"testing"

	"midstream/internal/mysql/schema"
)

// pairsText writes mappings as "source>shadow".
func pairsText(mappings []Mapping) string {
	var all []string
	for _, m := range mappings {
		all = append(all, m.Source+">"+m.Shadow)
	}
	return strings.Join(all, " ")
}

// mappingCases: the source's columns, the ALTER, and the table that the server made.
var mappingCases = []struct {
	name    string
	source  []string
	clauses string
	shadow  []string // what the server made
	user    map[string]string
	// want has pairs, or the text of the error after "!".
	want string
}{
	{"add", []string{"id int", "a int"}, "ADD n INT FIRST", []string{"n int", "id int", "a int"}, nil, "id>id a>a"},
	{"drop", []string{"id int", "a int"}, "DROP a", []string{"id int"}, nil, "id>id"},
	{"rename", []string{"id int", "a int"}, "CHANGE a b INT", []string{"id int", "b int"}, nil, "id>id a>b"},
	{"swap", []string{"a int", "b int"}, "RENAME COLUMN a TO b, RENAME COLUMN b TO a", []string{"b int", "a int"}, nil, "a>b b>a"},
	{"circle", []string{"a int", "b int", "c int"}, "CHANGE a b INT, CHANGE b c INT, CHANGE c a INT",
		[]string{"b int", "c int", "a int"}, nil, "a>b b>c c>a"},
	{"letter case", []string{"Note int"}, "MODIFY nOTE BIGINT", []string{"Note bigint"}, nil, "Note>Note"},
	{"other letter case", []string{"Note int"}, "CHANGE note note INT", []string{"note int"}, nil, "Note>note"},
	{"rename of letter case", []string{"Note int"}, "RENAME COLUMN Note TO note", []string{"note int"}, nil, "Note>note"},
	{"drop and add", []string{"id int", "a int"}, "DROP a, ADD A INT", []string{"id int", "A int"}, nil, "id>id"},
	{"change and add", []string{"id int", "a int"}, "CHANGE a b INT, ADD a INT", []string{"id int", "b int", "a int"}, nil, "id>id a>b"},
	{
		"drop and rename into it", []string{"id int", "a int", "b int"}, "DROP a, CHANGE b a INT",
		[]string{"id int", "a int"}, nil, "id>id b>a",
	},
	{"add where nothing is", []string{"id int"}, "ADD COLUMN IF NOT EXISTS a INT", []string{"id int", "a int"}, nil, "id>id"},
	{
		"add where something is", []string{"id int", "a int"}, "ADD COLUMN IF NOT EXISTS a INT",
		[]string{"id int", "a int"}, nil, "id>id a>a",
	},
	{"unread, nothing odd", []string{"id int", "a int"}, "ADD b INT INVISIBLE", []string{"id int", "a int", "b int"}, nil, "id>id a>a"},
	{
		"unread, all the same read by its words", []string{"a int", "b int"},
		"ADD c INT INVISIBLE, RENAME COLUMN a TO b, RENAME COLUMN b TO a", []string{"b int", "a int", "c int"}, nil,
		"a>b b>a",
	},
	{"unknown, one came", []string{"id int"}, "FROB x", []string{"id int", "x int"}, nil, "id>id"},
	{"unknown, one went", []string{"id int", "x int"}, "FROB x", []string{"id int"}, nil, "id>id"},
	{
		"unknown, one came and one went", []string{"id int", "a int"}, "FROB a", []string{"id int", "b int"}, nil,
		"!give --map a=b if it is a rename, or --map =b",
	},
	{
		"the operator says rename", []string{"id int", "a int"}, "FROB a", []string{"id int", "b int"},
		map[string]string{"B": "A"}, "id>id a>b",
	},
	{"the operator says new", []string{"id int", "a int"}, "FROB a", []string{"id int", "b int"}, map[string]string{"b": ""}, "id>id"},
	{"the operator is wrong", []string{"id int", "a int"}, "FROB a", []string{"id int", "b int"}, map[string]string{"x": "y"},
		"!the altered table has no column x; the table has no column y"},
	{
		"the operator overrules", []string{"id int", "a int", "b int"}, "DROP b, CHANGE a c INT",
		[]string{"id int", "c int"}, map[string]string{"c": "b"}, "id>id b>c",
	},
	{"an added column is missing", []string{"id int"}, "ADD a INT", []string{"id int"}, nil, "!column a is added, but the shadow lacks it"},
	{
		"a dropped column is there", []string{"id int", "a int"}, "DROP a", []string{"id int", "a int"}, nil,
		"!column a is dropped, but the shadow has it",
	},
	{
		"a new name is missing", []string{"id int", "a int"}, "CHANGE a b INT", []string{"id int", "a int"}, nil,
		"!column b is the new name of a",
	},
	{"a column too many", []string{"id int"}, "ADD a INT", []string{"id int", "a int", "b int"}, nil, "!unexpected columns b"},
	{"a column too few", []string{"id int", "c int"}, "ADD a INT", []string{"id int", "a int"}, nil, "!missing columns c"},
	{
		"generated in the shadow", []string{"id int", "a int", "g virtual"}, "ADD n INT AS (a) STORED",
		[]string{"id int", "a int", "g virtual", "n virtual"}, nil, "id>id a>a",
	},
	{"generated becomes plain", []string{"id int", "g virtual"}, "MODIFY g INT", []string{"id int", "g int"}, nil, "id>id g>g"},
	{"plain becomes generated", []string{"id int", "a int"}, "MODIFY a INT AS (id)", []string{"id int", "a virtual"}, nil, "id>id"},
}

func TestMapColumns(t *testing.T) {
	generated := func(name string) schema.Column {
		return schema.Column{Name: name, DataType: "int", Generated: schema.Virtual}
	}
	for _, c := range mappingCases {
		t.Run(c.name, func(t *testing.T) {
			source, shadow := orders(c.source), orders(c.shadow)
			for _, table := range []*schema.Table{source, shadow} {
				for i, col := range table.Columns {
					if col.Type == "virtual" {
						table.Columns[i] = generated(col.Name)
					}
				}
			}
			mappings, err := MapColumns(source, shadow, alter(t, c.clauses), c.user)
			if says, ok := strings.CutPrefix(c.want, "!"); ok {
				if err == nil || !strings.Contains(err.Error(), says) {
					t.Fatalf("%v (%s) lacks %q", err, pairsText(mappings), says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := pairsText(mappings); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// A table without a primary key gets an invisible one if sql_generate_invisible_primary_key is ON.
func TestMapColumnsKnowsTheGeneratedKey(t *testing.T) {
	source, shadow := orders([]string{"id int"}, "PRIMARY: id", "k: id"), orders([]string{"my_row_id bigint", "id int"})
	shadow.Columns[0].Invisible, shadow.Columns[0].AutoIncrement = true, true
	mappings, err := MapColumns(source, shadow, alter(t, "DROP PRIMARY KEY"), nil)
	if err != nil || pairsText(mappings) != "id>id" {
		t.Errorf("%s, %v", pairsText(mappings), err)
	}
}

func TestColumnsFindsTheShadowsKey(t *testing.T) {
	source := orders([]string{"id int", "a int", "b varchar"}, "PRIMARY: id, b")
	make := func(clauses string, shadow *schema.Table) (*Columns, error) {
		t.Helper()
		p, err := Make(good(), source, alter(t, clauses), Options{})
		if err != nil {
			t.Fatal(err)
		}
		return p.Columns(shadow)
	}
	c, err := make(
		"CHANGE b n VARCHAR(50), CHANGE id b BIGINT",
		orders([]string{"b bigint", "a int", "n varchar"}, "PRIMARY: b, n", "k: b, n, a"),
	)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(c.Key, []string{"b", "n"}) || c.KeyIndex != "PRIMARY" || c.KeyChanged() {
		t.Errorf("%+v", c)
	}
	if !slices.Equal(c.Source(), []string{"id", "a", "b"}) || !slices.Equal(c.Shadow(), []string{"b", "a", "n"}) {
		t.Errorf("%+v", c)
	}
	c, err = make(
		"DROP PRIMARY KEY, ADD KEY x (id, b, a), ADD UNIQUE y (b)",
		orders([]string{"id int", "a int", "b varchar"}, "x: id, b, a", "UNIQUE y: b"),
	)
	if err != nil || c.KeyIndex != "x" {
		t.Errorf("%+v, %v", c, err)
	}
	shadow := orders([]string{"id int", "a int", "b varchar"}, "PRIMARY: id, b")
	shadow.Columns[2].Collation = "utf8mb4_bin"
	if c, err = make("MODIFY b VARCHAR(40) COLLATE utf8mb4_bin", shadow); err != nil || !c.KeyChanged() || c.KeyChange != Reordered {
		t.Errorf("%+v, %v", c, err)
	}
	// Whatever was predicted, the shadow itself is checked.
	inOtherOrder := orders([]string{"id int", "a int", "b varchar", "z int"}, "PRIMARY: b, id")
	if c, err = make("ADD z INT", inOtherOrder); err != nil || c.KeyIndex != "PRIMARY" || c.KeyChange != Reordered {
		t.Errorf("%+v, %v", c, err)
	}
	if c, err = make("ADD z INT", orders([]string{"id int", "a int", "b varchar", "z int"}, "PRIMARY: a, id, b")); err == nil ||
		!strings.Contains(err.Error(), "begins with (id, b)") {
		t.Errorf("%+v, %v", c, err)
	}
}

// A stored generated column may be part of the key if the shadow computes the same.
func TestColumnsOfAGeneratedKeyColumn(t *testing.T) {
	table := func(expression, kind string) *schema.Table {
		t := orders([]string{"id " + kind, "g int"}, "PRIMARY: id, g")
		t.Columns[1].Generated, t.Columns[1].Expression = schema.Stored, expression
		if expression == "" {
			t.Columns[1].Generated = schema.NotGenerated
		}
		return t
	}
	p, err := Make(good(), table("(`id` % 8)", "int"), alter(t, "MODIFY id BIGINT"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		shadow *schema.Table
		ok     bool
		pairs  string
	}{
		{table("(`id` % 8)", "bigint"), true, "id>id"},
		{table("(`id` % 9)", "bigint"), false, ""},
		{table("(`id` % 8)", "varchar"), false, ""},
		{table("", "int"), true, "id>id g>g"},
	} {
		columns, err := p.Columns(c.shadow)
		if (err == nil) != c.ok {
			t.Errorf("%v: %v", c.shadow.Columns, err)
			continue
		}
		if err == nil && (pairsText(columns.Mappings) != c.pairs || !slices.Equal(columns.Key, []string{"id", "g"})) {
			t.Errorf("%+v", columns)
		}
	}
}
