package record

// The exit codes of midstream, as results have them (docs/exit-codes.md). They are documented and stable. 2 is a Go panic's too, which
// writes its trace to standard error.
const (
	CodeDone       = 0
	CodeFailed     = 1
	CodeDiffers    = 2
	CodeWrongUsage = 10
	CodeRefused    = 11
	CodeAborted    = 12
	CodeMismatch   = 13
	CodeUnknown    = 14
	CodeLeftovers  = 15
	CodeStopped    = 16
	CodeUnfit      = 17
	CodeNoRun      = 18
	CodeNotNow     = 19
	CodeBusy       = 20
	CodeAtOnce     = 130
)
