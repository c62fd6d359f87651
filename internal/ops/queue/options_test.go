package queue

import (
	"slices"
	"testing"
)

// Parts of an option that come one by one are all given to the run; of another option, the last value counts, as on a command line.
func TestNoPartOfAnOptionIsLost(t *testing.T) {
	given := Given{
		{"set", "a=CONCAT(b, ',')"}, {"set", "c=1"}, {"map", "x=y"}, {"map", "z="}, {"kill-user", "app"}, {"kill-user", "cron"}, {"keep", "id > 1"}, {"keep", "id > 2"},
	}
	want := []string{"--keep=id > 2", "--kill-user=app", "--kill-user=cron", "--map=x=y", "--map=z=", "--set=a=CONCAT(b, ',')", "--set=c=1"}
	if got := arguments(given.Options(false), false); !slices.Equal(got, want) {
		t.Errorf("the run gets %q, want %q", got, want)
	}
	want = slices.Insert(want, 0, "--keep=id > 1") // each table of a group may have one
	if got := arguments(given.Options(true), true); !slices.Equal(got, want) {
		t.Errorf("the run of a group gets %q, want %q", got, want)
	}
	for name := range Joins(true) {
		if !slices.Contains(append(Options(), UndoOptions()...), name) {
			t.Errorf("%s is no option of a submission", name)
		}
	}
}
