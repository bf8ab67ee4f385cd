package standalone

import (
	"context"

	"github.com/tidegate-go/tidegate/datasource"
)

// Follow reloads the server whenever the content of its configuration file changes; load then returns the
// configuration. One that cannot be read or put into force is logged and changes nothing. The function it returns ends
// the following and waits for that.
func Follow(ctx context.Context, file string, s *Server, load func() (Config, error)) (end func()) {
	source := datasource.NewFile(file, datasource.WithMaxSize(maxConfig))
	err := source.Start(ctx, datasource.HandlerFuncs{OnUpdate: func(ctx context.Context, _ []byte) error {
		c, err := load()
		if err != nil {
			s.refused(err)
			return err
		}
		return s.Reload(ctx, c)
	}})
	if err != nil {
		s.logger.Error("the configuration file cannot be followed", "file", file, "error", err)
	}
	return func() { _ = source.Close() } // it always returns nil
}
