package tidehttp

import (
	"bufio"
	"io"
	"net"
	"net/http"
)

// response passes everything on and notes the status.
type response struct {
	http.ResponseWriter
	admission

	status        int  // 0: nothing written yet
	exitOnUpgrade bool // exit when the connection is taken over
}

// WriteHeader notes the status; informational ones are not the answer.
func (w *response) WriteHeader(status int) {
	if w.status == 0 && (status >= http.StatusOK || status == http.StatusSwitchingProtocols) {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *response) Write(p []byte) (int, error) {
	w.begin()
	return w.ResponseWriter.Write(p)
}

// WriteString keeps io.WriteString from copying.
func (w *response) WriteString(s string) (int, error) {
	w.begin()
	return io.WriteString(w.ResponseWriter, s)
}

// Unwrap serves http.ResponseController.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *response) begin() {
	if w.status == 0 {
		w.status = http.StatusOK
	}
}

func (w *response) flush() {
	w.begin()
	if f, ok := w.ResponseWriter.(http.Flusher); ok {
		f.Flush()
	}
}

func (w *response) hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffer, err := w.ResponseWriter.(http.Hijacker).Hijack() // writer has asked
	if err == nil && w.exitOnUpgrade {
		w.exit(nil)
	}
	return conn, buffer, err
}

func (w *response) readFrom(source io.Reader) (int64, error) {
	w.begin()
	if to, ok := w.ResponseWriter.(io.ReaderFrom); ok {
		return to.ReadFrom(source)
	}
	return io.Copy(struct{ io.Writer }{w.ResponseWriter}, source)
}

// writer returns the response with the optional methods that the one below has, and no others: handlers ask by
// type assertion.
func (w *response) writer() http.ResponseWriter {
	_, hijacks := w.ResponseWriter.(http.Hijacker)
	_, pushes := w.ResponseWriter.(http.Pusher)
	_, flushes := w.ResponseWriter.(http.Flusher)
	switch {
	case hijacks:
		return (*connection)(w)
	case pushes:
		return (*pushable)(w)
	case flushes:
		return (*flushable)(w)
	}
	return w
}

// connection is a response of HTTP/1.
type connection response

func (w *connection) response() *response         { return (*response)(w) }
func (w *connection) Header() http.Header         { return w.ResponseWriter.Header() }
func (w *connection) WriteHeader(status int)      { w.response().WriteHeader(status) }
func (w *connection) Write(p []byte) (int, error) { return w.response().Write(p) }
func (w *connection) Unwrap() http.ResponseWriter { return w.response().Unwrap() }
func (w *connection) Flush()                      { w.response().flush() }

// WriteString keeps io.WriteString from copying.
func (w *connection) WriteString(s string) (int, error) { return w.response().WriteString(s) }

// ReadFrom lets the server send files without copying them.
func (w *connection) ReadFrom(source io.Reader) (int64, error) { return w.response().readFrom(source) }

// Hijack lets the handler take over the connection.
func (w *connection) Hijack() (net.Conn, *bufio.ReadWriter, error) { return w.response().hijack() }

// flushable is a response that flushes and no more.
type flushable response

func (w *flushable) response() *response         { return (*response)(w) }
func (w *flushable) Header() http.Header         { return w.ResponseWriter.Header() }
func (w *flushable) WriteHeader(status int)      { w.response().WriteHeader(status) }
func (w *flushable) Write(p []byte) (int, error) { return w.response().Write(p) }
func (w *flushable) Unwrap() http.ResponseWriter { return w.response().Unwrap() }
func (w *flushable) Flush()                      { w.response().flush() }

// WriteString keeps io.WriteString from copying.
func (w *flushable) WriteString(s string) (int, error) { return w.response().WriteString(s) }

// pushable is a response of HTTP/2.
type pushable response

func (w *pushable) response() *response         { return (*response)(w) }
func (w *pushable) Header() http.Header         { return w.ResponseWriter.Header() }
func (w *pushable) WriteHeader(status int)      { w.response().WriteHeader(status) }
func (w *pushable) Write(p []byte) (int, error) { return w.response().Write(p) }
func (w *pushable) Unwrap() http.ResponseWriter { return w.response().Unwrap() }
func (w *pushable) Flush()                      { w.response().flush() }

// WriteString keeps io.WriteString from copying.
func (w *pushable) WriteString(s string) (int, error) { return w.response().WriteString(s) }

// Push starts a server push.
func (w *pushable) Push(target string, options *http.PushOptions) error {
	return w.ResponseWriter.(http.Pusher).Push(target, options) // writer has asked
}
