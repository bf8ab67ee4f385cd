package replay_test

import (
	"fmt"

	"github.com/tidegate-go/tidegate/replay"
)

func ExampleVerify() {
	s, err := replay.Parse([]byte(`{
		"name": "one-per-second", "startMs": 1700000000000,
		"rules": {"flow": [{"resource": "pay", "count": 1}]},
		"steps": [
			{"atMs": 1700000000000, "op": "burst", "n": 3, "resource": "pay",
			 "expect": {"pass": 2, "wait": 0, "block": 1, "seq": "2p1b", "by": "flow"}}
		]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	r := replay.Verify(s, replay.Options{})
	fmt.Println(r.Verdict)
	for _, d := range r.Unexpected() {
		fmt.Println(d)
	}
	// Output:
	// failed
	// step 0 (burst pay): block: recorded 1, got 2
	// step 0 (burst pay): pass: recorded 2, got 1
	// step 0 (burst pay): seq: recorded "2p1b", got "1p2b"
}
