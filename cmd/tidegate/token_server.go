package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/tidegate-go/tidegate/cluster/standalone"
)

// drainTimeout is how long requests in flight may take to be answered when the token server stops.
const drainTimeout = 10 * time.Second

// tokenServerCommand runs a token server until it is told to stop. It returns 0 after an orderly stop, 1 if it could
// not listen, 2 if flags, the configuration or a file are bad.
func tokenServerCommand(args []string, stdout, stderr io.Writer) int {
	config, file, err := tokenServerConfig(args, stderr)
	if err != nil {
		return tokenServerFlagsFailed(err, stderr)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	logger := slog.New(slog.NewTextHandler(stderr, nil))
	server, err := standalone.New(config, standalone.WithLogger(logger),
		standalone.WithListening(func(a net.Addr) { say(stdout, "listening on %s", a) }))
	if err != nil {
		return tokenServerFailed(err, stderr)
	}
	if err := server.Start(ctx); err != nil {
		return tokenServerFailed(err, stderr)
	}
	announce(stdout, server)
	if file != "" {
		followed := standalone.Follow(ctx, file, server, func() (standalone.Config, error) {
			config, _, err := tokenServerConfig(args, io.Discard)
			return config, err
		})
		defer followed()
	}
	<-ctx.Done()
	return stopTokenServer(server, stderr)
}

// announce prints where else the server listens.
func announce(stdout io.Writer, server *standalone.Server) {
	if a := server.AdminAddr(); a != nil {
		say(stdout, "admin on http://%s", a)
	}
	if a := server.RLSAddr(); a != nil {
		say(stdout, "rate limit service on %s", a)
	}
}

func stopTokenServer(server *standalone.Server, stderr io.Writer) int {
	again, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(again, drainTimeout)
	defer cancel()
	if err := server.Stop(ctx); err != nil {
		return tokenServerFailed(err, stderr)
	}
	return exitOK
}

func tokenServerFailed(err error, stderr io.Writer) int {
	say(stderr, "tidegate token-server: %v", err)
	if _, bad := errors.AsType[*standalone.ConfigError](err); bad {
		return exitUsage
	}
	return exitFault
}

// errArguments says that there were arguments besides flags; the usage has been shown.
var errArguments = errors.New("there are no arguments besides flags")

func tokenServerFlagsFailed(err error, stderr io.Writer) int {
	if !errors.Is(err, flag.ErrHelp) {
		say(stderr, "tidegate token-server: %v", err)
	}
	return flagsFailed(err)
}

// tokenServerConfig reads the flags, and the configuration file if they name one. Flags win over the file: other
// namespaces given by flags join those of the file, those of the same name take their place.
func tokenServerConfig(args []string, stderr io.Writer) (config standalone.Config, file string, err error) {
	f := tokenServerFlags(&config, &file, stderr)
	if err := f.Parse(args); err != nil {
		return config, "", err
	}
	if f.NArg() > 0 {
		f.Usage()
		return config, "", errArguments
	}
	if file == "" {
		return config, "", nil
	}
	flags := config
	if config, err = standalone.Load(file); err != nil {
		return config, file, err
	}
	config.Resolve()
	config.Namespaces = without(config.Namespaces, flags.Namespaces)
	config.ParamRules = without(config.ParamRules, flags.ParamRules)
	if len(flags.RLSRules) > 0 {
		config.RLSRules = nil
	}
	return config, file, tokenServerFlags(&config, &file, io.Discard).Parse(args)
}

// without returns the bindings whose names the others do not have.
func without(bindings, others standalone.Bindings) standalone.Bindings {
	name := func(b string) string {
		name, _, _ := strings.Cut(b, "=")
		return strings.TrimSpace(name)
	}
	return slices.DeleteFunc(bindings, func(b string) bool {
		return slices.ContainsFunc(others, func(o string) bool { return name(o) == name(b) })
	})
}

// tokenServerFlags makes the flags, which write into the configuration. What it holds already is their default.
func tokenServerFlags(c *standalone.Config, file *string, stderr io.Writer) *flag.FlagSet {
	f := newFlags("token-server", "[flags]",
		"Runs a token server: instances with rules in cluster mode, in Go or Java, ask it for tokens. Prints \"listening on ADDRESS\"\n"+
			"when it serves, and again when the address changes. Rule files, certificates, the secret and the configuration are followed\n"+
			"while it runs; a bad one is reported and changes nothing.\n"+
			"Stops on SIGINT or SIGTERM when the requests in flight are answered. Logs go to standard error.\n"+
			"Exits with 2 if flags, configuration or a file are bad, with 1 if it cannot listen.", stderr)
	f.StringVar(file, "config", "", "configuration `FILE` (YAML): the flags' names as members, followed while it runs; flags win")
	text := func(to *string, name, usage string) { f.StringVar(to, name, *to, usage) }
	text(&c.Listen, "listen", "`ADDRESS` for token clients (default "+standalone.DefaultListen+")")
	f.Var(&c.Namespaces, "namespace", "`NAME[=FILE]` of a namespace and its flow rules; repeatable")
	f.Var(&c.ParamRules, "param-namespace", "`NAME=FILE` of a namespace and its parameter rules; repeatable")
	number(f, &c.MaxQPS, "max-qps", "requests per second of each namespace, as a `NUMBER` (default 30000)")
	number(f, &c.ExceedCount, "exceed-count", "`FACTOR` of all thresholds (default 1)")
	number(f, &c.MaxOccupyRatio, "max-occupy-ratio", "`SHARE` of a threshold that prioritized requests may borrow from the next bucket (default 1)")
	f.Var(&c.Idle, "idle", "`TIME` after which a client that used to ping, as ours do, is dropped when silent (default 10m)")
	f.IntVar(&c.MaxConns, "max-conns-per-ip", c.MaxConns, "`NUMBER` of connections from one address; 0: no limit")
	f.BoolVar(&c.Compat, "compat", c.Compat, "decide exactly as Sentinel's server does")
	text(&c.TLSCert, "tls-cert", "certificate `FILE` (PEM); with -tls-key: only TLS is served")
	text(&c.TLSKey, "tls-key", "key `FILE` (PEM)")
	text(&c.TLSClientCA, "tls-client-ca", "`FILE` (PEM) with the authorities of client certificates: only clients with one are served")
	text(&c.SecretFile, "secret-file", "`FILE` with a secret: only clients that know it are served")
	f.BoolVar(&c.Insecure, "insecure", c.Insecure, "allow plaintext without a secret, and -admin, on other addresses than loopback")
	text(&c.Admin, "admin", "`ADDRESS` of GET /status (JSON) and GET /metrics (Prometheus)")
	text(&c.RLSListen, "rls-listen", "`ADDRESS` of the Envoy rate limit service (gRPC)")
	f.Var(&c.RLSRules, "rls-rules", "`FILE` with its limits; repeatable")
	return f
}

// number makes a flag for a number that may be unset.
func number(f *flag.FlagSet, to **float64, name, usage string) {
	f.Func(name, usage, func(text string) error {
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return errors.New("must be a number")
		}
		*to = &value
		return nil
	})
}
