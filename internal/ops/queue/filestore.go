package queue

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// Buckets of a file, and the key of its version.
var (
	aboutBucket     = []byte("about")
	changesBucket   = []byte("changes")
	historiesBucket = []byte("histories")
	versionKey      = []byte("version")
)

// fileStore is a Store in one file.
type fileStore struct{ db *bolt.DB }

// OpenFile opens the store in a file, which it makes. It fails with ErrStoreTaken, ErrStoreNewer and ErrNotStore.
func OpenFile(path string) (Store, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("create the store: %w", err)
	}
	db, err := bolt.Open(path, 0o600, &bolt.Options{Timeout: time.Second})
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return nil, fmt.Errorf("open %s: %w", path, takenBy(ErrStoreTaken, filepath.Dir(path)))
	case errors.Is(err, bolterrors.ErrInvalid), errors.Is(err, bolterrors.ErrVersionMismatch), errors.Is(err, bolterrors.ErrChecksum):
		return nil, fmt.Errorf("open %s: %w: %w", path, ErrNotStore, err)
	case err != nil:
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	f := &fileStore{db}
	if err := db.Update(begin); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, err), db.Close())
	}
	return f, nil
}

// begin makes what a new file has, and writes the version.
func begin(tx *bolt.Tx) error {
	if about := tx.Bucket(aboutBucket); about != nil {
		version, err := strconv.Atoi(string(about.Get(versionKey)))
		if err != nil {
			return ErrNotStore
		}
		if err := checkVersion(version); err != nil {
			return err
		}
	}
	for _, name := range [][]byte{aboutBucket, changesBucket, historiesBucket} {
		if _, err := tx.CreateBucketIfNotExists(name); err != nil {
			return err
		}
	}
	return tx.Bucket(aboutBucket).Put(versionKey, []byte(strconv.Itoa(Version)))
}

func (f *fileStore) Load(_ context.Context, span Span, take func([]byte) error) error {
	return f.db.View(func(tx *bolt.Tx) error {
		cursor := tx.Bucket(changesBucket).Cursor()
		id, text := cursor.Seek([]byte(span.Low))
		next := cursor.Next
		if span.Newest {
			next = cursor.Prev
			if beyond, _ := cursor.Seek([]byte(span.High)); beyond != nil && span.High != "" {
				id, text = cursor.Prev()
			} else {
				id, text = cursor.Last()
			}
		}
		for n := 0; id != nil && string(id) >= span.Low && (span.High == "" || string(id) < span.High) && (span.Most == 0 || n < span.Most); n++ {
			if err := take(text); err != nil {
				return err
			}
			id, text = next()
		}
		return nil
	})
}

func (f *fileStore) Put(_ context.Context, rows ...Row) error {
	return f.db.Update(func(tx *bolt.Tx) error {
		for _, row := range rows {
			packed, err := pack(row.History)
			if err == nil {
				err = tx.Bucket(changesBucket).Put([]byte(row.ID), row.Text)
			}
			if err == nil && row.History != nil {
				err = tx.Bucket(historiesBucket).Put([]byte(row.ID), packed)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func (f *fileStore) Drop(_ context.Context, ids ...string) error {
	return f.db.Update(func(tx *bolt.Tx) error {
		for _, id := range ids {
			if err := errors.Join(tx.Bucket(changesBucket).Delete([]byte(id)), tx.Bucket(historiesBucket).Delete([]byte(id))); err != nil {
				return err
			}
		}
		return nil
	})
}

// Check finds nothing: the file is this process's.
func (f *fileStore) Check(context.Context) error { return nil }

func (f *fileStore) History(_ context.Context, id string) (history []byte, err error) {
	err = f.db.View(func(tx *bolt.Tx) (err error) {
		if packed := tx.Bucket(historiesBucket).Get([]byte(id)); packed != nil {
			history, err = unpack(packed)
		}
		return err
	})
	return history, err
}

func (f *fileStore) Close() error { return f.db.Close() }
