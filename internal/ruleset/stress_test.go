package ruleset_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/internal/ruleset"
)

// Sources load while readers look: every table is complete, and a rule that stays keeps its controller.
func TestConcurrentLoads(t *testing.T) {
	t.Parallel()
	s := ruleset.New(chain.KindFlow, func(r rule) (*controller, error) { return &controller{r.Count}, nil }, ruleset.Options[rule]{})
	s.Load("stays", []rule{{Name: "r", Count: 1}, {Name: "p.*", Regex: true, Count: 1}})
	held := s.Table().For("r")[0].Controller
	stop := make(chan struct{})
	var readers, writers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				found := s.Table().For("r")
				if len(found) != 1 && len(found) != 5 && len(found) == 0 || s.Table().For("px") == nil {
					t.Error("a rule that stays is not in force")
					return
				}
				seen := false
				for _, b := range found {
					seen = seen || b.Controller == held
				}
				if !seen {
					t.Error("a rule that stays lost its controller")
					return
				}
				s.Rules()
				s.Status()
			}
		})
	}
	for w := range 4 {
		writers.Go(func() {
			source := fmt.Sprint("source", w)
			cancel := s.Subscribe(func([]rule) {})
			defer cancel()
			for i := range 300 {
				switch i % 4 {
				case 0, 2:
					s.Load(source, []rule{{Name: "r", Count: 2 + i%3}, {Name: "x", Count: -1}})
				case 1:
					s.Load(source, nil)
				default:
					s.LoadResource("other", []rule{{Name: "other", Count: i}})
				}
			}
			s.Load(source, nil)
		})
	}
	writers.Wait()
	close(stop)
	readers.Wait()
	if got := len(s.Table().For("r")); got != 1 {
		t.Errorf("%d rules in force at the end, want 1", got)
	}
}
