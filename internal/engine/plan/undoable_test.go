package plan_test

import (
	"strings"
	"testing"
	"time"

	"midstream/internal/engine/plan"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// TestU3_ThePlanWarnsOfShortBinlogs: a lazy undo needs the binlogs since the swap.
func TestU3_ThePlanWarnsOfShortBinlogs(t *testing.T) {
	for _, c := range []struct {
		keeps, open time.Duration
		warns       bool
	}{
		{time.Hour, 24 * time.Hour, true}, {48 * time.Hour, 24 * time.Hour, false}, {time.Hour, 0, false},
		{0, 24 * time.Hour, false}, // the server never purges them
	} {
		p := plan.Plan{Purpose: plan.Altering, Choice: plan.Choice{Method: plan.MethodShadow}, Source: &schema.Table{}, Alter: &ddl.Alter{}}
		p.Server.BinlogExpire = c.keeps
		risks := p.UndoRisks(c.open)
		if warns := len(risks) == 1 && strings.Contains(risks[0].Fix, "binlog_expire_logs_seconds"); warns != c.warns || len(risks) > 1 {
			t.Errorf("binlogs for %s, open for %s: %v", c.keeps, c.open, risks)
		}
	}
}
