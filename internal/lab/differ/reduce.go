package differ

import (
	"context"
	"slices"
)

// Reduce returns the smallest case it finds whose verdict has the same kind. The settings of the server stay.
func (b *bench) Reduce(c *Case, v Verdict) *Case {
	fails := func(smaller *Case) bool {
		if len(smaller.Clauses) == 0 || len(smaller.Columns) == 0 {
			return false
		}
		got := b.Try(context.Background(), smaller)
		return got.Outcome == v.Outcome && got.Kind == v.Kind
	}
	for {
		smaller := c
		smaller = cut(smaller, fails, func(c *Case) *[]string { return &c.Clauses })
		smaller = cut(smaller, fails, func(c *Case) *[]Given { return &c.Given })
		smaller = cut(smaller, fails, func(c *Case) *[]Write { return &c.Writes })
		smaller = cut(smaller, fails, func(c *Case) *[]string { return &c.Keys })
		smaller = cut(smaller, fails, func(c *Case) *[]Column { return &c.Columns })
		smaller = cut(smaller, fails, func(c *Case) *[]string { return &c.Options })
		for i := range smaller.Writes {
			smaller = cut(smaller, fails, func(c *Case) *[]value { return &c.Writes[i].Values })
		}
		smaller = simpler(smaller, fails)
		if smaller == c {
			return c
		}
		c = smaller
	}
}

// cut takes away as many elements of a list as it can.
func cut[T any](c *Case, fails func(*Case) bool, list func(*Case) *[]T) *Case {
	for n := len(*list(c)) / 2; n >= 1; n /= 2 {
		for at := 0; at+n <= len(*list(c)); {
			smaller := c.clone()
			l := list(smaller)
			*l = slices.Delete(slices.Clone(*l), at, at+n)
			if fails(smaller) {
				c = smaller
			} else {
				at += n
			}
		}
	}
	return c
}

// simpler leaves out attributes of columns and what there is but once.
func simpler(c *Case, fails func(*Case) bool) *Case {
	try := func(change func(*Case)) {
		smaller := c.clone()
		change(smaller)
		if smaller.Folder() != c.Folder() && fails(smaller) {
			c = smaller
		}
	}
	try(func(c *Case) { c.Parts = "" })
	try(func(c *Case) { c.Database = "CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci" })
	try(func(c *Case) { c.Mode = "" })
	try(func(c *Case) { c.Hold = false })
	for i := range c.Columns {
		try(func(c *Case) {
			if !c.Columns[i].Generated {
				c.Columns[i].Attrs = ""
			}
		})
	}
	for i := range c.Writes {
		try(func(c *Case) { c.Writes[i].Stage = Before })
	}
	return c
}

func (c *Case) clone() *Case {
	d := *c
	d.Columns, d.Keys, d.Options, d.Clauses = slices.Clone(
		c.Columns,
	), slices.Clone(
		c.Keys,
	), slices.Clone(
		c.Options,
	), slices.Clone(
		c.Clauses,
	)
	d.Writes = slices.Clone(c.Writes)
	return &d
}
