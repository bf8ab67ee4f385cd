package wire_test

import (
	"fmt"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/wire"
)

func ExampleAppendParam() {
	args := []chain.Arg{chain.Int("", 7), chain.Any("", struct{}{}), chain.String("", "é")}
	frame, sent, dropped, err := wire.AppendParam(nil, 1, 202, 1, args, 0)
	fmt.Printf("% x\n", frame[23:])
	fmt.Println(sent, dropped, err)
	// Output:
	// 00 00 00 00 07 07 00 00 00 02 c3 a9
	// 2 1 <nil>
}

func ExampleSplitter() {
	var s wire.Splitter
	buf := []byte{0, 0, 0, 2, 'a', 'b', 0, 3, 'c'}
	for {
		payload, rest, kind := s.Next(buf)
		if kind == wire.FramePartial {
			fmt.Printf("%d bytes to keep\n", len(rest))
			return
		}
		fmt.Printf("%s\n", payload)
		buf = rest
	}
	// Output:
	// ab
	// 3 bytes to keep
}
