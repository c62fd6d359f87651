package ghost

import (
	"fmt"
	"io"
	"strings"
	"time"

	"midstream/internal/compat/speech"
	"midstream/internal/mysql/escape"
)

// log are the lines on standard error, each with its time and its level.
type log struct {
	out     io.Writer
	verbose bool
	quiet   bool
	speech  *speech.Speech
}

func (l log) line(level, format string, args ...any) {
	text := l.speech.Of(fmt.Sprintf(format, escape.Args(args...)...))
	for part := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		fmt.Fprintf(l.out, "%s %s %s\n", time.Now().Format(time.DateTime), level, part)
	}
}

// info is for those who asked for it.
func (l log) info(format string, args ...any) {
	if l.verbose {
		l.line("INFO", format, args...)
	}
}

// warning is what somebody should know.
func (l log) warning(format string, args ...any) {
	if !l.quiet {
		l.line("WARNING", format, args...)
	}
}

func (l log) fatal(format string, args ...any) { l.line("FATAL", format, args...) }
