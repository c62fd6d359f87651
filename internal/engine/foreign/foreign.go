package foreign

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"midstream/internal/mysql/schema"
)

// NoChecks is the setting under which the statements change the dictionary only.
const NoChecks = "SET SESSION foreign_key_checks = 0"

// Set are the foreign keys that go over to the shadow in a swap.
type Set struct {
	Source, Shadow, Old schema.Name
	// Keys are as they shall be in the end: with the columns of the shadow.
	Keys []schema.ForeignKey
	// Dropped are those that the ALTER drops: they go with the old table.
	Dropped []schema.ForeignKey
	// Acting are the names of those that change rows of the source without a word in the binlog: they act on
	// the shadow as well, from the beginning (Stand).
	Acting []string
	// Keyed are the names of those whose columns are part of the key that is followed.
	Keyed []string
	// OldComment is the old table's mark: a statement that changes a table makes it look younger than
	// it is, so that it must tell by itself whose it is.
	OldComment string
}

// Empty says that there is nothing to do.
func (s Set) Empty() bool { return len(s.Keys)+len(s.Dropped) == 0 }

// Others are the tables on the other ends, each once.
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

// Found reads the foreign keys of tables, and those that refer to them, each once; where nobody
// refers to the source, the tables' own.
func (s Set) Found(ctx context.Context, q schema.Querier, tables ...schema.Name) ([]schema.ForeignKey, error) {
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

// second is the name that a constraint has beside its final one, unique in its database. The server
// gives the shadow's the names of the source's by itself, where those are of its own making.
func (s Set) second(k schema.ForeignKey) string {
	number, generated := strings.CutPrefix(k.Constraint, s.Source.Table+"_ibfk_")
	if name := s.Shadow.Table + "_ibfk_" + number; generated && k.Child == s.Source && len([]rune(name)) <= 64 {
		return name
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %s %s", s.Source.Bare(), k.Child.Bare(), k.Constraint)
	return fmt.Sprintf("midstream_%016x", h.Sum64())
}

// standing is the name of an acting constraint on the shadow before the swap. It sorts behind the constraint's own:
// InnoDB acts in the order of names, on the source's rows first, as a sync reads them before it writes the shadow's.
func (s Set) standing(k schema.ForeignKey) string {
	if name := k.Constraint + "_midstream"; len([]rune(name)) <= 64 {
		return name
	}
	return s.second(k) + "_s"
}

// stand is the definition of an acting constraint before the swap. It refuses nothing: the shadow
// may have rows yet that the source has no more. keyed says that its columns are part of the key
// that is followed, which must not change.
func (s Set) stand(k schema.ForeignKey) string {
	k = s.at(k, s.Shadow)
	if !schema.ActsBy(k.OnDelete) {
		k.OnDelete = "CASCADE"
	}
	if !schema.ActsBy(k.OnUpdate) && !slices.Contains(s.Keyed, k.Constraint) {
		k.OnUpdate = "CASCADE"
	}
	return "ADD " + k.Definition(s.standing(k))
}

// Stand has the acting constraints act on the shadow. REQUIRES: the shadow is empty.
func (s Set) Stand() []string {
	var own []string
	for _, k := range s.Keys {
		if s.acts(k) {
			own = append(own, s.stand(k))
		}
	}
	if len(own) == 0 {
		return nil
	}
	return []string{alter(s.Shadow, own)}
}

func (s Set) acts(k schema.ForeignKey) bool {
	return k.Child == s.Source && slices.Contains(s.Acting, k.Constraint)
}

// Declare has every constraint once more: with the shadow. REQUIRES: the shadow is equal to the source.
func (s Set) Declare() []string {
	var own, statements []string
	renamed := map[string]bool{}
	for _, k := range s.Keys {
		if k.Child == s.Source {
			own = append(own, "ADD "+s.at(k, s.Shadow).Definition(s.second(k)))
			if s.acts(k) {
				own = append(own, drop(s.standing(k)))
			}
			continue
		}
		clauses := []string{"ADD " + s.at(k, s.Shadow).Definition(s.second(k))}
		if index := k.Child.Quoted() + strings.Join(k.Indexes, "\x00"); len(k.Indexes) > 0 && !renamed[index] {
			renamed[index] = true
			clauses = append(clauses, rename(k.Indexes[0], s.second(k)))
		}
		statements = append(statements, alter(k.Child, clauses))
	}
	if len(own) > 0 {
		statements = append([]string{alter(s.Shadow, own)}, statements...)
	}
	return statements
}

// Settle leaves each constraint once, with the table that has taken the source's place. REQUIRES:
// found are those of the source, which was the shadow, and of the old table.
func (s Set) Settle(found []schema.ForeignKey) []string {
	drops, names := s.SettleInParts(found)
	return append(drops, names...) // what refuses good rows goes first
}

// SettleInParts is Settle in two parts: what refuses good rows until it is gone, and what only has
// another name until then.
func (s Set) SettleInParts(found []schema.ForeignKey) (drops, names []string) {
	var old []string
	for _, fk := range found {
		if fk.Child == s.Old {
			old = append(old, drop(fk.Constraint))
		}
	}
	if len(old) > 0 {
		drops = append(drops, alter(s.Old, append(old, "COMMENT = "+schema.Literal(s.OldComment))))
	}
	for _, k := range s.Keys {
		second, there := named(found, k.Child, s.second(k))
		if !there {
			continue
		}
		last, former := named(found, k.Child, k.Constraint)
		if former && last.Parent != s.at(k, s.Source).Parent { // else error 1826: one statement can't give its name anew
			drops = append(drops, alter(k.Child, []string{drop(k.Constraint)}))
			former = false
		}
		clauses := []string{drop(second.Constraint)}
		if !former {
			clauses = append(clauses, "ADD "+s.at(k, s.Source).Definition(k.Constraint))
		}
		names = append(names, alter(k.Child, append(clauses, s.back(k, second)...)))
	}
	return drops, names
}

// Withdraw takes back what Declare has done, as far as it has. REQUIRES: found are those of the
// shadow; the source is what it was.
func (s Set) Withdraw(found []schema.ForeignKey) []string {
	var own, statements []string
	for _, k := range s.Keys {
		if _, there := named(found, s.Shadow, s.standing(k)); s.acts(k) && !there {
			own = append(own, s.stand(k))
		}
	}
	for _, fk := range found {
		standing := slices.ContainsFunc(s.Keys, func(k schema.ForeignKey) bool { return s.acts(k) && s.standing(k) == fk.Constraint })
		if fk.Child == s.Shadow && !standing {
			own = append(own, drop(fk.Constraint))
		}
	}
	if len(own) > 0 {
		statements = append(statements, alter(s.Shadow, own))
	}
	for _, k := range s.Keys {
		if second, there := named(found, k.Child, s.second(k)); there && second.Parent == s.Shadow {
			statements = append(statements, alter(k.Child, append([]string{drop(second.Constraint)}, s.back(k, second)...)))
		}
	}
	return statements
}

// at is a constraint where the table has a name.
func (s Set) at(k schema.ForeignKey, table schema.Name) schema.ForeignKey {
	if k.Child == s.Source {
		k.Child = table
	}
	if k.Parent == s.Source {
		k.Parent = table
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

// alter has the server refuse what is more than a change of its dictionary and of names.
func alter(table schema.Name, clauses []string) string {
	return fmt.Sprintf("ALTER TABLE %s %s, ALGORITHM=INPLACE", table.Quoted(), strings.Join(clauses, ", "))
}
