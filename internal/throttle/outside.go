package throttle

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"time"
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
		return "the file " + path + " is there", nil
	}}
}

// Query is a sensor that is closed while a query's first value is above 0.
func Query(db *sql.DB, query string) Sensor {
	return Sensor{Name: "query", Every: time.Second, Look: func(ctx context.Context) (string, error) {
		var value float64
		err := db.QueryRowContext(ctx, query).Scan(&value)
		if err != nil || value <= 0 {
			return "", err
		}
		return fmt.Sprintf("the query returns %g: %s", value, query), nil
	}}
}

// HTTP is a sensor that is closed while a URL answers a GET with another status than 2xx.
func HTTP(client *http.Client, url string) Sensor {
	const shown = 200 // bytes of an answer
	return Sensor{Name: "http", Every: time.Second, Look: func(ctx context.Context) (string, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return "", err
		}
		answer, err := client.Do(request)
		if err != nil {
			return "", err
		}
		defer answer.Body.Close()
		if answer.StatusCode/100 == 2 {
			return "", nil
		}
		body, _ := io.ReadAll(io.LimitReader(answer.Body, shown))
		return strings.TrimSpace(fmt.Sprintf("%s answers %s %s", url, answer.Status, body)), nil
	}}
}
