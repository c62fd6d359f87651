package tui

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"midstream/internal/mysql/dbconn"
)

// ErrNoTerminal means that there is no terminal for the question.
var ErrNoTerminal = errors.New("no terminal to ask for the password; use an option file or MYSQL_PWD")

// AskPassword asks on the terminal, without echo. It leaves the terminal as it was, also
// when ctx ends.
func AskPassword(ctx context.Context, stdin *os.File, prompt io.Writer) (dbconn.Secret, error) {
	terminal, opened := terminalOf(stdin)
	if terminal == nil {
		return "", ErrNoTerminal
	}
	state, err := term.GetState(int(terminal.Fd()))
	if err != nil {
		return "", fmt.Errorf("ask for the password: %w", err)
	}
	type answer struct {
		text []byte
		err  error
	}
	answers := make(chan answer, 1)
	go func() {
		text, err := term.ReadPassword(int(terminal.Fd()))
		if opened {
			terminal.Close()
		}
		answers <- answer{text, err}
	}()
	awaitSilence(terminal, state)
	fmt.Fprint(prompt, "Enter password: ")
	select {
	case <-ctx.Done():
		// The read goes on until the process ends; the echo must not stay off.
		_ = term.Restore(int(terminal.Fd()), state)
		fmt.Fprintln(prompt)
		return "", context.Cause(ctx)
	case a := <-answers:
		fmt.Fprintln(prompt)
		if a.err != nil {
			return "", fmt.Errorf("ask for the password: %w", a.err)
		}
		return dbconn.Secret(a.text), nil
	}
}

// ErrNoAnswer means that there is no terminal for a question.
var ErrNoAnswer = errors.New("no terminal to ask on")

// Confirm asks a question on the terminal, and reports whether the answer is yes. Anything else is no, and so is the end of ctx.
func Confirm(ctx context.Context, stdin *os.File, prompt io.Writer, question string) (bool, error) {
	terminal, opened := terminalOf(stdin)
	if terminal == nil {
		return false, ErrNoAnswer
	}
	fmt.Fprint(prompt, question+" [y/N] ")
	answers := make(chan string, 1)
	go func() {
		text, _ := bufio.NewReader(terminal).ReadString('\n') // without an answer it is no
		if opened {
			terminal.Close()
		}
		answers <- strings.ToLower(strings.TrimSpace(text))
	}()
	select {
	case <-ctx.Done(): // the read goes on until the process ends
		fmt.Fprintln(prompt)
		return false, context.Cause(ctx)
	case text := <-answers:
		return text == "y" || text == "yes", nil
	}
}

// awaitSilence returns when the echo of a terminal is off, which is known by its state being another than before, or
// after 100 ms where it was off already: what is typed at the sight of the prompt must not be shown.
func awaitSilence(terminal *os.File, before *term.State) {
	for range 100 {
		now, err := term.GetState(int(terminal.Fd()))
		if err != nil || *now != *before {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// terminalOf returns the terminal to ask on: the process's own even if standard input is
// redirected, as mysql does.
func terminalOf(stdin *os.File) (terminal *os.File, opened bool) {
	if tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0); err == nil {
		return tty, true
	}
	if stdin != nil && term.IsTerminal(int(stdin.Fd())) {
		return stdin, false
	}
	return nil, false
}
