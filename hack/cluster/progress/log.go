package progress

import (
	"errors"
	"io"
	"os"
	"strings"
)

// logged is an error whose reason stands in a log file.
type logged struct {
	error
	log string
}

func (l logged) Unwrap() error { return l.error }

// SeeLog marks err as explained by the end of the file log, for failures whose
// log is known only when they happen.
func SeeLog(err error, log string) error {
	if err == nil {
		return nil
	}
	return logged{error: err, log: log}
}

func logOf(step Step, err error) string {
	if l, ok := errors.AsType[logged](err); ok {
		return l.log
	}
	return step.Log
}

// tailBytes bounds what Tail reads of a file.
const tailBytes = 64 << 10

// Tail returns the last n lines of a file, or what could be read of them.
func Tail(path string, n int) []string {
	f, err := os.Open(path)
	if err != nil {
		return []string{err.Error()}
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > tailBytes {
		_, _ = f.Seek(-tailBytes, io.SeekEnd)
	}
	text, _ := io.ReadAll(io.LimitReader(f, tailBytes))
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	return lines[max(0, len(lines)-n):]
}
