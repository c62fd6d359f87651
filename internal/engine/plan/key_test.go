package plan

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"midstream/internal/mysql/schema"
)

func TestMakeChoosesTheKey(t *testing.T) {
	helped := map[bool]string{true: ", helped"} // by an index of ours
	columns := []string{"id int", "a int", "b varchar", "c int?", "d binary", "e text", "f bigint"}
	for _, c := range []struct {
		name    string
		keys    []string
		clauses string
		image   string
		want    string // "" if none is usable
		reason  string // in the message then
	}{
		{"the primary key", []string{"PRIMARY: id", "UNIQUE u: a"}, "", "", "PRIMARY", ""},
		{"the primary key, even of a string", []string{"PRIMARY: b", "UNIQUE u: a"}, "", "", "PRIMARY", ""},
		{"a unique key", []string{"k: a", "UNIQUE u: a"}, "", "", "u", ""},
		{"the one with an order", []string{"UNIQUE s: b", "UNIQUE u: a, f"}, "", "", "u", ""},
		{"the one with fewer columns", []string{"UNIQUE s: a, f", "UNIQUE u: id"}, "", "", "u", ""},
		{"the smaller one", []string{"UNIQUE s: d", "UNIQUE u: id"}, "", "", "u", ""},
		{"not one of NULLs", []string{"UNIQUE u: c"}, "", "", "", "column c may be NULL"},
		{"not a prefix", []string{"UNIQUE u: b(3)"}, "", "", "", "a prefix of column b only"},
		{"not an expression", []string{"UNIQUE u: id, (lower(`b`))"}, "", "", "", "it has an expression"},
		{"not an invisible one", []string{"INVISIBLE UNIQUE u: id"}, "", "", "", "it is invisible"},
		{"one that isn't unique, if no key identifies the rows", []string{"UNIQUE u: c", "k: id"}, "", "", "k", ""},
		{"the longer one of these", []string{"k: id", "l: f, a"}, "", "MINIMAL", "l", ""},
		{"one that goes, not one that isn't unique", []string{"PRIMARY: id", "k: a"}, "DROP id", "", "PRIMARY, helped", ""},
		{"not one that isn't unique and whose column goes", []string{"k: a"}, "DROP a", "", "", "k: the ALTER drops column a"},
		{"not one that isn't unique and whose column changes", []string{"k: a"}, "MODIFY a VARCHAR(9)", "", "", "how values of column a compare"},
		{"not one of NULLs that isn't unique", []string{"k: c"}, "", "", "", "rows have NULL there"},
		{"an index of ours for one that isn't unique", []string{"k: a"}, "DROP KEY k", "", "k, helped", ""},
		{"not another type", []string{"HASH UNIQUE u: id"}, "", "", "", "its type is HASH"},
		{"not a type that is no key", []string{"UNIQUE u: e"}, "", "", "", "which can't be followed as a key"},
		{"every reason", []string{"UNIQUE u: c", "k: b(3)"}, "", "", "", "u: column c may be NULL, and rows have NULL there; k: it holds a prefix"},
		{"descending", []string{"PRIMARY: id DESC, a"}, "", "", "PRIMARY", ""},

		{"another one if columns go", []string{"PRIMARY: id", "UNIQUE u: a"}, "DROP id", "", "u", ""},
		{"one of which all columns go", []string{"PRIMARY: id", "UNIQUE u: a"}, "DROP id, DROP a, ADD id INT", "", "PRIMARY, helped", ""},
		{"another one if its columns change", []string{"PRIMARY: id", "UNIQUE u: a"}, "MODIFY id VARCHAR(20)", "", "u", ""},
		{"it if an integer becomes another", []string{"PRIMARY: id", "UNIQUE u: a"}, "MODIFY COLUMN id BIGINT UNSIGNED, CHANGE a x INTEGER", "", "PRIMARY", ""},
		{"another one if its charset changes", []string{"PRIMARY: b", "UNIQUE u: a"}, "CONVERT TO CHARACTER SET latin1", "", "u", ""},
		{"it if all columns change", []string{"PRIMARY: id", "UNIQUE u: a"}, "MODIFY id CHAR(9), MODIFY a DOUBLE", "", "PRIMARY", ""},
		{"a dropped one that an index replaces", []string{"PRIMARY: id", "k: id, a"}, "DROP PRIMARY KEY", "", "PRIMARY", ""},
		{"a dropped one that a new index replaces", []string{"PRIMARY: id"}, "DROP PRIMARY KEY, CHANGE id x INT, ADD KEY (x, a)", "", "PRIMARY", ""},
		{"another one if it is dropped", []string{"PRIMARY: id", "UNIQUE u: a"}, "DROP PRIMARY KEY", "", "u", ""},
		{"an index of ours for one that becomes invisible", []string{"PRIMARY: id", "UNIQUE u: a"}, "DROP PRIMARY KEY, ALTER INDEX u INVISIBLE", "", "PRIMARY, helped", ""},
		{"by an index in another order", []string{"PRIMARY: id, a", "k: a, id"}, "DROP PRIMARY KEY", "", "PRIMARY", ""},
		{"by an index behind another column", []string{"PRIMARY: id"}, "DROP PRIMARY KEY, ADD PRIMARY KEY (a, id)", "", "PRIMARY", ""},
		{"another one before it", []string{"PRIMARY: id", "UNIQUE u: f"}, "DROP PRIMARY KEY, ADD PRIMARY KEY (a, id)", "", "u", ""},
		{"ours, not behind a column that may be NULL", []string{"PRIMARY: id"}, "DROP PRIMARY KEY, ADD KEY (c, id)", "", "PRIMARY, helped", ""},
		{"ours, not behind a new column", []string{"PRIMARY: id"}, "DROP PRIMARY KEY, ADD n INT NOT NULL, ADD PRIMARY KEY (n, id)", "", "PRIMARY, helped", ""},
		{"ours, not behind a column that is added again", []string{"PRIMARY: id"}, "DROP PRIMARY KEY, DROP a, ADD a INT NOT NULL, ADD PRIMARY KEY (a, id)", "", "PRIMARY, helped", ""},
		{"ours, not behind a column that the binlog lacks", []string{"PRIMARY: id"}, "DROP PRIMARY KEY, ADD PRIMARY KEY (a, id)", "MINIMAL", "PRIMARY, helped", ""},
		{"one that a shorter unique one replaces", []string{"PRIMARY: id, a"}, "DROP PRIMARY KEY, ADD PRIMARY KEY (id)", "", "PRIMARY", ""},
		{"ours, not one that a shorter index replaces", []string{"PRIMARY: id, a"}, "DROP PRIMARY KEY, ADD KEY (id)", "", "PRIMARY, helped", ""},
		{"ours, not one that a unique one of its last columns replaces", []string{"PRIMARY: id, a"}, "DROP PRIMARY KEY, ADD PRIMARY KEY (a)", "", "PRIMARY, helped", ""},
		{"another one if that needs none of ours", []string{"PRIMARY: id", "UNIQUE u: b"}, "DROP PRIMARY KEY", "", "u", ""},
		{"none of ours with partitions", []string{"PRIMARY: id"}, "DROP PRIMARY KEY, PARTITION BY HASH (a) PARTITIONS 2", "", "", "leaves no index that begins with (id)"},
		{"one whose first column goes leaves the rest", []string{"PRIMARY: id, a", "UNIQUE u: f"}, "DROP id", "", "u", ""},

		{"MINIMAL has the primary key", []string{"PRIMARY: id", "UNIQUE u: a"}, "", "MINIMAL", "PRIMARY", ""},
		{"MINIMAL has no other key", []string{"PRIMARY: id", "UNIQUE u: a"}, "DROP id", "MINIMAL", "PRIMARY, helped", ""},
		{"MINIMAL has the first unique key", []string{"UNIQUE n: c", "UNIQUE v: f, a", "UNIQUE u: a"}, "", "MINIMAL", "v", ""},
		{"NOBLOB has all keys", []string{"PRIMARY: id", "UNIQUE u: a"}, "DROP id", "NOBLOB", "u", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			facts, table := good(), orders(columns, c.keys...)
			if c.image != "" {
				facts.RowImage = c.image
			}
			if c.clauses == "" {
				c.clauses = "ADD z INT"
			}
			p, err := Make(facts, table, alter(t, c.clauses), Options{})
			switch {
			case c.want == "" && !errors.Is(err, ErrRefused):
				t.Errorf("no refusal: %v", err)
			case c.want == "" && !strings.Contains(err.Error(), c.reason):
				t.Errorf("%v lacks %q", err, c.reason)
			case c.want != "" && err != nil:
				t.Error(err)
			case c.want != "" && p.Key.Name+helped[p.Key.Helper] != c.want:
				t.Errorf("key %s, helped %v, want %s", p.Key.Name, p.Key.Helper, c.want)
			}
		})
	}
}

