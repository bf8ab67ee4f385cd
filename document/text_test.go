package document_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tidegate-go/tidegate/document"
)

// Programs write a document on one line: places far along it are as right, and as quickly found, as others.
func TestPositionsOnALongLine(t *testing.T) {
	t.Parallel()
	const rules = 20_000
	var b strings.Builder
	b.WriteString("{\n\"flowRules\":[")
	columns := map[int]int{}
	for i := range rules {
		count := 5
		if i%997 == 0 {
			count = -5
		}
		if i > 0 {
			b.WriteByte(',')
		}
		if count < 0 {
			_, line, _ := strings.Cut(b.String(), "\n")
			columns[i] = utf8.RuneCountInString(line) + utf8.RuneCountInString(fmt.Sprintf(`{"resource":"支付%d","count":`, i)) + 1
		}
		fmt.Fprintf(&b, `{"resource":"支付%d","count":%d}`, i, count)
	}
	b.WriteString("]}")
	d, err := document.Parse([]byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	problems := d.Errors
	if len(problems) != len(columns) {
		t.Fatalf("%d problems, want %d", len(problems), len(columns))
	}
	for _, p := range problems {
		if want := (document.Position{Line: 2, Column: columns[p.Index]}); p.At != want {
			t.Errorf("rule %d: at %v, want %v", p.Index, p.At, want)
		}
	}
}
