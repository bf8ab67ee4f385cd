package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/tidegate-go/tidegate/proxy"
)

// gatewayCommand runs a reverse proxy under rules until it is told to stop. It returns 0 after an orderly stop, 1 if it
// could not listen or requests were cut off, 2 if the configuration is bad.
func gatewayCommand(args []string, stdout, stderr io.Writer) int {
	f := newFlags("gateway", "-config FILE", "Runs a reverse proxy under rules. Prints \"listening on ADDRESS\" when it serves, and stops on SIGINT or SIGTERM:\n"+
		"requests in flight end first, a second signal cuts them off. Logs go to standard error.\n"+
		"Exits with 2 if the configuration is bad: each mistake is a line FILE:LINE: MEMBER: REASON.", stderr)
	file := f.String("config", "", "configuration `FILE` (YAML)")
	if err := f.Parse(args); err != nil {
		return flagsFailed(err)
	}
	if *file == "" || f.NArg() > 0 {
		f.Usage()
		return exitUsage
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return runGateway(ctx, *file, stdout, stderr)
}

// runGateway serves until ctx is done.
func runGateway(ctx context.Context, file string, stdout, stderr io.Writer) int {
	config, err := proxy.Load(file)
	if err != nil {
		return gatewayFailed(err, stderr)
	}
	logger := slog.New(slog.NewTextHandler(stderr, nil))
	server, err := proxy.New(config, proxy.WithLogger(logger))
	if err != nil {
		return gatewayFailed(err, stderr)
	}
	if err := server.Start(); err != nil {
		_ = server.Stop(ctx) // it was not started, so that there is nothing to wait for
		return gatewayFailed(err, stderr)
	}
	say(stdout, "listening on %s", server.Addr())
	select {
	case <-ctx.Done():
	case <-server.Done():
	}
	return stopGateway(server, stderr)
}

func stopGateway(server *proxy.Server, stderr io.Writer) int {
	broken := server.Err()
	again, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := errors.Join(broken, server.Stop(again)); err != nil {
		return gatewayFailed(err, stderr)
	}
	return exitOK
}

func gatewayFailed(err error, stderr io.Writer) int {
	say(stderr, "%v", err)
	if _, bad := errors.AsType[*proxy.ConfigError](err); bad {
		return exitUsage
	}
	return exitFault
}
