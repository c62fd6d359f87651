package planning

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"midstream/internal/engine/facts"
	"midstream/internal/engine/native"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/dbconn"
)

// asked leads to the server that is asked what needs a table of ours.
func (m *maker) asked() *dbconn.Pool {
	if m.scratch != nil {
		return m.scratch.Pool
	}
	return m.server.Pool
}

// openScratch has the scratch server asked from now on. end removes what was made there, and disconnects.
func (m *maker) openScratch(ctx context.Context) (end func() error, err error) {
	here := m.server.Pool
	globals, err := here.Globals(ctx)
	if err != nil {
		return nil, failed(ReadFacts, m.table.Name, m.server.readingFrom(err))
	}
	pool, address, err := m.options.Scratch(ctx, globals)
	if err != nil {
		return nil, failed(ReachScratch, m.table.Name, fmt.Errorf("the scratch server: %w", err))
	}
	m.facts.Scratch = address
	if err = m.sameAs(ctx, pool); err == nil {
		m.scratch, err = native.OpenScratch(ctx, here, pool, m.table, plan.AddedBy(m.table, m.alter))
		var refused bool
		if refused = err != nil && dbconn.Number(err) != 0 && !errors.Is(err, native.ErrScratchLeft); refused {
			err = m.refuseScratch(plan.Risk{
				What: fmt.Sprintf("the scratch server %s does not make the table: %s", address, dbconn.Message(err)),
				Why:  "the questions are asked on a table there that is defined like this one",
				Fix:  "Give its account ALL on `midstream\\_scratch\\_%`.*, and the server what the definition needs",
			})
		}
		if err != nil && !refused {
			err = failed(AskServer, m.table.Name, fmt.Errorf("scratch server %s: %w", address, err))
		}
	}
	if err != nil {
		pool.Close()
		return nil, err
	}
	for _, name := range m.scratch.Swept {
		m.options.Note("dropped " + name + " on the scratch server: a plan that was killed had left it")
	}
	return func() error {
		defer pool.Close()
		return failed(AskServer, m.table.Name, m.scratch.Close(ctx))
	}, nil
}

// refuseScratch is the refusal of a plan because of its scratch server.
func (m *maker) refuseScratch(risks ...plan.Risk) error {
	return plan.RefusesScratch(m.table.Name.String()+" on "+m.server.Address, risks)
}

// sameAs refuses a scratch server that may answer something else than the table's server.
func (m *maker) sameAs(ctx context.Context, scratch *dbconn.Pool) error {
	version, err := facts.ReadVersion(ctx, scratch.DB())
	if err != nil {
		return failed(AskServer, m.table.Name, fmt.Errorf("read from %s: %w", m.facts.Scratch, err))
	}
	is, was := version, m.facts.Version
	if is.Text, was.Text = "", ""; is != was {
		return m.refuseScratch(plan.Risk{
			What: fmt.Sprintf("the scratch server %s has version %s, and the server of the table %s", m.facts.Scratch, version, m.facts.Version),
			Why:  "another release may take another method, and make another definition",
			Fix:  "Name a scratch server with the same version",
		})
	}
	if err := m.otherBuild(ctx, scratch, version.Text); err != nil {
		return failed(AskServer, m.table.Name, err)
	}
	if here, there := m.server.Pool.ServerUUID(), scratch.ServerUUID(); here == there {
		return m.refuseScratch(plan.Risk{
			What: "the scratch server " + m.facts.Scratch + " is the server of the table", Why: "nothing is written to that one",
			Fix: "Name another server, or leave out --scratch-defaults-file",
		})
	}
	differ, err := m.server.Pool.Differences(ctx, scratch)
	if err != nil {
		return failed(AskServer, m.table.Name, fmt.Errorf("compare %s with %s: %w", m.facts.Scratch, m.server.Address, err))
	}
	var risks []plan.Risk
	for _, d := range differ {
		fix := fmt.Sprintf("Start the scratch server with %s = %s", d.Name, d.Here)
		if d.NotPermitted {
			fix += ", or let its account set it for a session"
		}
		risks = append(risks, plan.Risk{
			What: fmt.Sprintf("%s is %s on the scratch server, and %s on the server of the table", d.Name, shown(d.There), shown(d.Here)),
			Why:  "the setting may change what a server makes of the statement, and no session there can have the other value", Fix: fix,
		})
	}
	return m.refuseScratch(risks...)
}

// otherBuild notes in the facts if the scratch server is another build of the version, such as Percona Server. Its answers may be those of
// the table's server, because vendors keep the number of the release that they have built. So the plan warns, and does not refuse.
func (m *maker) otherBuild(ctx context.Context, scratch *dbconn.Pool, version string) error {
	here, err := facts.ReadBuild(ctx, m.server.Pool.DB())
	if err != nil {
		return m.server.readingFrom(err)
	}
	there, err := facts.ReadBuild(ctx, scratch.DB())
	if err != nil {
		return fmt.Errorf("read from %s: %w", m.facts.Scratch, err)
	}
	// A server that writes logs adds this to its version.
	name := func(version, build string) string { return strings.TrimSuffix(version, "-log") + ", " + build }
	if ours, theirs := name(m.facts.Version.Text, here), name(version, there); ours != theirs {
		m.facts.ScratchBuild = fmt.Sprintf("the scratch server is %s, and the server of the table is %s", theirs, ours)
	}
	return nil
}

// shown is a setting for people.
func shown(literal string) string {
	if literal == "" {
		return "unknown"
	}
	return strings.Trim(literal, "'")
}
