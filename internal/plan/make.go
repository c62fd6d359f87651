package plan

import (
	"midstream/internal/ddl"
	"midstream/internal/schema"
)

// Options are the operator's wishes.
type Options struct {
	// Map tells which old column a new one continues: new name to old name. An empty old
	// name says that the column is new. Needed only where the ALTER can't be read.
	Map map[string]string
	// Key names the key to follow. Defaults to the best one.
	Key string
}

// Make decides what a run will do, or returns a *Refused that holds every reason why
// it can't. It is pure.
func Make(facts *Facts, table *schema.Table, alter *ddl.Alter, options Options) (*Plan, error) {
	c := checker{facts: facts, table: table, alter: alter, options: options, names: freeNames(table.Name, facts)}
	chosen, reasons := c.chooseKey()
	c.checkServer()
	c.checkGrants(chosen)
	c.checkTable()
	c.checkNames()
	c.checkConstraints()
	c.checkAlter()
	if chosen.key.Name == "" {
		c.noKey(reasons)
	}
	if len(c.blocking) > 0 {
		return nil, &Refused{Table: table.Name.String(), Blocking: c.blocking, Others: c.risks}
	}
	return &Plan{
		Source: table,
		Alter:  alter,
		Names:  c.names,
		Key:    chosen.key,
		Server: serverOf(facts),
		Map:    options.Map,
		Risks:  c.risks,
	}, nil
}

func serverOf(f *Facts) Server {
	return Server{
		Version:         f.Version,
		UUID:            f.UUID,
		ID:              f.ServerID,
		RenameUnderLock: f.Version.renamesUnderLock(),
		CommitOrder:     f.CommitOrder,
		Replicas:        f.replicas(),
		MetadataLocks:   f.PerformanceSchema && f.MDLInstrument,
		TimeZone:        f.TimeZone,
		RowImage:        f.RowImage,
		GTID:            f.GTID,
		AutoincLockMode: f.AutoincLockMode,
	}
}

// checker collects risks.
type checker struct {
	facts   *Facts
	table   *schema.Table
	alter   *ddl.Alter
	options Options
	names   Names

	blocking []Risk
	risks    []Risk
}

// block notes a reason to refuse.
func (c *checker) block(code Code, what, why, fix string) {
	c.blocking = append(c.blocking, Risk{Code: code, What: what, Why: why, Fix: fix, Blocking: true})
}

// warn notes something to know.
func (c *checker) warn(code Code, what, why, fix string) {
	c.risks = append(c.risks, Risk{Code: code, What: what, Why: why, Fix: fix})
}
