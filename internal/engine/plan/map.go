package plan

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// mapper pairs the columns of source and shadow.
type mapper struct {
	source, shadow *schema.Table
	alter          *ddl.Alter
	user           map[string]string
}

// origin is what is known of a shadow's column before the server is asked.
type origin struct {
	old   string // the source's column, "" if the column is new
	known bool   // from the statement or the operator
}

func (m *mapper) pairs() ([]columnPair, error) {
	if err := m.checkUser(); err != nil {
		return nil, err
	}
	if err := m.checkClaims(); err != nil {
		return nil, err
	}
	var pairs []columnPair
	var appeared []string
	taken := map[string]bool{}
	for _, to := range m.shadow.Columns {
		o := m.origin(to.Name)
		if o.old == "" {
			if !o.known && !to.GeneratedKey() {
				appeared = append(appeared, to.Name)
			}
			continue
		}
		from, ok := m.source.Column(o.old)
		if !ok {
			return nil, fmt.Errorf("column %s of the shadow would continue column %s, which the source doesn't have",
				to.Name, o.old)
		}
		taken[fold(from.Name)] = true
		pairs = append(pairs, columnPair{from, to})
	}
	if err := m.explain(appeared, m.vanished(taken)); err != nil {
		return nil, err
	}
	return pairs, nil
}

// fold makes names comparable; the server ignores letter case in columns' names.
func fold(name string) string { return strings.ToLower(name) }

// origin finds which column of the source a column of the shadow continues.
func (m *mapper) origin(name string) origin {
	for fresh, old := range m.user {
		if strings.EqualFold(fresh, name) {
			return origin{old: old, known: true}
		}
	}
	for _, r := range m.alter.Renames {
		if _, ok := m.source.Column(r.Old); ok && strings.EqualFold(r.New, name) {
			return origin{old: r.Old, known: true}
		}
	}
	if contains(m.alter.Added, name) {
		return origin{known: true}
	}
	c, ok := m.source.Column(name)
	if !ok {
		return origin{known: contains(m.alter.AddedIfMissing, name)}
	}
	if m.moved(name) || m.claimedByUser(name) {
		return origin{known: contains(m.alter.AddedIfMissing, name)}
	}
	return origin{old: c.Name, known: true}
}

// moved reports whether the statement drops or renames the source's column.
func (m *mapper) moved(name string) bool {
	if contains(m.alter.Dropped, name) {
		return true
	}
	for _, r := range m.alter.Renames {
		if strings.EqualFold(r.Old, name) {
			return true
		}
	}
	return false
}

// claimedByUser reports whether the operator's map gives the source's column to another column.
func (m *mapper) claimedByUser(name string) bool {
	for _, old := range m.user {
		if strings.EqualFold(old, name) {
			return true
		}
	}
	return false
}

// saidByUser reports whether the operator's map has the name, as a new column or as an old one.
func (m *mapper) saidByUser(name string) bool {
	for fresh := range m.user {
		if strings.EqualFold(fresh, name) {
			return true
		}
	}
	return m.claimedByUser(name)
}

// vanished returns the source's columns that nothing in the shadow continues and that the statement
// doesn't drop.
func (m *mapper) vanished(taken map[string]bool) []string {
	var names []string
	for _, c := range m.source.Columns {
		if !taken[fold(c.Name)] && !contains(m.alter.Dropped, c.Name) {
			names = append(names, c.Name)
		}
	}
	return names
}

// explain checks columns that appeared or vanished although the statement does not mention them.
func (m *mapper) explain(appeared, vanished []string) error {
	if len(appeared) == 0 && len(vanished) == 0 {
		return nil
	}
	if m.alter.Parsed && len(m.user) == 0 {
		return fmt.Errorf("the server made another table than the plan expected from the ALTER: unexpected columns %s, missing columns %s",
			list(appeared), list(vanished))
	}
	if len(appeared) > 0 && len(vanished) > 0 {
		return fmt.Errorf("the ALTER can't be read (%s), and column %s was removed while %s was added: give --map %s=%s if it is a rename, "+
			"or --map =%s if the column is new", m.alter.Unparsed, list(vanished), list(appeared),
			vanished[0], appeared[0], appeared[0])
	}
	return nil
}

// checkUser compares the operator's map with both tables.
func (m *mapper) checkUser() error {
	var wrong []string
	for fresh, old := range m.user {
		if _, ok := m.shadow.Column(fresh); !ok {
			wrong = append(wrong, fmt.Sprintf("the altered table has no column %s", fresh))
		}
		if _, ok := m.source.Column(old); !ok && old != "" {
			wrong = append(wrong, fmt.Sprintf("the table has no column %s", old))
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	sort.Strings(wrong)
	return fmt.Errorf("--map: %s", strings.Join(wrong, "; "))
}

// checkClaims compares what was read of the statement with the table that the server made.
func (m *mapper) checkClaims() error {
	var wrong []string
	missing := func(name, claim string) {
		if _, ok := m.shadow.Column(name); !ok {
			wrong = append(wrong, fmt.Sprintf("column %s is %s, but the shadow lacks it", name, claim))
		}
	}
	for _, name := range m.alter.Added {
		missing(name, "added")
	}
	for _, r := range m.alter.Renames {
		if _, ok := m.source.Column(r.Old); ok {
			missing(r.New, "the new name of "+r.Old)
		}
	}
	for _, name := range m.alter.Dropped {
		if _, ok := m.shadow.Column(name); ok && !m.comesBack(name) {
			wrong = append(wrong, fmt.Sprintf("column %s is dropped, but the shadow has it", name))
		}
	}
	for _, name := range twice(m.alter) {
		wrong = append(wrong, fmt.Sprintf("column %s is changed by two clauses", name))
	}
	if len(wrong) == 0 {
		return nil
	}
	return fmt.Errorf("the server made another table than the plan expected from the ALTER: %s", strings.Join(wrong, "; "))
}

// twice returns the old columns that more than one clause changes. MySQL usually refuses that;
// MariaDB's result is unpredictable.
func twice(a *ddl.Alter) []string {
	var names []string
	clauses := map[string]int{}
	count := func(name string) {
		if clauses[fold(name)]++; clauses[fold(name)] == 2 {
			names = append(names, name)
		}
	}
	for _, name := range slices.Concat(a.Dropped, a.Modified) {
		count(name)
	}
	for _, r := range a.Renames {
		if !contains(a.Modified, r.Old) { // CHANGE is in both lists
			count(r.Old)
		}
	}
	return names
}

// comesBack reports whether a dropped name is given to another column.
func (m *mapper) comesBack(name string) bool {
	if contains(m.alter.Added, name) || contains(m.alter.AddedIfMissing, name) {
		return true
	}
	for _, r := range m.alter.Renames {
		if strings.EqualFold(r.New, name) {
			return true
		}
	}
	return false
}

func contains(names []string, name string) bool {
	for _, n := range names {
		if strings.EqualFold(n, name) {
			return true
		}
	}
	return false
}

func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
