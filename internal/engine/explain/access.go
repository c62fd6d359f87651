package explain

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// access is how a query reads a table.
type access struct {
	kind string // access_type, such as ref or ALL
	key  string // the index; "" for none
}

// kinds are the access types, the best first (https://dev.mysql.com/doc/refman/8.0/en/explain-output.html#explain-join-types).
var kinds = []string{
	"system", "const", "eq_ref", "ref", "fulltext", "ref_or_null", "index_merge", "unique_subquery", "index_subquery", "range", "index", "ALL",
}

// rank orders access types; an unknown one has the best rank, so that it is never called worse.
func (a access) rank() int { return slices.Index(kinds, a.kind) }

func (a access) String() string {
	switch {
	case a.kind == "ALL":
		return "reads all rows"
	case a.kind == "index":
		return "reads all of index " + a.key
	case a.key != "":
		return a.kind + " by index " + a.key
	}
	return a.kind
}

// explained is what EXPLAIN says of a query.
type explained struct {
	cost   float64 // of the query, in the server's units; 0 if it gives none
	tables []access
}

// parsed reads EXPLAIN FORMAT=JSON, version 1, and keeps what it says of tables with the names.
func parsed(text string, names []string) (explained, error) {
	var tree any
	if err := json.Unmarshal([]byte(text), &tree); err != nil {
		return explained{}, fmt.Errorf("read EXPLAIN FORMAT=JSON: %w", err)
	}
	var e explained
	e.walk(tree, names)
	return e, nil
}

func (e *explained) walk(node any, names []string) {
	switch node := node.(type) {
	case []any:
		for _, each := range node {
			e.walk(each, names)
		}
	case map[string]any:
		if name, is := node["table_name"].(string); is && slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) }) {
			kind, _ := node["access_type"].(string)
			key, _ := node["key"].(string)
			e.tables = append(e.tables, access{kind, key})
		}
		if info, is := node["cost_info"].(map[string]any); is {
			if text, is := info["query_cost"].(string); is {
				if cost, err := strconv.ParseFloat(text, 64); err == nil {
					e.cost = max(e.cost, cost)
				}
			}
		}
		for _, each := range node {
			e.walk(each, names)
		}
	}
}

// worst is the table's worst access, and "" if the query does not read it.
func (e explained) worst() access {
	var worst access
	for _, a := range e.tables {
		if worst.kind == "" || a.rank() > worst.rank() {
			worst = a
		}
	}
	return worst
}

const (
	// dearer is from which factor on a higher cost is reported.
	dearer = 10
	// cheap is a cost below which no query is reported: the server reads a few rows.
	cheap = 10
)

// worse returns in which way the second plan is worse than the first; "" if it is not.
func worse(before, after explained) string {
	from, to := before.worst(), after.worst()
	switch {
	case to.rank() > from.rank() && from.kind != "":
		return fmt.Sprintf("%s, and before %s", to, from)
	case before.cost > 0 && after.cost >= dearer*before.cost && after.cost >= cheap:
		return fmt.Sprintf("its cost is %.0f, and before %.0f", after.cost, before.cost)
	case from.key != "" && from.key != to.key && from.kind != "index": // all entries of any index are as many
		return fmt.Sprintf("%s, and before %s", to, from)
	}
	return ""
}
