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
		fix         string
	}{
		{time.Hour, 24 * time.Hour, true, "binlog_expire_logs_seconds"}, {48 * time.Hour, 24 * time.Hour, false, "seconds"},
		{time.Hour, 0, false, "seconds"},
		{0, 24 * time.Hour, false, "seconds"}, // the server never purges them
		{time.Second, 90 * time.Minute, true, "CALL mysql.rds_set_configuration('binlog retention hours', 2)"},
		{24 * time.Hour, 48 * time.Hour, true, "'binlog retention hours', 48)"},
	} {
		p := plan.Plan{Purpose: plan.Altering, Choice: plan.Choice{Method: plan.MethodShadow}, Source: &schema.Table{}, Alter: &ddl.Alter{}}
		p.Server.BinlogExpire, p.Server.BinlogManaged = c.keeps, strings.Contains(c.fix, "retention hours")
		risks := p.UndoRisks(c.open)
		if warns := len(risks) == 1 && strings.Contains(risks[0].Fix, c.fix); warns != c.warns || len(risks) > 1 {
			t.Errorf("binlogs for %s, open for %s: %v", c.keeps, c.open, risks)
		}
	}
}
