package readers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"midstream/internal/mysql/binlog"
)

// Reader is a program that reads the binlog.
type Reader struct {
	Name string // for people
	url  *url.URL
}

// ErrBad means that a text names no reader.
var ErrBad = errors.New("must be NAME=URL, with http:// or https://")

// Parse reads NAME=URL. Its errors do not have the URL, which may have a secret in it.
func Parse(text string) (Reader, error) {
	name, address, ok := strings.Cut(text, "=")
	if !ok || name == "" || strings.Contains(name, "://") {
		return Reader{}, ErrBad
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return Reader{}, ErrBad
	}
	return Reader{Name: name, url: u}, nil
}

const (
	// patience is the time for an answer.
	patience = 5 * time.Second
	// longest is how many bytes of an answer are read. Kafka Connect's have a few hundred.
	longest = 1 << 20
)

// position asks for the place up to which the reader has read. Its errors do not have the URL.
func (r Reader) position(ctx context.Context) (binlog.Position, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url.String(), nil)
	if err != nil {
		return binlog.Position{}, errors.New("cannot ask its URL")
	}
	request.Header.Set("Accept", "application/json")
	answer, err := http.DefaultClient.Do(request)
	var named *url.Error
	switch {
	case errors.As(err, &named):
		return binlog.Position{}, fmt.Errorf("its URL does not answer: %w", named.Err)
	case err != nil:
		return binlog.Position{}, errors.New("its URL does not answer")
	}
	defer answer.Body.Close()
	if answer.StatusCode/100 != 2 {
		return binlog.Position{}, fmt.Errorf("its URL answers %s", answer.Status)
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, longest))
	if err != nil {
		return binlog.Position{}, fmt.Errorf("its URL does not answer: %w", err)
	}
	return positionIn(text)
}
