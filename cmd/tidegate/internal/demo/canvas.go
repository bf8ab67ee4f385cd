package demo

import (
	"fmt"
	"io"
	"strings"
)

// The size taken where the terminal does not tell its own.
const (
	usualColumns = 80
	usualLines   = 24
)

// canvas is a place in a terminal that is drawn again and again.
type canvas struct {
	to    io.Writer
	size  func() (columns, lines int) // 0 where it is not known; nil: it never is
	drawn int                         // lines on the screen
}

// draw puts the text in the place of the one before.
func (t *canvas) draw(text string) {
	text = t.fit(text)
	up := ""
	if t.drawn > 0 {
		up = fmt.Sprintf("\x1b[%dA\x1b[J", t.drawn) // up, and clear what is below
	}
	t.drawn = strings.Count(text, "\n")
	_, _ = io.WriteString(t.to, up+text)
}

// fit cuts the text to the terminal's size, so that no line wraps and none scrolls away: the next second is drawn over
// it. The last column stays free, because some terminals wrap there, and the last line is the cursor's.
func (t *canvas) fit(text string) string {
	columns, lines := 0, 0
	if t.size != nil {
		columns, lines = t.size()
	}
	if columns <= 0 {
		columns = usualColumns
	}
	if lines <= 0 {
		lines = usualLines
	}
	all := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	all = all[:min(len(all), max(1, lines-1))]
	for i, line := range all {
		all[i] = cut(line, columns-1)
	}
	return strings.Join(all, "\n") + "\n"
}

// cut shortens a text to that many characters; the last one left then says that there was more.
func cut(text string, length int) string {
	characters := []rune(text)
	switch {
	case len(characters) <= length:
		return text
	case length < 1:
		return ""
	}
	return string(characters[:length-1]) + "…"
}
