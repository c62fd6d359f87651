package throttle

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"midstream/internal/engine/window"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// File is a sensor that is closed while there is a file of that path.
func File(path string) Sensor {
	return Sensor{Name: "file", Every: 200 * time.Millisecond, Look: func(context.Context) (string, error) {
		_, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return "", nil
		case err != nil:
			return "", err
		}
		return "the file " + path + " exists", nil
	}}
}

// CopyWindow is a sensor that is closed while a window is.
func CopyWindow(hours window.Window) Sensor {
	// Its reason counts minutes, and may hold for days.
	return Sensor{Name: "copy-window", Every: 200 * time.Millisecond, Again: time.Minute, Look: func(context.Context) (string, error) {
		now := time.Now()
		if hours.Open(now) {
			return "", nil
		}
		return "the copy window opens " + hours.Opening(now), nil
	}}
}

// Query is a sensor that is closed while a query's first value is above 0. The query can't write,
// and is withdrawn if it takes too long. Names without a database refer to the given one.
func Query(pool *dbconn.Pool, database, query string) Sensor {
	return Sensor{Name: "query", Every: time.Second, Look: func(ctx context.Context) (string, error) {
		value, err := ask(ctx, pool, database, query)
		if err != nil || value <= 0 {
			return "", err
		}
		return fmt.Sprintf("the query returns %g: %s", value, query), nil
	}}
}

// CheckQuery fails if a query can't be a sensor's.
func CheckQuery(ctx context.Context, pool *dbconn.Pool, database, query string) error {
	if query == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, err := ask(ctx, pool, database, query)
	return err
}

// errNoNumber says that a query must return a number.
var errNoNumber = errors.New("its first value is not a number")

func ask(ctx context.Context, pool *dbconn.Pool, database, query string) (value float64, err error) {
	session, err := pool.Session(ctx, "USE "+schema.Quote(database), "START TRANSACTION READ ONLY")
	if err != nil {
		return 0, err
	}
	defer session.Close()
	err = session.Rows(ctx, query, func(rows *sql.Rows) error {
		var text sql.NullString
		if err := rows.Scan(&text); err != nil {
			return err
		}
		number, err := strconv.ParseFloat(text.String, 64)
		if text.Valid && err != nil {
			return fmt.Errorf("%w, but %q", errNoNumber, text.String)
		}
		value = max(value, number)
		return nil
	})
	return value, err
}

// HTTP is a sensor that is closed while a URL answers a GET with another status than 2xx. In its
// name it leaves out the parts of the URL that may be secret.
func HTTP(client *http.Client, address string) Sensor {
	const shown = 200 // bytes of an answer
	return Sensor{Name: "http", Every: time.Second, Look: func(ctx context.Context) (string, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return "", err
		}
		answer, err := client.Do(request)
		named := request.URL.Scheme + "://" + request.URL.Host // the rest may be a secret
		var failed *url.Error
		if errors.As(err, &failed) {
			err = fmt.Errorf("ask %s: %w", named, failed.Err)
		}
		if err != nil {
			return "", err
		}
		defer answer.Body.Close()
		if answer.StatusCode/100 == 2 {
			return "", nil
		}
		body, _ := io.ReadAll(io.LimitReader(answer.Body, shown))
		return strings.TrimSpace(fmt.Sprintf("%s answers %s %s", named, answer.Status, body)), nil
	}}
}
