package record

import (
	"time"

	"midstream/internal/engine/rowchange"
	"midstream/internal/mysql/schema"
)

// RowPlanOf returns the record of the plan of a change of rows.
func RowPlanOf(p *rowchange.Plan, address string) Plan {
	made := Plan{
		Head:          HeadOf(NamePlan, time.Now()),
		Table:         p.Source.Name.Dotted(),
		Alter:         p.Statement.String(),
		Method:        "rows",
		Why:           "the rows are changed in short transactions",
		Statement:     string(p.Statement.Verb),
		ServerAddress: address,
		ServerVersion: p.Server.Version.String(),
		Replicas:      p.Server.Replicas,
		Key:           p.Key.Name,
		KeyColumns:    p.Key.Columns(),
		RowsEstimate:  p.Source.Rows,
		DataBytes:     p.Source.DataBytes,
		IndexBytes:    p.Source.IndexBytes,
		RowsMatch:     p.Meets,
		State:         p.State().Dotted(),
		Former:        p.Former,
		Columns:       Columns(nil),
		Others:        Rejections(nil),
		Set:           []string{},
		Grants:        []string{},
		Steps:         p.Steps(),
		Locks:         []string{},
		Risks:         Risks(p.Risks),
	}
	if p.Options.Rest != (schema.Name{}) {
		made.Rest = p.Options.Rest.Dotted()
	}
	return made
}

// TakeRows adds what a change of rows has done.
func (r *Result) TakeRows(done rowchange.Result) {
	r.RowsMatched, r.RowsChanged, r.RowsArchived = done.Matched, done.Rows, done.Archived
	if done.Match >= 0 && r.ExitCode == 0 {
		match := done.Match
		r.RowsMatchNow = &match
	}
}
