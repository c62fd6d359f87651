package park

import "testing"

// TestReasonsOfRefusedRows: rows are listed together if the same column or key refuses them, whatever their values are.
func TestReasonsOfRefusedRows(t *testing.T) {
	for _, c := range []struct {
		number uint16
		a, b   string
		same   bool
	}{
		{1048, "Column 'a' cannot be null", "Column 'b' cannot be null", false},
		{1062, "Duplicate entry '1' for key 't.k'", "Duplicate entry '2 for key x' for key 't.k'", true},
		{1062, "Duplicate entry '1' for key 't.k'", "Duplicate entry '1' for key 't.other'", false},
		{1406, "Data too long for column 'a' at row 1", "Data too long for column 'a' at row 7", true},
		{1264, "Out of range value for column 'a' at row 1", "Out of range value for column 'b' at row 1", false},
		{1292, "Truncated incorrect INTEGER value: 'x'", "Truncated incorrect INTEGER value: 'y'", true},
		{3819, "Check constraint 'c' is violated.", "Check constraint 'd' is violated.", false},
	} {
		if same := reasonOf(c.number, c.a) == reasonOf(c.number, c.b); same != c.same {
			t.Errorf("%s, and %s: %t", c.a, c.b, same)
		}
	}
}
