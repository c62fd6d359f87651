package control

import "testing"

// One command is carried out at a time; one that ends the run may come beside another, and not beside its like.
func TestAlone(t *testing.T) {
	s := &Server{}
	begin := func(c command) (end func()) {
		t.Helper()
		begun, goOn, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		go func() {
			_, err := s.alone(c, func(string) (string, error) {
				close(begun)
				<-goOn
				return "", nil
			})
			ended <- err
		}()
		<-begun
		return func() {
			close(goOn)
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	}
	refused := func(c command, want bool) {
		t.Helper()
		if _, err := s.alone(c, func(string) (string, error) { return "", nil }); (err != nil) != want {
			t.Errorf("%s: %v", c.text, err)
		}
	}
	pause, abort := command{text: "pause"}, command{text: "abort", ends: true}
	endPause := begin(pause)
	refused(pause, true)
	endAbort := begin(abort)
	refused(abort, true)
	endAbort()
	refused(pause, true) // the first one is under way still
	refused(abort, false)
	endPause()
	refused(pause, false)
}
