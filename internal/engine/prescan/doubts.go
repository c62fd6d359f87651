package prescan

import (
	"fmt"
	"strings"
)

// Doubt is a kind of rows that the shadow may refuse.
type Doubt struct {
	Kind Kind
	What string // completes "rows"
	// Count is the SELECT that counts the rows; "" if no condition names them.
	Count string
}

// Doubts lists the kinds of rows that the shadow may refuse, as far as the definitions show. It reads no row, and needs no key
// to follow.
func Doubts(s *Spec) (all []Doubt) {
	work, source := workOf(s), s.Source.Name.Quoted()
	for _, t := range work.trials {
		named := false
		for _, r := range t.rules {
			if t.column.From.Name != "" && !t.column.mayHave(r.kind) {
				continue
			}
			named = true
			all = append(all, Doubt{r.kind, t.findingOf(r.kind).what, fmt.Sprintf("SELECT COUNT(*) FROM %s WHERE %s", source, r.condition)})
		}
		kind := KindInvalid
		if t.check != "" {
			kind = KindCheck
		}
		if !named && !t.column.Holds {
			all = append(all, Doubt{Kind: kind, What: t.findingOf(kind).what})
		}
	}
	for _, k := range work.keys {
		d := Doubt{Kind: KindDuplicate, What: s.twinsOf(k).what}
		if values, plain := s.valuesOf(k); plain {
			list := strings.Join(values, ", ")
			d.Count = fmt.Sprintf("SELECT SUM(n) FROM (SELECT COUNT(*) AS n FROM %s WHERE %s IS NOT NULL GROUP BY %s HAVING COUNT(*) > 1) AS twins",
				source, strings.Join(values, " IS NOT NULL AND "), list)
		}
		all = append(all, d)
	}
	if work.partitions != nil {
		all = append(all, Doubt{Kind: KindPartition, What: "that no partition takes"})
	}
	return all
}

// mayHave reports whether the column may have values of a kind: a rule may be about values that the types exclude.
func (c Column) mayHave(kind Kind) bool {
	switch kind {
	case KindNull, KindZero, KindMerged:
		return true
	case KindCharacters:
		return c.From.Charset != c.To.Charset && c.From.Charset != "ascii" && (c.From.Charset == "binary" || c.To.Charset != "utf8mb4")
	}
	return !c.Holds
}
