package interop_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/client"
)

// ourClient asks through our token client.
type ourClient struct{ *client.Client }

// startOurClient starts a client that is patient with slow servers, and waits until it is served. It ends with the test.
func startOurClient(t *testing.T, addr string, options ...client.Option) ourClient {
	t.Helper()
	c := ourClient{client.New(append([]client.Option{
		client.WithServer(addr), client.WithTimeout(5 * time.Second), client.WithNamespace(""), client.WithoutBackOff(),
	}, options...)...)}
	c.Start()
	t.Cleanup(func() { _ = c.Close() })
	c.await(t, 999_999, chain.TokenNoRule)
	return c
}

// await asks until the answer has the status.
func (c ourClient) await(t *testing.T, id int64, want chain.TokenStatus) {
	t.Helper()
	var got chain.TokenResult
	for deadline := time.Now().Add(answerDeadline); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if got = c.RequestToken(context.Background(), id, 1, false); got.Err == nil && got.Status == want {
			return
		}
	}
	t.Fatalf("flow %d still answers %+v, not %v", id, got, want)
}

func (c ourClient) ask(s step, base int64) (answer, error) {
	ctx := context.Background()
	if len(s.Values) == 0 {
		return plainAnswer(c.RequestToken(ctx, flowID(s.Flow, base), int64(s.Count), s.Prioritized))
	}
	args := make([]chain.Arg, len(s.Values))
	for i, v := range s.Values {
		args[i] = argument(v)
	}
	return plainAnswer(c.RequestParamToken(ctx, flowID(s.Param, base), int64(s.Count), args))
}

func plainAnswer(r chain.TokenResult) (answer, error) {
	a := answer{Status: int(r.Status), Remaining: int(r.Remaining), WaitMs: int(r.Wait / time.Millisecond)}
	return a, r.Err
}

// argument makes the argument whose type is Java's TYPE of TYPE:VALUE.
func argument(s string) chain.Arg {
	kind, value, _ := strings.Cut(s, ":")
	switch kind {
	case "int":
		return chain.Int("", int(number(value)))
	case "long":
		return chain.Int64("", number(value))
	case "byte":
		return chain.Any("", int8(number(value)))
	case "short":
		return chain.Any("", int16(number(value)))
	case "double":
		return chain.Float64("", must(strconv.ParseFloat(value, 64)))
	case "float":
		return chain.Any("", float32(must(strconv.ParseFloat(value, 32))))
	case "bool":
		return chain.Bool("", value == "true")
	case "string":
		return chain.String("", value)
	}
	panic("unknown type of value: " + s)
}
