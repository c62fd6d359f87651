package record

import (
	"time"

	"midstream/internal/engine/plan"
)

// Unaltered is the plan of a table that needs no ALTER. create is the statement that makes it; "" if it exists.
func Unaltered(table, place, method, why, server, version, create string) Plan {
	return Plan{
		Head: HeadOf(NamePlan, time.Now()), Table: table, Place: place, Method: method, Why: why, Create: create, Others: []Rejected{},
		ServerAddress: server, ServerVersion: version, KeyColumns: []string{}, Prediction: PredictionOf(plan.Prediction{}), Risks: []Risk{},
	}
}
