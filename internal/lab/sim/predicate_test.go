package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"midstream/internal/engine/key"
	"midstream/internal/engine/rowsync"
)

// A range's predicate selects the keys that lie between its bounds in the order of the
// index, for every kind of key.
func TestRangesSelectWhatTheModelDoes(t *testing.T) {
	everyRange(t, false)
}

// The same where both bounds begin with a string that they spell in two ways. If it
// selects more, chunks overlap (law L2): defect LooseBounds shows what comes of it.
func TestL2_RangesDoNotOverlapWhereBoundsDifferInLetterCase(t *testing.T) {
	everyRange(t, true)
}

func everyRange(t *testing.T, loose bool) {
	for kind := range kinds {
		for seed := range uint64(5) {
			u := newUniverse(Options{Kind: kind, IDs: 10}, rand.New(rand.NewPCG(seed, 3)))
			for from := -1; from < len(u.spellings); from++ {
				for to := -1; to < len(u.spellings); to++ {
					r := key.Range{From: u.keyOrNone(from), To: u.keyOrNone(to)}
					first, last := u.bounds(r)
					if first >= last || loose != (u.loose(r) != "") {
						continue
					}
					condition := rowsync.InRange(u.codec, u.codec.Names(), r)
					selects(t, u, kind, condition, func(id int) bool { return first <= id && id < last })
					if t.Failed() {
						return
					}
				}
			}
		}
	}
}

// A list's predicate selects the keys that are equal to one of the list.
func TestListsSelectWhatTheModelDoes(t *testing.T) {
	for kind := range kinds {
		u := newUniverse(Options{Kind: kind, IDs: 10}, rand.New(rand.NewPCG(1, 3)))
		list := []int{0, len(u.spellings) / 2, len(u.spellings) - 1}
		var keys []key.Key
		for _, s := range list {
			keys = append(keys, u.spellings[s].key)
		}
		selects(t, u, kind, rowsync.InKeys(u.codec, u.codec.Names(), keys), func(id int) bool {
			return slices.ContainsFunc(list, func(s int) bool { return u.spellings[s].id == id })
		})
	}
}

func (u *universe) keyOrNone(s int) key.Key {
	if s < 0 {
		return ""
	}
	return u.spellings[s].key
}

// selects compares a condition with what it must select.
func selects(t *testing.T, u *universe, kind int, condition string, want func(id int) bool) {
	t.Helper()
	for s := range u.spellings {
		row := map[string]string{}
		for i, l := range u.codec.Literals(u.spellings[s].key) {
			row[fmt.Sprintf("`k%d`", i)] = l
		}
		e := evaluation{row: row, tokens: tokens(condition)}
		if got := e.any(); got != want(u.spellings[s].id) || len(e.tokens) > 0 {
			t.Errorf("%s: %s gives %v for %s; left to read: %v", kinds[kind].name, condition, got, u.name(s), e.tokens)
		}
	}
}

// evaluation reads a condition from left to right, as the server does: OR binds less
// than AND. Numbers compare as numbers, strings of a charset without letter case.
type evaluation struct {
	row    map[string]string
	tokens []string
}

func tokens(condition string) []string {
	for _, mark := range []string{"(", ")", ","} {
		condition = strings.ReplaceAll(condition, mark, " "+mark+" ")
	}
	return strings.Fields(strings.ReplaceAll(condition, "_utf8mb4 X", "_utf8mb4X"))
}

func (e *evaluation) next() string {
	token := e.tokens[0]
	e.tokens = e.tokens[1:]
	return token
}

func (e *evaluation) follows(token string) bool {
	if len(e.tokens) == 0 || e.tokens[0] != token {
		return false
	}
	e.next()
	return true
}

func (e *evaluation) any() bool {
	holds := e.every()
	for e.follows("OR") {
		holds = e.every() || holds
	}
	return holds
}

func (e *evaluation) every() bool {
	holds := e.term()
	for e.follows("AND") {
		holds = e.term() && holds
	}
	return holds
}

func (e *evaluation) term() bool {
	if e.follows("TRUE") {
		return true
	}
	if e.tokens[0] == "(" && !slices.Contains([]string{",", ")"}, e.tokens[2]) {
		e.next()
		holds := e.any()
		e.next()
		return holds
	}
	columns := e.tuple()
	operator := e.next()
	if operator == "IN" {
		return e.in(columns)
	}
	order := compareLiterals(e.row[columns[0]], e.next())
	switch operator {
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	case ">=":
		return order >= 0
	case "=":
		return order == 0
	}
	panic("operator " + operator)
}

func (e *evaluation) in(columns []string) bool {
	found := false
	e.next()
	for {
		values, equal := e.tuple(), true
		for i, column := range columns {
			equal = equal && compareLiterals(e.row[column], values[i]) == 0
		}
		found = found || equal
		if e.next() == ")" {
			return found
		}
	}
}

// tuple reads (a, b) or a.
func (e *evaluation) tuple() []string {
	if !e.follows("(") {
		return []string{e.next()}
	}
	list := []string{e.next()}
	for e.follows(",") {
		list = append(list, e.next())
	}
	e.next()
	return list
}

func compareLiterals(a, b string) int {
	a, b = strings.ReplaceAll(a, "_utf8mb4 X", "_utf8mb4X"), strings.ReplaceAll(b, "_utf8mb4 X", "_utf8mb4X")
	if strings.Contains(a, "X'") {
		return strings.Compare(unhex(a), unhex(b))
	}
	var x, y int
	fmt.Sscan(a, &x)
	fmt.Sscan(b, &y)
	return x - y
}

func unhex(literal string) string {
	charset, digits, _ := strings.Cut(literal, "X'")
	var b []byte
	fmt.Sscanf(strings.TrimSuffix(digits, "'"), "%x", &b)
	if charset != "" {
		return strings.ToLower(string(b))
	}
	return string(b)
}
