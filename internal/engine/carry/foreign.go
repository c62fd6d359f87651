package carry

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"midstream/internal/mysql/schema"
)

// NoChecks is the setting that lets statements about foreign keys change only the dictionary.
const NoChecks = "SET SESSION foreign_key_checks = 0"

// change is a statement about foreign keys.
func change(table schema.Name, clauses []string) Statement {
	// More than a change of the dictionary and of names is refused.
	text := fmt.Sprintf("ALTER TABLE %s %s, ALGORITHM=INPLACE", table.Quoted(), strings.Join(clauses, ", "))
	return Statement{What: text, Before: []string{NoChecks}, Text: text}
}

// Others are the tables on the other ends of the foreign keys, each once.
func (s Set) Others() []schema.Name {
	var all []schema.Name
	for _, k := range slices.Concat(s.Keys, s.Dropped) {
		for _, name := range []schema.Name{k.Child, k.Parent} {
			if name != s.Source && !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	return all
}

// found reads the foreign keys of tables, and the foreign keys that refer to them, each once. If no
// foreign key refers to the source, it reads only the tables' own.
func (s Set) found(ctx context.Context, q schema.Querier, tables ...schema.Name) ([]schema.ForeignKey, error) {
	read := schema.OwnForeignKeys
	if slices.ContainsFunc(s.Keys, func(k schema.ForeignKey) bool { return k.Parent == s.Source }) {
		read = schema.ForeignKeys
	}
	var all []schema.ForeignKey
	for _, t := range tables {
		found, err := read(ctx, q, t)
		if err != nil {
			return nil, fmt.Errorf("read the foreign keys of %s: %w", t, err)
		}
		for _, fk := range found {
			if !slices.ContainsFunc(all, fk.Is) {
				all = append(all, fk)
			}
		}
	}
	return all, nil
}

// second returns the second name of a constraint, next to its final one. It is unique in its
// database. If the server generated the source's name, it generates the shadow's too.
func (s Set) second(k schema.ForeignKey) string {
	number, generated := strings.CutPrefix(k.Constraint, s.Source.Table+"_ibfk_")
	if name := s.Shadow.Table + "_ibfk_" + number; generated && k.Child == s.Source && len([]rune(name)) <= 64 {
		return name
	}
	return s.hashed(k)
}

func (s Set) hashed(k schema.ForeignKey) string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %s %s", s.Source.Bare(), k.Child.Bare(), k.Constraint)
	return fmt.Sprintf("midstream_%016x", h.Sum64())
}

// actingName returns the name of an acting constraint on the shadow before the swap. It sorts
// behind the constraint's own name. InnoDB acts in the order of names, so on the source's rows
// first, and a sync reads these before it writes the shadow's.
func (s Set) actingName(k schema.ForeignKey) string {
	name := []rune(k.Constraint + "_midstream")
	if len(name) <= 64 {
		return string(name)
	}
	for i := 63 - len(s.hashed(k)); i >= 0; i-- {
		if name[i] < '~' { // the first difference decides
			return string(name[:i]) + "~" + s.hashed(k)
		}
	}
	return s.hashed(k) + "_s"
}

// actingClause adds an acting constraint to the shadow before the swap. It refuses nothing: the shadow
// may still have rows that the source has lost. Columns of the key that is followed (Keyed) must not change.
func (s Set) actingClause(k schema.ForeignKey) string {
	k = s.at(k, s.Shadow)
	if !schema.ActsBy(k.OnDelete) {
		k.OnDelete = "CASCADE"
	}
	if !schema.ActsBy(k.OnUpdate) && !slices.Contains(s.Keyed, k.Constraint) {
		k.OnUpdate = "CASCADE"
	}
	return "ADD " + k.Definition(s.actingName(k))
}

// ActOnShadow makes the acting constraints act on the shadow. REQUIRES: the shadow is empty.
func (s Set) ActOnShadow() []Statement {
	var own []string
	for _, k := range s.Keys {
		if s.acts(k) {
			own = append(own, s.actingClause(k))
		}
	}
	if len(own) == 0 {
		return nil
	}
	return []Statement{change(s.Shadow, own)}
}

func (s Set) acts(k schema.ForeignKey) bool {
	return k.Child == s.Source && slices.Contains(s.Acting, k.Constraint)
}

// declareKeys declares every constraint a second time: with the shadow.
func (s Set) declareKeys() []Statement {
	var own []string
	var statements []Statement
	renamed := map[string]bool{}
	for _, k := range s.Keys {
		if k.Child == s.Source {
			own = append(own, "ADD "+s.onShadows(k).Definition(s.second(k)))
			if s.acts(k) {
				own = append(own, drop(s.actingName(k)))
			}
			continue
		}
		clauses := []string{"ADD " + s.at(k, s.Shadow).Definition(s.second(k))}
		if index := k.Child.Quoted() + strings.Join(k.Indexes, "\x00"); len(k.Indexes) > 0 && !renamed[index] {
			renamed[index] = true
			clauses = append(clauses, rename(k.Indexes[0], s.second(k)))
		}
		statements = append(statements, change(k.Child, clauses))
	}
	if len(own) > 0 {
		statements = append([]Statement{change(s.Shadow, own)}, statements...)
	}
	return statements
}

// SettleKeys leaves each constraint once. It is a FindWork. Statements that are Refusing come first; until
// the others are done, a constraint only has another name.
func (s Set) SettleKeys(ctx context.Context, q schema.Querier) (w Work, err error) {
	if s.HasKeys() {
		var found []schema.ForeignKey
		if found, err = s.found(ctx, q, s.Source, s.Old); err == nil {
			w.Statements = s.settleKeys(found)
		}
	}
	return w, err
}

// settleKeys returns the statements that are left. REQUIRES: found are the foreign keys of the
// source, which was the shadow, and of the old table.
func (s Set) settleKeys(found []schema.ForeignKey) []Statement {
	var drops, names []Statement
	var old []string
	for _, fk := range found {
		if fk.Child == s.Old {
			old = append(old, drop(fk.Constraint))
		}
	}
	if len(old) > 0 {
		drops = append(drops, change(s.Old, append(old, "COMMENT = "+schema.Literal(s.OldComment))))
	}
	for _, k := range s.Keys {
		second, there := named(found, k.Child, s.second(k))
		if !there {
			continue
		}
		last, former := named(found, k.Child, k.Constraint)
		// Otherwise error 1826: one statement can't drop a name and use it again.
		if former && last.Parent != s.at(k, s.Source).Parent {
			drops = append(drops, change(k.Child, []string{drop(k.Constraint)}))
			former = false
		}
		clauses := []string{drop(second.Constraint)}
		if !former {
			clauses = append(clauses, "ADD "+s.at(k, s.Source).Definition(k.Constraint))
		}
		names = append(names, change(k.Child, append(clauses, s.back(k, second)...)))
	}
	for i := range drops {
		drops[i].Refusing = true
	}
	return append(drops, names...)
}

// UndeclareKeys takes back the second constraints. It is a FindWork.
func (s Set) UndeclareKeys(ctx context.Context, q schema.Querier) (w Work, err error) {
	if s.HasKeys() {
		var found []schema.ForeignKey
		if found, err = s.found(ctx, q, s.Shadow); err == nil {
			w.Statements = s.undeclareKeys(found)
		}
	}
	return w, err
}

// undeclareKeys returns the statements that are left. REQUIRES: found are the foreign keys of the
// shadow, and the source is unchanged.
func (s Set) undeclareKeys(found []schema.ForeignKey) []Statement {
	var own []string
	var statements []Statement
	for _, k := range s.Keys {
		if _, there := named(found, s.Shadow, s.actingName(k)); s.acts(k) && !there {
			own = append(own, s.actingClause(k))
		}
	}
	for _, fk := range found {
		acting := slices.ContainsFunc(s.Keys, func(k schema.ForeignKey) bool { return s.acts(k) && s.actingName(k) == fk.Constraint })
		if fk.Child == s.Shadow && !acting {
			own = append(own, drop(fk.Constraint))
		}
	}
	if len(own) > 0 {
		statements = append(statements, change(s.Shadow, own))
	}
	for _, k := range s.Keys {
		if second, there := named(found, k.Child, s.second(k)); there && second.Parent == s.Shadow {
			statements = append(statements, change(k.Child, append([]string{drop(second.Constraint)}, s.back(k, second)...)))
		}
	}
	return statements
}

// at returns the constraint for a table with that name.
func (s Set) at(k schema.ForeignKey, table schema.Name) schema.ForeignKey {
	if k.Child == s.Source {
		k.Child = table
	}
	if k.Parent == s.Source {
		k.Parent = table
	}
	return k
}

// onShadows returns a constraint of the source as the shadow has it before the RENAME.
func (s Set) onShadows(k schema.ForeignKey) schema.ForeignKey {
	k = s.at(k, s.Shadow)
	if shadow, together := s.Shadows[k.Parent]; together {
		k.Parent = shadow
	}
	return k
}

// back gives the index of a constraint its own name again.
func (s Set) back(k, second schema.ForeignKey) []string {
	if len(k.Indexes) > 0 && slices.Contains(second.Indexes, second.Constraint) {
		return []string{rename(second.Constraint, k.Indexes[0])}
	}
	return nil
}

func named(found []schema.ForeignKey, child schema.Name, constraint string) (schema.ForeignKey, bool) {
	for _, fk := range found {
		if fk.Child == child && fk.Constraint == constraint {
			return fk, true
		}
	}
	return schema.ForeignKey{}, false
}

func drop(constraint string) string { return "DROP FOREIGN KEY " + schema.Quote(constraint) }

func rename(index, to string) string {
	return fmt.Sprintf("RENAME INDEX %s TO %s", schema.Quote(index), schema.Quote(to))
}
