package main

import "testing"

// TestDocumentedRefusals holds a refusal to be right only for the reason and the server that the documentation names.
func TestDocumentedRefusals(t *testing.T) {
	const foreign = `midstream: cannot change onlineddl.onlineddl_test: 1 problem; nothing was written
  - foreign key test_fk refers to onlineddl.onlineddl_test_parent: between the swap and the
    statements that move it, on MySQL 8.0.12, other sessions could use the tables`
	for _, c := range []struct {
		said, version string
		right         bool
	}{
		{foreign, "8.0.12", true},
		{foreign, "9.7.4", false},
		{"midstream: cannot change onlineddl.onlineddl_test: 1 problem; nothing was written", "8.0.12", false},
	} {
		if page := documented(c.said, c.version); (page != "") != c.right {
			t.Errorf("on %s: page %q for %s", c.version, page, c.said)
		}
	}
}
