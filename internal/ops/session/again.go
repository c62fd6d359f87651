package session

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/pflag"

	"midstream/internal/engine/operator"
	"midstream/internal/mysql/escape"
)

// ofChange are flags of a run that do not hold for the process that follows its table afterwards: they are about the change, or
// about the time of its swap.
var ofChange = []string{
	"undo", "undo-mode", "undo-method", "end-undo", "method", "zero-dates", "key", "keep", "set", "map", "shadow-name", "old-name",
	"hold", "cutover-window", "cutover-when-gone", "finish-within", "finish-by",
}

// given are the flags of a command line, such as --park or --lock-wait=1s.
func given(set *pflag.FlagSet) (flags []string) {
	set.Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		if several, is := f.Value.(interface{ Texts() []string }); is {
			values = several.Texts()
		}
		for _, value := range values {
			flag := "--" + f.Name + "=" + value
			if value == f.NoOptDefVal {
				flag = "--" + f.Name
			}
			flags = append(flags, flag)
		}
	})
	return flags
}

// Again are the flags with which the same undo is begun again if it is killed: those of its command line, without the list always
// and without secrets.
func Again(set *pflag.FlagSet) []string {
	flags := []string{}
	for _, flag := range given(set) {
		name, value, valued := strings.Cut(strings.TrimPrefix(flag, "--"), "=")
		ofServe := name == "history-dir" && set.Changed("result-file")
		if ofServe || slices.Contains(always, name) {
			continue
		}
		if valued {
			flag = "--" + name + "=" + operator.Harmless(name, value)
		}
		flags = append(flags, flag)
	}
	return flags
}

// errBytes is why no command could have the same value again: no record keeps such bytes.
var errBytes = errors.New("the value has bytes that are not UTF-8; in an expression, write bytes in hexadecimal, such as x'FF'")

// Repeatable fails if no record could keep a value.
func Repeatable(value string) error {
	if utf8.ValidString(value) {
		return nil
	}
	return errBytes
}

// RepeatableAll is Repeatable for the flags that Again returns.
func RepeatableAll(flags []string) error {
	for _, flag := range flags {
		if name, value, _ := strings.Cut(flag, "="); Repeatable(value) != nil {
			return fmt.Errorf("%s %s: %w", name, escape.Line(value), errBytes)
		}
	}
	return nil
}

// AgainAfter is Again for the process that follows the table after a run with these flags.
func AgainAfter(set *pflag.FlagSet) []string {
	flags := []string{"--hold", "--lazy"}
	for _, flag := range Again(set) {
		name, _, _ := strings.Cut(strings.TrimPrefix(flag, "--"), "=")
		if _, never := NotForUndo[name]; !never && !slices.Contains(ofChange, name) {
			flags = append(flags, flag)
		}
	}
	return flags
}
