package carry

import (
	"slices"
	"strings"
	"testing"

	"midstream/internal/mysql/schema"
)

func name(table string) schema.Name { return schema.Name{Schema: "s", Table: table} }

// TestKeyStatements: constraints of two columns, one of which the ALTER renames, and constraints
// with actions, of the table, of a child, and on the table itself.
func TestKeyStatements(t *testing.T) {
	set := Set{Source: name("t"), Shadow: name("t_shadow"), Old: name("t_old"), OldComment: "mark", Keys: []schema.ForeignKey{
		{
			Constraint:    "t_ibfk_1",
			Child:         name("t"),
			Columns:       []string{"up"},
			Parent:        name("t"),
			ParentColumns: []string{"id"},
			OnDelete:      "SET NULL",
			OnUpdate:      "NO ACTION",
		},
		{
			Constraint:    "chosen",
			Child:         name("t"),
			Columns:       []string{"a", "new"},
			Parent:        name("p"),
			ParentColumns: []string{"x", "y"},
			OnDelete:      "RESTRICT",
			OnUpdate:      "CASCADE",
		},
		{
			Constraint:    "c_ibfk_1",
			Child:         name("c"),
			Columns:       []string{"k", "l"},
			Parent:        name("t"),
			ParentColumns: []string{"a", "new"},
			OnDelete:      "CASCADE",
			OnUpdate:      "RESTRICT",
			Indexes:       []string{"k"},
		},
	}}
	const own, child = "midstream_097bf838e83e43ff", "midstream_a6dbeac82c08a360"
	equal(t, "declare", texts(set.declareKeys()), []string{
		"ALTER TABLE `s`.`t_shadow` ADD CONSTRAINT `t_shadow_ibfk_1` FOREIGN KEY (`up`) REFERENCES `s`.`t_shadow` (`id`) ON DELETE SET NULL ON UPDATE NO ACTION, " +
			"ADD CONSTRAINT `" + own + "` FOREIGN KEY (`a`, `new`) REFERENCES `s`.`p` (`x`, `y`) ON DELETE RESTRICT ON UPDATE CASCADE, ALGORITHM=INPLACE",
		"ALTER TABLE `s`.`c` ADD CONSTRAINT `" + child + "` FOREIGN KEY (`k`, `l`) REFERENCES `s`.`t_shadow` (`a`, `new`) ON DELETE CASCADE ON UPDATE RESTRICT, " +
			"RENAME INDEX `k` TO `" + child + "`, ALGORITHM=INPLACE",
	})
	at := func(constraint, child, parent string, indexes ...string) schema.ForeignKey {
		return schema.ForeignKey{Constraint: constraint, Child: name(child), Parent: name(parent), Indexes: indexes}
	}
	equal(t, "withdraw", texts(set.undeclareKeys([]schema.ForeignKey{
		at("t_shadow_ibfk_1", "t_shadow", "t_shadow"), at(own, "t_shadow", "p"), at(child, "c", "t_shadow", "j", child),
	})), []string{
		"ALTER TABLE `s`.`t_shadow` DROP FOREIGN KEY `t_shadow_ibfk_1`, DROP FOREIGN KEY `" + own + "`, ALGORITHM=INPLACE",
		"ALTER TABLE `s`.`c` DROP FOREIGN KEY `" + child + "`, RENAME INDEX `" + child + "` TO `k`, ALGORITHM=INPLACE",
	})
	equal(t, "settle", texts(set.settleKeys([]schema.ForeignKey{
		at(
			"t_ibfk_1", "t", "t",
		),
		at(own, "t", "p"),
		at("t_old_ibfk_1", "t_old", "t_old"),
		at("chosen", "t_old", "p"),
		at("c_ibfk_1", "c", "t_old", child),
		at(child, "c", "t", child),
	})), []string{
		"ALTER TABLE `s`.`t_old` DROP FOREIGN KEY `t_old_ibfk_1`, DROP FOREIGN KEY `chosen`, COMMENT = 'mark', ALGORITHM=INPLACE",
		"ALTER TABLE `s`.`c` DROP FOREIGN KEY `c_ibfk_1`, ALGORITHM=INPLACE",
		"ALTER TABLE `s`.`t` DROP FOREIGN KEY `" + own + "`, ADD CONSTRAINT `chosen` FOREIGN KEY (`a`, `new`) REFERENCES `s`.`p` (`x`, `y`) ON DELETE RESTRICT ON UPDATE CASCADE, ALGORITHM=INPLACE",
		"ALTER TABLE `s`.`c` DROP FOREIGN KEY `" + child + "`, ADD CONSTRAINT `c_ibfk_1` FOREIGN KEY (`k`, `l`) REFERENCES `s`.`t` (`a`, `new`) ON DELETE CASCADE ON UPDATE RESTRICT, " +
			"RENAME INDEX `" + child + "` TO `k`, ALGORITHM=INPLACE",
	})
	equal(
		t, "settled",
		texts(set.settleKeys([]schema.ForeignKey{at("t_ibfk_1", "t", "t"), at("chosen", "t", "p"), at("c_ibfk_1", "c", "t", "k")})),
		nil,
	)
	equal(t, "not declared", texts(set.undeclareKeys(nil)), nil)
	equal(t, "others", len(set.Others()), 2)
}

