package yaml

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/tidegate-go/tidegate/document"
)

// syntaxError returns an error of the YAML parser with the line of the fault.
func syntaxError(content []byte, err error) error {
	line, reason := 0, strings.TrimPrefix(err.Error(), "yaml: ")
	if found := regexp.MustCompile(`^line (\d+): (.*)`).FindStringSubmatch(reason); found != nil {
		line, _ = strconv.Atoi(found[1])
		reason = found[2]
	}
	result := &document.Error{Index: -1, Reason: "not YAML: " + reason}
	if result.At.Line = faultLine(content, line, reason); result.At.Line > 0 {
		result.At.Column = 1
	}
	return result
}

// faultLine corrects the line that the YAML parser names, 0 for none. The errors of its grammar are counted from 0; those
// about blocks are at the start of the block, which may be far above the fault; what is never closed is at the end.
func faultLine(content []byte, line int, reason string) int {
	inFlow, inBlock := false, line == 0
	switch strings.TrimPrefix(reason, "did not find expected ") {
	case "',' or ']'", "',' or '}'":
		inFlow = true
	case "node content", "key", "'-' indicator", "<document start>":
		inBlock = true
	}
	if inFlow || inBlock && line > 0 {
		line++
	}
	if inBlock || line > bytes.Count(content, []byte("\n"))+1 || line > 1 && len(lines(content, line-1)) == len(content) {
		if at := firstBad(content); at > 0 {
			return at
		}
	}
	return line
}

// firstBad returns the line behind the last one up to which the content is YAML; 0 if it is not to be found with little
// work.
func firstBad(content []byte) int {
	reader := &lineReader{rest: content}
	_ = parseAll(reader) // the error is known
	tries := 20
	if len(content) > 1<<20 {
		tries = 3
	}
	for line := reader.lines; line > 0 && tries > 0; line, tries = line-1, tries-1 {
		if parseAll(bytes.NewReader(lines(content, line-1))) == nil {
			return line
		}
	}
	return 0
}

// parseAll returns the first error in a text, nil if there is none.
func parseAll(text io.Reader) error {
	for d := yaml.NewDecoder(text); ; {
		var root yaml.Node
		if err := d.Decode(&root); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// lines returns the first n lines.
func lines(content []byte, n int) []byte {
	end := 0
	for ; n > 0 && end < len(content); n-- {
		next := bytes.IndexByte(content[end:], '\n')
		if next < 0 {
			return content
		}
		end += next + 1
	}
	return content[:end]
}

// lineReader gives out one line at a time and counts those that were begun, which tells how far a parser came.
type lineReader struct {
	rest  []byte
	lines int
	begun bool // the last line was given out in part
}

// Read gives out the next line.
func (r *lineReader) Read(to []byte) (int, error) {
	if len(r.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(to, lines(r.rest, 1))
	if !r.begun {
		r.lines++
	}
	r.begun = n > 0 && r.rest[n-1] != '\n'
	r.rest = r.rest[n:]
	return n, nil
}
