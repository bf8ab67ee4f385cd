package tagged

import "testing"

type done struct{}

func (done) Do() error { return nil }

func TestUser(t *testing.T) {
	if err := User(done{}).Do(); err != nil {
		t.Error(err)
	}
}
