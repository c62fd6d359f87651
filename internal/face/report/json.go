package report

import (
	"encoding/json"
	"io"

	"midstream/internal/mysql/escape"
)

// JSON writes the report for programs.
func (r *Report) JSON(out io.Writer) error {
	encoder := json.NewEncoder(escape.Writer(out))
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}
