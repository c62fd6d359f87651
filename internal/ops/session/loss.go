package session

import (
	"slices"
	"strings"

	"midstream/internal/engine/desired"
	"midstream/internal/engine/plan"
	"midstream/internal/mysql/schema"
)

// CodeLoss is the code of a change of files that loses values, and that nobody has allowed.
const CodeLoss plan.Code = "loss"

// Loses refuses a change that was found in files and loses values: of a dropped column, or of one with another type. In a statement,
// the loss is written down; in a file, a line is missing. It returns nil if nothing is lost.
func Loses(table schema.Name, risks []plan.Risk) error {
	refused := &plan.Refused{Table: table.String()}
	for _, r := range risks {
		if r.Code == desired.CodeLoses || r.Code == plan.CodeLossy {
			r.Code, r.Blocking = CodeLoss, true
			r.Fix = "Correct the file, or allow it with --allow-loss"
			refused.Blocking = append(refused.Blocking, r)
		} else {
			refused.Others = append(refused.Others, r)
		}
	}
	if len(refused.Blocking) == 0 {
		return nil
	}
	return refused
}

// Advised are the risks of a plan with advice for --to, if the change was found in files: a check takes these.
func (t *Target) Advised(risks []plan.Risk) []plan.Risk {
	if t.To == "" {
		return risks
	}
	const statement = `midstream check  "ALTER TABLE ..."`
	files := "midstream check  --to=" + schema.Shell(t.To)
	if t.Database != "" {
		files = "midstream check  --database=" + schema.Shell(t.Database) + " --to=" + schema.Shell(t.To)
	}
	risks = slices.Clone(risks)
	for i := range risks {
		risks[i].Fix = strings.ReplaceAll(risks[i].Fix, statement, files)
	}
	return risks
}
