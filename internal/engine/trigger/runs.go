package trigger

import (
	"fmt"
	"slices"
	"strings"
)

// run is numbers that follow each other, both ends included.
type run struct{ from, to uint64 }

// runs is a set of numbers, as the fewest runs in their order.
type runs []run

// at returns the first run that ends at n or later.
func (r runs) at(n uint64) int {
	i, _ := slices.BinarySearchFunc(r, n, func(one run, n uint64) int {
		if one.to < n {
			return -1
		}
		return 1
	})
	return i
}

func (r runs) has(n uint64) bool {
	i := r.at(n)
	return i < len(r) && r[i].from <= n
}

func (r *runs) add(n uint64) {
	if r.has(n) {
		return
	}
	i := r.at(n)
	touchesLeft := i > 0 && (*r)[i-1].to+1 == n
	touchesRight := i < len(*r) && (*r)[i].from == n+1
	switch {
	case touchesLeft && touchesRight:
		(*r)[i-1].to = (*r)[i].to
		*r = slices.Delete(*r, i, i+1)
	case touchesLeft:
		(*r)[i-1].to = n
	case touchesRight:
		(*r)[i].from = n
	default:
		*r = slices.Insert(*r, i, run{n, n})
	}
}

func (r *runs) remove(n uint64) {
	i := r.at(n)
	if i == len(*r) || (*r)[i].from > n {
		return
	}
	switch one := (*r)[i]; {
	case one.from == one.to && i == 0:
		*r = (*r)[1:]
	case one.from == one.to:
		*r = slices.Delete(*r, i, i+1)
	case one.from == n:
		(*r)[i].from++
	case one.to == n:
		(*r)[i].to--
	default:
		(*r)[i].to = n - 1
		*r = slices.Insert(*r, i+1, run{n + 1, one.to})
	}
}

// mostGaps is the number of gaps that a query names.
const mostGaps = 100

// others returns the condition for all numbers up to last that are not in the set. If there are
// many gaps, the condition includes some numbers of the set.
func (r runs) others(column string, last uint64) string {
	var ranges []string
	next := uint64(0)
	for i, one := range r {
		if i == mostGaps {
			break
		}
		if one.from > next {
			ranges = append(ranges, fmt.Sprintf("%s BETWEEN %d AND %d", column, next, one.from-1))
		}
		next = one.to + 1
	}
	if next <= last {
		ranges = append(ranges, fmt.Sprintf("%s BETWEEN %d AND %d", column, next, last))
	}
	if len(ranges) == 0 {
		return "FALSE"
	}
	return "(" + strings.Join(ranges, " OR ") + ")"
}
