package plan

import (
	"errors"
	"strings"
	"testing"

	"midstream/internal/mysql/schema"
)

// TestAddedForeignKeys: what a run cannot prove is refused with the reason, and the plan has the name that the server gives the
// foreign key.
func TestAddedForeignKeys(t *testing.T) {
	parentOf := func(f *Facts, change func(p *schema.Table)) {
		p := orders([]string{"id int", "g int"}, "PRIMARY: id")
		p.Name.Table = "p"
		if change != nil {
			change(p)
		}
		f.Parents = []*schema.Table{p}
	}
	const add = "ADD FOREIGN KEY (a) REFERENCES p (id)"
	for _, c := range []struct {
		name, clauses string
		change        func(f *Facts, o *Options)
		why           string // "" if it is not refused
	}{
		{"a new one", add, nil, ""},
		{"undo", add, func(_ *Facts, o *Options) { o.KeepsUndo = true }, "the undo of it would be a DROP FOREIGN KEY"},
		{"an undo", add, func(_ *Facts, o *Options) { o.Back = &Back{} }, "an undo does not look for the parents"},
		{"a group", add, func(_ *Facts, o *Options) {
			o.Together = []Partner{{Alter: alter(t, "ADD x INT")}}
		}, "a group does not follow the rows of a parent"},
		{"triggers", add, func(_ *Facts, o *Options) { o.Capture = CaptureTrigger }, "learns of deleted parents from the binlog"},
		{"a replica", add, func(f *Facts, o *Options) { f.IsReplica, o.Replicates = true, true }, "a replica may leave out"},
		{"no order", add, func(f *Facts, _ *Options) { f.CommitOrder = false }, "binlog_order_commits=OFF"},
		{"8.0.12", add, func(f *Facts, _ *Options) { f.Version = Version{Major: 8, Patch: 12} }, "no lock that includes the parent"},
		{"partitions", add + " PARTITION BY HASH (id)", nil, "by a clause that a run does not read"},
		{"the key", add + ", MODIFY id BIGINT NOT NULL", nil, "changes the key"},
		{"itself", "ADD FOREIGN KEY (a) REFERENCES orders (id)", nil, "to the table itself"},
		{"nothing", "ADD FOREIGN KEY (a) REFERENCES q (id)", nil, "no such table"},
		{"no column", "ADD FOREIGN KEY (a) REFERENCES p (x)", nil, "has no column x"},
		{"not read", "ADD FOREIGN KEY (a) REFERENCES p (id) MATCH FULL", nil, "by a clause that a run does not read"},
		{"cascades of the parent", add, func(f *Facts, _ *Options) {
			f.Version = Version{Major: 8, Patch: 40}
			parentOf(f, func(p *schema.Table) {
				p.ForeignKeys = []schema.ForeignKey{{Constraint: "pg", Child: p.Name, Columns: []string{"g"}, OnDelete: "CASCADE"}}
			})
		}, "deletes or changes rows of"},
		{"cascades that are logged", add, func(f *Facts, _ *Options) {
			f.Version = Version{Major: 9, Minor: 7}
			parentOf(f, func(p *schema.Table) {
				p.ForeignKeys = []schema.ForeignKey{{Constraint: "pg", Child: p.Name, Columns: []string{"g"}, OnDelete: "CASCADE"}}
			})
		}, ""},
		{"another column is set to NULL", add, func(f *Facts, _ *Options) {
			f.Version = Version{Major: 8, Patch: 40}
			parentOf(f, func(p *schema.Table) {
				p.ForeignKeys = []schema.ForeignKey{{Constraint: "pg", Child: p.Name, Columns: []string{"g"}, OnDelete: "SET NULL"}}
			})
		}, ""},
		{"MINIMAL, a key", add, func(f *Facts, _ *Options) { f.RowImage = "MINIMAL" }, ""},
		{"MINIMAL, another column", "ADD FOREIGN KEY (a) REFERENCES p (g)", func(f *Facts, _ *Options) { f.RowImage = "MINIMAL" },
			"only the primary key of a deleted row"},
	} {
		t.Run(c.name, func(t *testing.T) {
			facts, table := good(), orders(usual, "PRIMARY: id", "b: b")
			table.ForeignKeys = nil
			options := Options{Method: MethodShadow}
			parentOf(facts, nil)
			if c.change != nil {
				c.change(facts, &options)
			}
			p, err := Make(facts, table, alter(t, c.clauses), options)
			var refused *Refused
			switch {
			case c.why == "" && err != nil:
				t.Errorf("refused: %v", err)
			case c.why == "":
				if len(p.Added) != 1 || p.Added[0].Constraint != "orders_ibfk_1" || len(Carried(p)) != 1 || len(p.Others()) != 1 {
					t.Errorf("the plan has %+v", p.Added)
				}
			case !errors.As(err, &refused) || !strings.Contains(err.Error(), c.why):
				t.Errorf("%v, want %q", err, c.why)
			}
		})
	}
}