// TestActingOnShadow: constraints that act on the shadow from the beginning refuse nothing there,
// up to the swap.
func TestActingOnShadow(t *testing.T) {
	key := func(constraint, onDelete, onUpdate string) schema.ForeignKey {
		return schema.ForeignKey{
			Constraint:    constraint,
			Child:         name("t"),
			Columns:       []string{"a"},
			Parent:        name("p"),
			ParentColumns: []string{"id"},
			OnDelete:      onDelete,
			OnUpdate:      onUpdate,
		}
	}
	set := Set{
		Source: name("t"),
		Shadow: name("t_shadow"),
		Old:    name("t_old"),
		Acting: []string{"t_ibfk_1", "keyed"},
		Keyed:  []string{"keyed"},
		Keys: []schema.ForeignKey{
			key("t_ibfk_1", "SET NULL", "RESTRICT"), key("keyed", "CASCADE", "NO ACTION"), key("t_ibfk_2", "RESTRICT", "RESTRICT")},
	}
	const first = "ADD CONSTRAINT `t_ibfk_1_midstream` FOREIGN KEY (`a`) REFERENCES `s`.`p` (`id`) ON DELETE SET NULL ON UPDATE CASCADE"
	const second = "ADD CONSTRAINT `keyed_midstream` FOREIGN KEY (`a`) REFERENCES `s`.`p` (`id`) ON DELETE CASCADE ON UPDATE NO ACTION"
	equal(t, "act", texts(set.ActOnShadow()), []string{"ALTER TABLE `s`.`t_shadow` " + first + ", " + second + ", ALGORITHM=INPLACE"})
	const own = "midstream_e6ffb05155059e41"
	equal(t, "declare", texts(set.declareKeys()), []string{
		"ALTER TABLE `s`.`t_shadow` ADD CONSTRAINT `t_shadow_ibfk_1` FOREIGN KEY (`a`) REFERENCES `s`.`p` (`id`) ON DELETE SET NULL ON UPDATE RESTRICT, DROP FOREIGN KEY `t_ibfk_1_midstream`, " +
			"ADD CONSTRAINT `" + own + "` FOREIGN KEY (`a`) REFERENCES `s`.`p` (`id`) ON DELETE CASCADE ON UPDATE NO ACTION, DROP FOREIGN KEY `keyed_midstream`, " +
			"ADD CONSTRAINT `t_shadow_ibfk_2` FOREIGN KEY (`a`) REFERENCES `s`.`p` (`id`) ON DELETE RESTRICT ON UPDATE RESTRICT, ALGORITHM=INPLACE",
	})
	at := func(constraint string) schema.ForeignKey {
		return schema.ForeignKey{Constraint: constraint, Child: name("t_shadow"), Parent: name("p")}
	}
	declared := []schema.ForeignKey{at("t_shadow_ibfk_1"), at(own), at("t_shadow_ibfk_2")}
	equal(t, "withdraw", texts(set.undeclareKeys(declared)), []string{"ALTER TABLE `s`.`t_shadow` " + first + ", " + second +
		", DROP FOREIGN KEY `t_shadow_ibfk_1`, DROP FOREIGN KEY `" + own + "`, DROP FOREIGN KEY `t_shadow_ibfk_2`, ALGORITHM=INPLACE"})
	standing := []schema.ForeignKey{at("t_ibfk_1_midstream"), at("keyed_midstream")}
	equal(t, "withdrawn", texts(set.undeclareKeys(standing)), nil)
	set.Acting = nil
	equal(
		t, "gone", texts(set.undeclareKeys(standing)),
		[]string{"ALTER TABLE `s`.`t_shadow` DROP FOREIGN KEY `t_ibfk_1_midstream`, DROP FOREIGN KEY `keyed_midstream`, ALGORITHM=INPLACE"},
	)
}

func texts(statements []Statement) (all []string) {
	for _, s := range statements {
		all = append(all, s.Text)
	}
	return all
}

func equal[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	g, gotLines := any(got).([]string)
	w, _ := any(want).([]string)
	if gotLines && !slices.Equal(g, w) || !gotLines && any(got) != any(want) {
		t.Errorf("%s: %q, want %q", what, any(got), any(want))
	}
}

// TestL3_WhatActsSortsBehind: InnoDB acts by a long name on the source first, too.
func TestL3_WhatActsSortsBehind(t *testing.T) {
	set := Set{Source: name("t"), Shadow: name("t_shadow")}
	long := Set{Source: name(strings.Repeat("t", 57)), Shadow: name(strings.Repeat("t", 57) + "_shadow")}
	for _, constraint := range []string{"z", strings.Repeat("z", 54), strings.Repeat("z", 55), strings.Repeat("z", 64), strings.Repeat("~", 63) + "}",
		"é" + strings.Repeat("~", 63), long.Source.Table + "_ibfk_1"} {
		for _, s := range []Set{set, long} {
			acting := s.actingName(schema.ForeignKey{Constraint: constraint, Child: s.Source})
			if len([]rune(acting)) > 64 || acting <= constraint && strings.Trim(constraint, "~é}") != "" {
				t.Errorf("%s for %s", acting, constraint)
			}
		}
	}
}

// TestL3_ATrialLeavesWhatActs: a trial of one constraint takes back its own, and nothing else.
func TestL3_ATrialLeavesWhatActs(t *testing.T) {
	itself := schema.ForeignKey{Constraint: "t_ibfk_2", Child: name("t"), Columns: []string{"up"}, Parent: name("t"), ParentColumns: []string{"id"}}
	tried := Set{Source: name("t"), Shadow: name("t_shadow"), Keys: []schema.ForeignKey{itself}}
	found := []schema.ForeignKey{
		{Constraint: "t_ibfk_1_midstream", Child: name("t_shadow"), Parent: name("p")},
		{Constraint: "t_shadow_ibfk_2", Child: name("t_shadow"), Parent: name("t_shadow")},
	}
	equal(t, "take back", texts(tried.undeclareKeys(tried.seconds(found))), []string{"ALTER TABLE `s`.`t_shadow` DROP FOREIGN KEY `t_shadow_ibfk_2`, ALGORITHM=INPLACE"})
}
