package client

import (
	"context"
	"log/slog"
	"time"
)

// noteEvery is how often one kind of event is logged at most.
const noteEvery = 10 * time.Second

type noteKind uint8

const (
	noteReady noteKind = iota
	noteLost
	noteFailed
	noteLocal
	noteBack
	noteDropped
	noteKinds
)

// notes keep the log short. Guarded by the client's mu.
type notes [noteKinds]struct {
	last    time.Time
	skipped int
}

// note logs an event unless one of its kind was logged a moment ago. Caller holds mu.
func (c *Client) note(kind noteKind, level slog.Level, msg string, attrs ...slog.Attr) {
	n := &c.notes[kind]
	now := time.Now()
	if !n.last.IsZero() && now.Sub(n.last) < noteEvery {
		n.skipped++
		return
	}
	if n.skipped > 0 {
		attrs = append(attrs, slog.Int("not_logged", n.skipped))
	}
	n.last, n.skipped = now, 0
	c.logger.LogAttrs(context.Background(), level, msg, attrs...) //nolint:sloglint // msg is one of the package's constants
}

// noteFailure logs that a connection could not be made.
func (c *Client) noteFailure(addr string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.note(noteFailed, slog.LevelWarn, "token server cannot be used", slog.String("server", addr), slog.Any("error", err))
}

// noteDropped logs that values could not be sent. Calls do not meet on the client's lock for it.
func (c *Client) noteDropped(flowID int64) {
	now, last := c.now(), c.droppedAt.Load()
	if last != 0 && now-last < int64(noteEvery) || !c.droppedAt.CompareAndSwap(last, now) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.note(noteDropped, slog.LevelWarn, "values of a parameter request cannot be sent", slog.Int64("flow_id", flowID))
}
