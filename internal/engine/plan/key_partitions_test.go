package plan

import (
	"slices"
	"strings"
	"testing"

	"midstream/internal/mysql/schema"
)

// TestMakeFollowsTheColumnsOfPartitions: a run follows the columns by which the ALTER partitions the table, if it can; else the plan
// predicts what a look into all partitions takes.
func TestMakeFollowsTheColumnsOfPartitions(t *testing.T) {
	const keyed, partitions = "DROP PRIMARY KEY, ADD PRIMARY KEY (id, a) ", "PARTITION BY HASH (a) PARTITIONS 1000"
	for _, c := range []struct {
		name, clauses string
		change        func(*Facts, *schema.Table, *Options)
		follows       string
		warns         string // of a look into all partitions; "" if there is no warning
	}{
		{"", keyed + partitions, nil, "id,a", ""},
		{"few partitions", keyed + "PARTITION BY HASH (a) PARTITIONS 31", nil, "id", ""},
		{"the key's own column", "ADD z INT PARTITION BY HASH (id) PARTITIONS 1000", nil, "id", ""},
		{"by ranges of a function", keyed + "PARTITION BY RANGE (a + 1) SUBPARTITION BY HASH (a) SUBPARTITIONS 500 " +
			"(PARTITION id VALUES LESS THAN (7), PARTITION b VALUES LESS THAN MAXVALUE)", nil, "id,a", ""},
		{"by a key", keyed + "PARTITION BY KEY ALGORITHM=2 (`a`) PARTITIONS 1000", nil, "id,a", ""},
		{"a new name", "CHANGE a x INT NOT NULL, DROP PRIMARY KEY, ADD PRIMARY KEY (id, x) PARTITION BY HASH (x) PARTITIONS 1000", nil, "id,a", ""},
		{"the key without its index", "DROP PRIMARY KEY, ADD INDEX (id) " + partitions, nil, "id", "It would with a primary key"},
		{"MINIMAL", keyed + partitions, func(f *Facts, _ *schema.Table, _ *Options) { f.RowImage = "MINIMAL" }, "id", "binlog_row_image is MINIMAL"},
		{"NULL", keyed + partitions, func(_ *Facts, t *schema.Table, _ *Options) { t.Columns[1].Nullable = true }, "id", "column a may be NULL"},
		{"generated", keyed + partitions, func(_ *Facts, t *schema.Table, _ *Options) { t.Columns[1].Generated = schema.Stored }, "id",
			"column a is generated"},
		{"a foreign key", keyed + partitions, func(_ *Facts, t *schema.Table, _ *Options) {
			t.ForeignKeys = []schema.ForeignKey{{Columns: []string{"a"}}}
		}, "id", "a foreign key has column a"},
		{"another type", "MODIFY a DATE NOT NULL, " + keyed + partitions, nil, "id", "column a"},
		{"an expression", keyed + partitions, func(_ *Facts, _ *schema.Table, o *Options) { o.Set = Settings{"a": "a + 1"} }, "id",
			"the change redefines column a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			facts, table, options := good(), orders(usual, "PRIMARY: id"), Options{Method: MethodShadow}
			if c.change != nil {
				c.change(facts, table, &options)
			}
			chk := checker{facts: facts, table: table, alter: alter(t, c.clauses), options: options}
			chosen, reasons := chk.chooseKey()
			if got := strings.Join(chosen.key.Columns(), ","); got != c.follows {
				t.Errorf("follows (%s), want (%s); %v", got, c.follows, reasons)
			}
			chk.warnOfPartitions(chosen.key)
			i := slices.IndexFunc(chk.risks, func(r Risk) bool { return r.Code == CodePartitions })
			if warned := i >= 0; warned != (c.warns != "") || warned && !strings.Contains(chk.risks[i].String(), c.warns) {
				t.Errorf("risks %v, want %q", chk.risks, c.warns)
			}
			if unique := strings.Contains(c.clauses, "HASH (id)"); slices.Contains(codes(chk.risks), string(CodeUnique)) == unique {
				t.Errorf("risks about the key: %v", chk.risks)
			}
		})
	}
}
