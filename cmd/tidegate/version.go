package main

import (
	"io"
	"runtime/debug"
)

// versionCommand tells which build this is. It returns 0, or 1 if the build does not say.
func versionCommand(args []string, stdout, stderr io.Writer) int {
	f := newFlags("version", "", "Prints one line: the module's version, Go's, and the revision it was built from where the build knows it.", stderr)
	if err := f.Parse(args); err != nil {
		return flagsFailed(err)
	}
	if f.NArg() > 0 {
		f.Usage()
		return exitUsage
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		say(stderr, "tidegate version: the program was built without module support")
		return exitFault
	}
	say(stdout, "%s", version(info))
	return exitOK
}

// version is "tidegate VERSION GO", and where the build knows it "revision REVISION", with "modified" if files were.
func version(info *debug.BuildInfo) string {
	number := info.Main.Version
	if number == "" {
		number = "(devel)"
	}
	line := "tidegate " + number + " " + info.GoVersion
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	if revision := settings["vcs.revision"]; revision != "" {
		line += " revision " + revision
		if settings["vcs.modified"] == "true" {
			line += " modified"
		}
	}
	return line
}
