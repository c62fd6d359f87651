package leftovers

// Killed is what a run had begun with one statement of the server, of which it was killed before it could record the outcome.
type Killed struct {
	Statement string // or the clauses of an ALTER
	// Undoes and Redoes mean that the statement was to be taken back, or to be made again.
	Undoes, Redoes bool
	// Made means that the server has done it.
	Made bool
}

// What names it, such as "the undo of DROP TABLE shop.t".
func (k Killed) What() string {
	switch {
	case k.Undoes:
		return "the undo of " + k.Statement
	case k.Redoes:
		return "the redo of " + k.Statement
	}
	return k.Statement
}
