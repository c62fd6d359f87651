package migration_test

import "midstream/internal/lab/fault"

// wire makes the run use a faulty wire.
func (b *bench) wire(rule fault.Rule) *fault.Proxy {
	b.Helper()
	p := fault.New(b, b.server.Address, rule)
	b.address = p.Address
	return p
}

// cutAt makes the run use a wire that is cut at a statement: before the server gets it, or, with
// lost, after.
func (b *bench) cutAt(statement string, lost bool) *fault.Proxy {
	return b.wire(fault.Rule{At: statement, Cut: !lost, Deaf: lost})
}

// bent reports whether the command came.
func bent(p *fault.Proxy) bool {
	_, is := p.Bent()
	return is
}