// An index of ours must go in an instant, and must be nobody else's.
func TestMakeHelpsNoKey(t *testing.T) {
	for name, change := range map[string]func(*Facts, *schema.Table){
		"an undo":   func(*Facts, *schema.Table) {},
		"many rows": func(_ *Facts, t *schema.Table) { t.Rows = 70_000_000 },
		"foreign keys": func(_ *Facts, t *schema.Table) {
			t.ReferencedBy = []schema.ForeignKey{{Child: schema.Name{Schema: "shop", Table: "items"}}}
		},
		"a HASH": func(f *Facts, t *schema.Table) {
			f.Trial.Altered.Keys = append(f.Trial.Altered.Keys, schema.Key{Name: "long", Unique: true, Visible: true, Type: "HASH"})
		},
		"a literal that changes": func(f *Facts, t *schema.Table) {
			settled := *f.Trial.Altered
			settled.Checks = []schema.Check{{Clause: "x"}}
			f.Trial.Settled = &settled
		},
		"a further ALTER that is refused": func(f *Facts, t *schema.Table) { f.Trial.Settled = nil },
		"":                                func(*Facts, *schema.Table) {},
	} {
		facts, table := good(), orders(usual, "PRIMARY: id")
		altered := orders(usual)
		facts.Trial = &Trial{Copied: table, Altered: altered, Settled: altered}
		change(facts, table)
		options := Options{}
		if name == "an undo" {
			options.Purpose = Undoing
		}
		_, err := Make(facts, table, alter(t, "DROP PRIMARY KEY"), options)
		if refused := err != nil && strings.Contains(err.Error(), "leaves no index that begins with (id)"); refused != (name != "") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMakeTakesTheOperatorsKey(t *testing.T) {
	table := orders(usual, "PRIMARY: id", "UNIQUE u: a")
	p, err := Make(good(), table, alter(t, "ADD z INT"), Options{Key: "U"})
	if err != nil || p.Key.Name != "u" {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err = Make(good(), table, alter(t, "ADD z INT"), Options{Key: "v"}); !errors.Is(err, ErrRefused) ||
		!strings.Contains(err.Error(), "no key named v") {
		t.Error(err)
	}
}

// A generated column can be part of a key if its values are stored in the table.
func TestMakeKeyOfGeneratedColumns(t *testing.T) {
	for kind, usable := range map[schema.Generated]bool{schema.Virtual: false, schema.Stored: true} {
		table := orders(usual, "UNIQUE u: id, a")
		table.Columns[1].Generated = kind
		if _, err := Make(good(), table, alter(t, "ADD z INT"), Options{}); (err == nil) != usable {
			t.Errorf("kind %d: %v", kind, err)
		}
	}
}

func TestKeyParts(t *testing.T) {
	p, err := Make(good(), orders(usual, "PRIMARY: id DESC, b"), alter(t, "ADD z INT"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(p.Key.Columns(), []string{"id", "b"}) || !p.Key.Parts[0].Descending || p.Key.Parts[1].Descending ||
		p.Key.Parts[1].Column.Ordinal != 2 {
		t.Errorf("%+v", p.Key)
	}
}

// TestMakeFollowsAKeyWithoutNull: a unique key of a column that may be NULL serves if no row has NULL there.
func TestMakeFollowsAKeyWithoutNull(t *testing.T) {
	for _, c := range []struct {
		name, clauses string
		keys          []string
		options       Options
		reason        string // "" if it serves
	}{
		{"alone", "ADD z INT", []string{"UNIQUE u: c"}, Options{}, ""},
		{"with a primary key", "ADD z INT", []string{"PRIMARY: id", "UNIQUE u: c"}, Options{Key: "u"}, ""},
		{"with a primary key that goes", "DROP PRIMARY KEY, DROP id", []string{"PRIMARY: id", "UNIQUE u: c"}, Options{}, ""},
		{"behind another column", "ADD z INT", []string{"UNIQUE u: a, c"}, Options{}, "no index begins with it"},
		{"behind another column, with an index", "ADD z INT", []string{"UNIQUE u: a, c", "k: c"}, Options{}, ""},
		{"for an undo", "ADD z INT", []string{"UNIQUE u: c"}, Options{KeepsUndo: true}, "an undo can't follow such a key"},
		{"by triggers", "ADD z INT", []string{"UNIQUE u: c"}, Options{Capture: CaptureTrigger}, "triggers can't follow such a key"},
		{"of another type", "MODIFY c VARCHAR(20)", []string{"UNIQUE u: c"}, Options{}, "the ALTER may change how its values compare"},
		{"of a wider type", "MODIFY c BIGINT", []string{"UNIQUE u: c"}, Options{}, ""},
		{"with a new primary key", "ADD PRIMARY KEY (c)", []string{"UNIQUE u: c"}, Options{}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			facts, table := good(), orders(usual, c.keys...)
			facts.NullFree = []string{"u"}
			c.options.Method = MethodShadow
			p, err := Make(facts, table, alter(t, c.clauses), c.options)
			switch {
			case c.reason != "" && (err == nil || !strings.Contains(err.Error(), c.reason)):
				t.Errorf("%v lacks %q", err, c.reason)
			case c.reason == "" && err != nil:
				t.Error(err)
			case c.reason == "" && (p.Key.Name != "u" || !slices.Contains(codes(p.Risks), string(CodeNoKey))):
				t.Errorf("key %s, risks %v", p.Key.Name, p.Risks)
			}
		})
	}
}
