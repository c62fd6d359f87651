package report

import (
	"encoding/json"
	"io"
)

// JSON writes the report for programs.
func (r *Report) JSON(out io.Writer) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}
