package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/client"
	"github.com/tidegate-go/tidegate/cluster/wire"
)

// tokenRequest is what the command asks.
type tokenRequest struct {
	address, namespace string
	flow, param        int64
	values             []chain.Arg
	count, repeat      int
	prioritized        bool
	timeout            time.Duration
	files              clientFiles
}

// tokenRequestCommand asks a token server. It returns 0 if every request was granted, 1 if one was refused, 2 if one
// had no answer or the flags are bad.
func tokenRequestCommand(args []string, stdout, stderr io.Writer) int {
	r, err := tokenRequestFlags(args, stderr)
	if err != nil {
		return flagsFailed(err)
	}
	options, err := r.files.options()
	if err != nil {
		say(stderr, "tidegate token-request: %v", err)
		return exitUsage
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return r.run(ctx, options, stdout, stderr)
}

func tokenRequestFlags(args []string, stderr io.Writer) (*tokenRequest, error) {
	r := &tokenRequest{}
	f := newFlags("token-request", "-addr HOST:PORT [-namespace NS] (-flow ID | -param ID -value TYPE:VALUE...) [flags]",
		"Asks a token server, this project's or Sentinel's, for tokens, and prints a line of JSON for every answer, such as\n"+
			`{"status":0,"name":"ok","remaining":9,"waitMs":0,"micros":120}`+", or {\"error\":\"timeout\"} where none came\n"+
			"(timeout, refused, closed, tls or unauthenticated); the first time, standard error says more.\n"+
			"Exits with 0 if all were granted (a wait is granted), 1 if one was refused, 2 if one had no answer.", stderr)
	f.StringVar(&r.address, "addr", "", "the server's `HOST:PORT`")
	f.StringVar(&r.namespace, "namespace", "", "`NS` to take part in, which counts as one connection of it")
	f.Int64Var(&r.flow, "flow", 0, "`ID` of a flow rule")
	f.Int64Var(&r.param, "param", 0, "`ID` of a parameter rule")
	f.Func("value", "`TYPE:VALUE` of a parameter; repeatable. TYPE is "+valueTypes, func(text string) error {
		v, err := parseValue(text)
		r.values = append(r.values, v)
		return err
	})
	f.IntVar(&r.count, "count", 1, "`N` tokens to ask for")
	f.BoolVar(&r.prioritized, "prioritized", false, "ask with priority: the answer may be to wait")
	f.IntVar(&r.repeat, "repeat", 1, "ask `N` times, one after the other on one connection")
	f.DurationVar(&r.timeout, "timeout", client.DefaultTimeout, "`TIME` to wait for each answer")
	r.files.flags(f)
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	given := map[string]bool{}
	f.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if err := r.check(given, f.NArg()); err != nil {
		say(stderr, "tidegate token-request: %v", err)
		f.Usage()
		return nil, err
	}
	return r, nil
}

// check says what is wrong with the flags. Ids and counts that no server can grant are allowed: it is a probe.
func (r *tokenRequest) check(given map[string]bool, arguments int) error {
	switch {
	case arguments > 0:
		return errors.New("there are no arguments besides flags")
	case r.address == "":
		return errors.New("-addr is needed: the server's HOST:PORT")
	case !hasPort(r.address):
		return errors.New("-addr must be HOST:PORT, such as 127.0.0.1:18730 or [::1]:18730")
	case given["flow"] == given["param"]:
		return errors.New("-flow or -param is needed, and not both")
	case given["param"] && len(r.values) == 0:
		return errors.New("-param needs at least one -value TYPE:VALUE")
	case given["flow"] && len(r.values) > 0:
		return errors.New("-value belongs to -param")
	case given["param"] && r.prioritized:
		return errors.New("-prioritized belongs to -flow")
	case r.count > math.MaxInt32 || r.count < math.MinInt32:
		return fmt.Errorf("-count must be at most %d: the protocol has no room for more", math.MaxInt32)
	case r.repeat < 1:
		return errors.New("-repeat must be 1 or more")
	case r.timeout <= 0:
		return errors.New("-timeout must be above 0")
	}
	return r.files.check()
}

func hasPort(address string) bool {
	_, port, err := net.SplitHostPort(address)
	return err == nil && port != ""
}

// run asks and prints the answers, and why the first has none.
func (r *tokenRequest) run(ctx context.Context, options []client.Option, stdout, stderr io.Writer) int {
	options = append(options, client.WithServer(r.address), client.WithNamespace(r.namespace), client.WithTimeout(r.timeout),
		client.WithMaxTimeouts(0), client.WithoutBackOff(), client.WithStrictValues())
	c := client.New(options...)
	c.Start()
	defer func() { _ = c.Close() }() // the answers are printed
	out := json.NewEncoder(stdout)
	code := exitOK
	connect, cancel := context.WithTimeout(ctx, max(connectTimeout, r.timeout))
	defer cancel()
	broken := c.Ready(connect)
	explained := false
	for range r.repeat {
		if ctx.Err() != nil {
			return exitUsage
		}
		line, worst, err := answerLine{}, exitUsage, broken
		if err == nil {
			line, worst, err = r.ask(ctx, c)
		}
		if err != nil {
			line.Error = errorName(err)
		}
		if why := r.explain(line, err); why != "" && !explained {
			say(stderr, "tidegate token-request: %s", why)
			explained = true
		}
		code = max(code, worst)
		if err := out.Encode(line); err != nil {
			return exitUsage // nobody reads
		}
	}
	return code
}

// explain says more about a request that had no answer, or that was answered without being sent.
func (r *tokenRequest) explain(line answerLine, err error) string {
	switch {
	case errors.Is(err, io.EOF) && r.files.ca == "":
		return err.Error() + " (it hung up at once: if it speaks TLS, give -tls-ca FILE)"
	case err != nil:
		return err.Error()
	case line.Status != int(chain.TokenBadRequest):
		return ""
	case r.flow+r.param <= 0 || r.count <= 0:
		return "ids and counts of 0 or less are not sent: no server grants them"
	}
	for i, v := range r.values {
		if _, _, _, err := wire.AppendParam(nil, 0, r.param, int32(r.count), []chain.Arg{v}, 0); err != nil {
			return fmt.Sprintf("value %d cannot be sent: a frame has room for %d bytes", i+1, wire.MaxParams)
		}
	}
	return ""
}

// connectTimeout bounds how long the connection may take before the first request.
const connectTimeout = 3 * time.Second

// ask sends one request. The error says that it had no answer.
func (r *tokenRequest) ask(ctx context.Context, c *client.Client) (line answerLine, code int, err error) {
	var got chain.TokenResult
	began := time.Now()
	if len(r.values) > 0 {
		got = c.RequestParamToken(ctx, r.param, int64(r.count), r.values)
	} else {
		got = c.RequestToken(ctx, r.flow, int64(r.count), r.prioritized)
	}
	took := time.Since(began)
	if got.Err != nil {
		return answerLine{}, exitUsage, got.Err
	}
	line = answerLine{answer: &answer{
		Status: int(got.Status), Name: got.Status.String(), Remaining: got.Remaining,
		WaitMs: got.Wait.Milliseconds(), Micros: took.Microseconds(),
	}}
	if !got.Status.Granted() {
		return line, exitFault, nil
	}
	return line, exitOK, nil
}

// answerLine is one line of output: an answer, or why there is none.
type answerLine struct {
	*answer
	Error string `json:"error,omitempty"`
}

type answer struct {
	Status    int    `json:"status"`
	Name      string `json:"name"`
	Remaining int32  `json:"remaining"`
	WaitMs    int64  `json:"waitMs"`
	Micros    int64  `json:"micros"`
}

// errorName says in one word why a request had no answer.
func errorName(err error) string {
	for _, e := range []struct {
		err  error
		name string
	}{
		{client.ErrUnauthenticated, "unauthenticated"},
		{client.ErrTLS, "tls"},
		{client.ErrRefused, "refused"},
		{client.ErrTimeout, "timeout"},
		{context.DeadlineExceeded, "timeout"},
	} {
		if errors.Is(err, e.err) {
			return e.name
		}
	}
	return "closed"
}
